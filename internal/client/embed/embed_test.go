package embed

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/confetti-dp/confetti/client"
	"github.com/confetti-dp/confetti/client/native"
	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/plan"
	_ "github.com/confetti-dp/confetti/question/histogram"
)

var key = ed25519.NewKeyFromSeed(bytes.Repeat([]byte{7}, ed25519.SeedSize))

// network is a client.Transport that a test answers for.
type network func(client.Request) (client.Response, error)

// Do implements client.Transport.
func (n network) Do(ctx context.Context, r client.Request) (client.Response, error) {
	if err := ctx.Err(); err != nil {
		return client.Response{}, err
	}
	return n(r)
}

func says(status int, code wire.Code) network {
	return func(client.Request) (client.Response, error) {
		body := fmt.Sprintf(`{"code":%q,"status":%d}`, code, status)
		return client.Response{Status: status, Type: wire.ProblemType, Body: io.NopCloser(strings.NewReader(body))}, nil
	}
}

func taken(client.Request) (client.Response, error) {
	return client.Response{Status: 201, Body: io.NopCloser(strings.NewReader(""))}, nil
}

// designed finds the noise once.
var designed = sync.OnceValue(func() plan.Plan {
	p := example.Histogram(example.OneHot(example.Drinks()))
	p.Route.Mix.Instances[0].Hops[0].URL, p.Analyzer.URL = "https://north.example", "https://research.example"
	return p
})

// options returns those of a device that answers what people drink, as JSON has them.
func options(t *testing.T, edit func(*plan.Plan)) Options {
	t.Helper()
	p := example.Design(t, designed())
	// A key that opens nothing cannot be sealed to: that of the curve's base point is one like all others.
	point := "x25519:CQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
	for i := range p.Route.Mix.Instances[0].Hops {
		p.Route.Mix.Instances[0].Hops[i].Key = point
	}
	p.Analyzer.Key = point
	if edit != nil {
		edit(&p)
	}
	none := 0.0
	return Options{Plan: string(plan.Sign(p, key).Marshal()), Publishers: []string{plan.Publisher(key.Public().(ed25519.PublicKey))}, Delay: &none}
}

func folder(t *testing.T, agreed bool) native.Folder {
	f := native.Folder{Path: t.TempDir() + "/device"}
	if agreed {
		if err := client.Consent(f, true); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

func TestADeviceAnswersByTexts(t *testing.T) {
	s := folder(t, true)
	d, err := Open(t.Context(), options(t, nil), s, network(says(503, wire.Overloaded)))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	asked := d.Asked()
	if asked.Title != "What do people drink?" || len(asked.Fields) != 1 || asked.Fields[0] != (Field{Name: "drink"}) || asked.Charge.Epsilon <= 0 {
		t.Errorf("%+v", asked)
	}
	o, err := d.Report(t.Context(), []byte(`{"drink":"tea"}`))
	if err != nil || o.Status != "waiting" || o.Code != "full" || o.Fits == nil || !*o.Fits || o.Parts != 1 {
		t.Errorf("%+v, %v", o, err)
	}
	again, err := Open(t.Context(), options(t, nil), s, network(taken))
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if o, err = again.Deliver(t.Context()); err != nil || o.Status != "delivered" || o.Fits != nil || o.Code != "" {
		t.Errorf("%+v, %v", o, err)
	}
	kept, err := Ledger(s)
	if err != nil || len(kept.Entries) != 1 || !strings.Contains(kept.Words, "What do people drink?") {
		t.Errorf("%+v, %v", kept, err)
	}
	if text := string(Reply(func() (any, error) { return kept, nil })); !strings.HasPrefix(text, `{"ok":{"opted_in":true`) {
		t.Error(text)
	}
}

// An answer that is drawn without a network waits, and is sent later; one that does not fit is told to the program alone.
func TestAnswerAndDeliver(t *testing.T) {
	for drink, fits := range map[string]bool{"tea": true, "mate": true} {
		d, err := Open(t.Context(), options(t, nil), folder(t, true), network(taken))
		if err != nil {
			t.Fatal(err)
		}
		o, err := d.Answer([]byte(fmt.Sprintf(`{"drink":%q}`, drink)))
		if err != nil || o.Status != "waiting" || o.Parts != 1 || *o.Fits != fits || o.Code != "" {
			t.Errorf("%s: %+v, %v", drink, o, err)
		}
		if o, err = d.Deliver(t.Context()); err != nil || o.Status != "sent" {
			t.Errorf("%s: %+v, %v", drink, o, err)
		}
		d.Close()
	}
}

// Of two answers at once one counts, whoever is first.
func TestOfManyAnswersAtOnceOneCounts(t *testing.T) {
	s := folder(t, true)
	d, err := Open(t.Context(), options(t, nil), s, network(taken))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	var wg sync.WaitGroup
	codes := make([]string, 8)
	for i := range codes {
		wg.Go(func() {
			_, err := d.Report(t.Context(), []byte(`{"drink":"tea"}`))
			if codes[i] = "none"; err != nil {
				codes[i] = Code(err)
			}
		})
	}
	wg.Wait()
	if n := len(slices.DeleteFunc(slices.Clone(codes), func(c string) bool { return c == "answered" })); n != 1 {
		t.Errorf("%q", codes)
	}
	if kept, err := Ledger(s); err != nil || len(kept.Entries) != 1 {
		t.Errorf("%+v, %v", kept, err)
	}
}

// Each code is that of something that happens.
func TestEachErrorHasItsCode(t *testing.T) {
	found := map[string]bool{}
	expect := func(what, code string, err error) {
		t.Helper()
		if found[code] = true; err == nil || Code(err) != code {
			t.Errorf("%s: %q: %v", what, Code(err), err)
		}
	}
	open := func(edit func(*Options), of func(*plan.Plan), n network) error {
		o := options(t, of)
		if edit != nil {
			edit(&o)
		}
		d, err := Open(t.Context(), o, folder(t, true), n)
		if err == nil {
			_, err = d.Report(t.Context(), []byte(`{"drink":"tea"}`))
			d.Close()
		}
		return err
	}
	below := -1.0
	for what, edit := range map[string]func(*Options){
		"no publisher": func(o *Options) { o.Publishers = nil }, "no plan": func(o *Options) { o.Plan = "" },
		"a negative delay": func(o *Options) { o.Delay = &below }, "a negative wait": func(o *Options) { o.Wait = -1 },
		"a bearer of two words": func(o *Options) { o.Bearer = "a b" }, "an address of nothing": func(o *Options) { o.Plan = "https://north.example/" },
	} {
		expect(what, BadOptions, open(edit, nil, taken))
	}
	expect("a misspelt option", BadOptions, Read([]byte(`{"publisher":"x"}`), &Options{}))
	expect("a stranger", "publisher", open(func(o *Options) { o.Publishers = []string{"ed25519:" + strings.Repeat("A", 43)} }, nil, taken))
	expect("no plan at all", "promise", open(func(o *Options) { o.Plan = "{}" }, nil, taken))
	expect("a promise that does not follow", "promise", open(nil, func(p *plan.Plan) { p.Budget.Epsilon /= 2 }, taken))
	expect("away", "unreachable", open(func(o *Options) { o.Plan = "https://north.example" + wire.PlanPath([32]byte{1}) }, nil, func(client.Request) (client.Response, error) { return client.Response{}, errors.New("away") }))
	expect("origin", Origin, open(func(o *Options) { o.Plan = "https://north.example" + wire.PlanPath([32]byte{1}) }, nil, func(client.Request) (client.Response, error) {
		return client.Response{}, &Error{Origin, errors.New("not this page")}
	}))
	expect("another service", "refused", open(func(o *Options) { o.Plan = "https://north.example" + wire.PlanPath([32]byte{1}) }, nil, says(404, wire.UnknownPlan)))
	expect("a credential", "credential", open(func(o *Options) { o.Plan = "https://north.example" + wire.PlanPath([32]byte{1}) }, nil, says(401, wire.Unauthenticated)))
	expect("not open", "not-open", open(func(o *Options) { o.Plan = "https://north.example" + wire.PlanPath([32]byte{1}) }, nil, says(403, wire.NotOpen)))
	expect("full", "full", open(func(o *Options) { o.Plan = "https://north.example" + wire.PlanPath([32]byte{1}) }, nil, says(429, wire.RateLimited)))
	expect("caps", "spent", open(func(o *Options) {
		if err := json.Unmarshal([]byte(`{"plan":{"epsilon":0.1},"window":{"epsilon":0.1},"days":30}`), &o.Caps); err != nil {
			t.Fatal(err)
		}
	}, nil, taken))
	expect("nobody trusted", "not-allowed", open(func(o *Options) { o.Operators.Trust = []string{"nobody"} }, nil, taken))
	_, err := Ledger(folder(t, false))
	expect("an empty place", "nothing-kept", err)

	s := folder(t, false)
	d, err := Open(t.Context(), options(t, nil), s, network(says(409, wire.AlreadyContributed)))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	report := func(ctx context.Context, text string) error {
		_, err := d.Report(ctx, []byte(text))
		return err
	}
	expect("no consent", "not-opted-in", report(t.Context(), `{"drink":"tea"}`))
	if err := client.Consent(s, true); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{``, `[]`, `{"drink":1}`, `{"drinks":"tea"}`, `{}`, `{"drink":"tea","age":3}`, `{"drink":"tea"}{}`} {
		expect("answers "+text, "bad-answers", report(t.Context(), text))
	}
	t.Setenv(client.Off, "1")
	expect("off", "off", report(t.Context(), `{"drink":"tea"}`))
	os.Unsetenv(client.Off)
	expect("dropped", "dropped", report(t.Context(), `{"drink":"tea"}`))
	expect("answered", "answered", report(t.Context(), `{"drink":"tea"}`))
	ended, end := context.WithCancel(t.Context())
	end()
	o := options(t, nil)
	o.Plan = "https://north.example" + wire.PlanPath([32]byte{1})
	_, err = Open(ended, o, folder(t, false), network(taken))
	expect("cancelled", "cancelled", err)

	expect("closed", "closed", fmt.Errorf("x: %w", client.ErrClosed))
	expect("delay", "delay", &client.WaitingError{Cause: client.ErrDelayed})
	expect("another round", "other-round", &client.OtherRoundError{Round: 1, Asked: 2})
	expect("a limit of a request", "unreachable", open(func(o *Options) { o.Plan = "https://north.example" + wire.PlanPath([32]byte{1}) }, nil, func(client.Request) (client.Response, error) {
		return client.Response{}, context.DeadlineExceeded
	}))
	expect("a limit", "cancelled", context.DeadlineExceeded)
	expect("anything", "failed", errors.New("the disk"))
	for _, code := range []string{Certificate, Ended, Registry, WrongType, "rolled-back", "other-app", "unknown-metric", "outside-domain", "clock-back", "other-study"} {
		expect(code, code, fmt.Errorf("x: %w", &Error{code, fs.ErrNotExist}))
	}
	text := Reply(func() (any, error) { panic("secret value") })
	if code := replied(t, text); code != "bug" || bytes.Contains(text, []byte("secret")) || !bytes.Contains(text, []byte("embed.TestEachErrorHasItsCode")) {
		t.Errorf("%s", text)
	}
	found["bug"], found["forked"] = true, true // of a C library alone, before Go runs
	for _, code := range codes(t, "../../../docs/embedding.md", "(?m)^\\| `([a-z-]+)`[^|]*\\|") {
		if !found[code] {
			t.Errorf("nothing was found that is %q", code)
		}
		delete(found, code)
	}
	for code := range found {
		t.Errorf("docs/embedding.md does not have %q", code)
	}
}

func replied(t *testing.T, text []byte) string {
	t.Helper()
	var r struct {
		Error struct{ Code, Message string }
	}
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return r.Error.Code
}

// codes returns what a file lists.
func codes(t *testing.T, file, expression string) (all []string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(expression).FindAllSubmatch(text, -1) {
		all = append(all, string(m[1]))
	}
	slices.Sort(all)
	return all
}

// Every language has the codes of the table.
func TestCodesAreOneTable(t *testing.T) {
	want := codes(t, "../../../docs/embedding.md", "(?m)^\\| `([a-z-]+)`[^|]*\\|")
	if len(want) < 20 || len(slices.Compact(slices.Clone(want))) != len(want) {
		t.Fatalf("docs/embedding.md: %q", want)
	}
	for file, expression := range map[string]string{
		"../../../web/client/index.js":                                    `(?m)^ \* \| "([a-z-]+)"`,
		"../../../client/kotlin/src/main/kotlin/dev/confetti/Confetti.kt": `(?m)^    [A-Z_]+\("([a-z-]+)"\)`,
		"../../../client/swift/Sources/Confetti/Confetti.swift":           `(?m)^    case \w+ = "([a-z-]+)"$`,
	} {
		if got := codes(t, file, expression); !slices.Equal(got, want) {
			t.Errorf("%s: %q, and docs/embedding.md has %q", file, got, want)
		}
	}
}
