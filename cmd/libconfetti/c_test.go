package main_test

import (
	"bufio"
	"bytes"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"gonum.org/v1/gonum/stat"

	"github.com/confetti-dp/confetti/client"
	"github.com/confetti-dp/confetti/client/native"
	"github.com/confetti-dp/confetti/internal/client/embed"
	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/internal/testkit/foreign"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/plan"
	_ "github.com/confetti-dp/confetti/question/all"
)

// largest is how many bytes the library may have: an app carries it once an architecture.
const largest = 11_500_000

var devices = flag.Int("devices", 50, "of C that answer one plan, and as many of Go")

const root = "../.."

// library is the built one, with a program of C that calls what it is told.
type library struct {
	t       *testing.T
	program string
}

// scratch is where the library without changes lies, once a test has built it.
var scratch string

func TestMain(m *testing.M) {
	var err error
	if scratch, err = os.MkdirTemp("", "confetti-c-*"); err != nil {
		panic(err)
	}
	code := m.Run()
	os.RemoveAll(scratch)
	os.Exit(code)
}

// built returns the library; with changes one of its own.
func built(t *testing.T, changes ...string) library {
	t.Helper()
	if testing.Short() {
		t.Skip("builds a library of C")
	}
	dir := scratch
	if len(changes) > 0 {
		dir = t.TempDir()
	}
	l := library{t, filepath.Join(dir, "driver")}
	if _, err := os.Stat(l.program); err == nil {
		return l
	}
	file := foreign.Library(t, root, dir, changes...)
	l.cc("-std=c99", "-Wall", "-Wextra", "-Werror", "-o", l.program, "testdata/driver.c", file, "-lpthread", "-Wl,-rpath,"+dir)
	return l
}

// cc runs the compiler with the header's folder.
func (l library) cc(args ...string) {
	l.t.Helper()
	if out, err := exec.CommandContext(l.t.Context(), "cc", append(args, "-Iinclude")...).CombinedOutput(); err != nil {
		l.t.Fatalf("cc %v: %v\n%s", args, err, out)
	}
}

// process is one of the program.
type process struct {
	t   *testing.T
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func (l library) start(env ...string) *process {
	l.t.Helper()
	p := &process{t: l.t, cmd: exec.Command(l.program)}
	p.cmd.Env, p.cmd.Stderr = append(os.Environ(), env...), os.Stderr
	in, err := p.cmd.StdinPipe()
	if err != nil {
		l.t.Fatal(err)
	}
	out, err := p.cmd.StdoutPipe()
	if err == nil {
		err = p.cmd.Start()
	}
	if err != nil {
		l.t.Fatal(err)
	}
	p.in, p.out = in, bufio.NewReaderSize(out, 1<<20)
	l.t.Cleanup(func() { p.end() })
	return p
}

// end closes its input, and reports how it ended.
func (p *process) end() error {
	p.in.Close()
	return p.cmd.Wait()
}

// reply is what a function of the library gives.
type reply struct {
	OK    json.RawMessage
	Error *struct{ Code, Message string }
	all   string
}

func (r reply) code() string {
	if r.Error == nil {
		return ""
	}
	return r.Error.Code
}

// read returns one member of what is ok.
func (r reply) read(t *testing.T, into any) {
	t.Helper()
	if r.Error != nil {
		t.Fatal(r.all)
	}
	if err := json.Unmarshal(r.OK, into); err != nil {
		t.Fatalf("%v: %s", err, r.all)
	}
}

// ask calls a function.
func (p *process) ask(fields ...any) (r reply) {
	p.t.Helper()
	var texts []string
	for _, f := range fields {
		texts = append(texts, fmt.Sprint(f))
	}
	if _, err := fmt.Fprintln(p.in, strings.Join(texts, "\t")); err != nil {
		p.t.Fatal(err)
	}
	return p.answer()
}

func (p *process) answer() (r reply) {
	p.t.Helper()
	line, err := p.out.ReadString('\n')
	if err == nil {
		r.all = line
		err = json.Unmarshal([]byte(line), &r)
	}
	if err != nil {
		p.t.Fatalf("%v: %q", err, line)
	}
	return r
}

// opened opens a device, and returns its number.
func (p *process) opened(folder, options string) (device uint64) {
	p.t.Helper()
	var asked struct{ Device uint64 }
	p.ask("open", folder, options).read(p.t, &asked)
	return asked.Device
}

// The header is one that C and C++ take, and says what is there: bridge.c includes it, and its definitions are checked.
func TestTheHeaderCompiles(t *testing.T) {
	if _, err := exec.LookPath("cc"); err != nil {
		t.Skip("NO C COMPILER: there is no cc on this machine, so the header was not compiled")
	}
	for _, language := range [][]string{{"-std=c99", "-pedantic", "-xc"}, {"-std=c++11", "-xc++"}} {
		c := exec.CommandContext(t.Context(), "cc", append(language, "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-Iinclude", "-")...)
		c.Stdin = strings.NewReader("#include \"confetti.h\"\n#include \"confetti.h\"\nint main(void) { confetti_free(confetti_version()); return 0; }\n")
		if out, err := c.CombinedOutput(); err != nil {
			t.Errorf("%v: %v\n%s", language, err, out)
		}
	}
}

// fake is a service that says what it is told to, under a certificate of its own.
type fake struct {
	*httptest.Server
	says  atomic.Pointer[wire.Problem] // nil: contributions are taken
	state atomic.Pointer[[]byte]
}

func newFake(t *testing.T) *fake {
	f := &fake{}
	f.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if p := f.says.Load(); p != nil {
			w.Header().Set("Content-Type", wire.ProblemType)
			w.WriteHeader(p.Status)
			json.NewEncoder(w).Encode(p)
			return
		}
		if state := f.state.Load(); r.Method == http.MethodGet && state != nil {
			w.Write(*state)
			return
		}
		w.WriteHeader(http.StatusCreated)
	}))
	f.Config.ErrorLog = log.New(io.Discard, "", 0)
	f.StartTLS()
	t.Cleanup(f.Close)
	return f
}

func (f *fake) roots() string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: f.Certificate().Raw}))
}

var key = ed25519.NewKeyFromSeed(bytes.Repeat([]byte{7}, ed25519.SeedSize))

var publisher = plan.Publisher(key.Public().(ed25519.PublicKey))

// drinks asks what people drink, at a service.
func drinks(t *testing.T, url string, edit func(*plan.Plan)) plan.Plan {
	p := example.Design(t, example.Histogram(example.OneHot(example.Drinks())))
	reachable(&p, url)
	if edit != nil {
		edit(&p)
	}
	return p
}

// reachable gives all parties of a plan one address, and a key that can be sealed to.
func reachable(p *plan.Plan, url string) {
	point := make([]byte, 32) // from the curve's base on, points like all others
	point[0] = 9
	at := func(party *plan.Party) {
		party.URL, party.Key = url, "x25519:"+base64.RawURLEncoding.EncodeToString(point)
		point[0]++
	}
	at(&p.Analyzer)
	for _, way := range p.Route.Instances() {
		for h := range way.Hops {
			at(&way.Hops[h])
		}
	}
	if s := p.Route.Sum; s != nil {
		at(&s.Leader)
		at(&s.Helper)
	}
}

// options returns those of a device as JSON.
func options(t *testing.T, plan string, more map[string]any) string {
	t.Helper()
	o := map[string]any{"plan": plan, "publishers": []string{publisher}, "delay": 0}
	for name, v := range more {
		o[name] = v
		if v == nil {
			delete(o, name)
		}
	}
	text, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func signed(p plan.Plan) string { return string(plan.Sign(p, key).Marshal()) }

// Every code of docs/embedding.md that a library can give is given by C, once at least.
func TestEveryCodeInC(t *testing.T) {
	l := built(t)
	p, f, dir := l.start(), newFake(t), t.TempDir()
	found := map[string]bool{"origin": true} // of pages alone
	expect := func(code string, r reply) {
		t.Helper()
		if found[code] = true; r.code() != code {
			t.Errorf("%s: %.300s", code, r.all)
		}
	}
	place := func(name string) string { return filepath.Join(dir, name) }
	agreed := func(name string) string {
		expect("", p.ask("consent", place(name), 1))
		return place(name)
	}
	trusting := map[string]any{"roots": f.roots()}
	text := signed(drinks(t, f.URL, nil))
	good := options(t, text, trusting)
	address := f.URL + wire.PlanPath([32]byte{1})

	var about struct {
		Version, Go string
		ABI         int
	}
	p.ask("version").read(t, &about)
	if about.ABI != 1 || about.Version == "" || !strings.HasPrefix(about.Go, "go1.") {
		t.Errorf("%+v", about)
	}
	for _, wrong := range []string{``, `{`, `[]`, `{}`, `{"plan":""}`, `{"publisher":["x"]}`, options(t, text, map[string]any{"roots": "nowhere.pem"}), options(t, text, map[string]any{"roots": "-----BEGIN nothing"}), options(t, text, map[string]any{"delay": -1}), options(t, text, map[string]any{"bearer": "a b"})} {
		expect("bad-options", p.ask("open", place("a"), wrong))
	}
	expect("bad-options", p.ask("open", "", good))
	expect("publisher", p.ask("open", place("a"), options(t, text, map[string]any{"publishers": []string{"ed25519:" + strings.Repeat("A", 43)}})))
	expect("promise", p.ask("open", place("a"), options(t, "{}", nil)))
	expect("promise", p.ask("open", place("a"), options(t, signed(drinks(t, f.URL, func(p *plan.Plan) { p.Budget.Epsilon /= 2 })), nil)))
	expect("not-allowed", p.ask("open", place("a"), options(t, text, map[string]any{"operators": map[string]any{"trust": []string{"nobody"}}})))
	expect("closed", p.ask("report", p.opened(agreed("over"), options(t, signed(drinks(t, f.URL, func(p *plan.Plan) { p.Times.Closes = time.Now().UTC().Add(-time.Hour).Truncate(time.Second) })), nil)), `{"drink":"tea"}`))
	expect("unreachable", p.ask("open", place("a"), options(t, "https://127.0.0.1:1"+wire.PlanPath([32]byte{1}), nil)))
	expect("certificate", p.ask("open", place("a"), options(t, address, nil)))
	for code, problem := range map[string]*wire.Problem{"refused": wire.Problemf(wire.UnknownPlan, "no"), "full": wire.Problemf(wire.Overloaded, "no"), "credential": wire.Problemf(wire.Unauthenticated, "no"), "not-open": wire.Problemf(wire.NotOpen, "no")} {
		f.says.Store(problem)
		expect(code, p.ask("open", place("a"), options(t, address, trusting)))
	}
	f.says.Store(nil)
	expect("nothing-kept", p.ask("ledger", place("never")))
	if err := os.Mkdir(place("open to others"), 0o755); err != nil {
		t.Fatal(err)
	}
	expect("failed", p.ask("consent", place("open to others"), 1))

	device := p.opened(place("b"), good)
	expect("not-opted-in", p.ask("report", device, `{"drink":"tea"}`))
	agreed("b")
	for _, wrong := range []string{``, `{`, `[]`, `{}`, `{"drinks":"tea"}`, `{"drink":3}`} {
		expect("bad-answers", p.ask("report", device, wrong))
		expect("bad-answers", p.ask("answer", device, wrong))
	}
	f.says.Store(wire.Problemf(wire.AlreadyContributed, "twice"))
	expect("dropped", p.ask("report", device, `{"drink":"tea"}`))
	f.says.Store(nil)
	expect("answered", p.ask("report", device, `{"drink":"tea"}`))
	expect("", p.ask("close", device))
	for _, n := range []any{device, 0, 77, "18446744073709551615"} {
		expect("ended", p.ask("report", n, `{"drink":"tea"}`))
		expect("ended", p.ask("deliver", n))
		expect("ended", p.ask("metrics_new", n))
		p.ask("close", n)
	}
	spent := p.opened(agreed("c"), options(t, text, map[string]any{"roots": f.roots(), "caps": map[string]any{"plan": map[string]any{"epsilon": 0.1}, "window": map[string]any{"epsilon": 0.1}, "days": 30}}))
	expect("spent", p.ask("answer", spent, `{"drink":"tea"}`))
	delayed := p.opened(agreed("d"), options(t, text, map[string]any{"roots": f.roots(), "delay": 3600}))
	var outcome struct {
		Status, Next, Code string
		Parts              int
		Fits               bool
	}
	p.ask("report", delayed, `{"drink":"tea"}`).read(t, &outcome)
	if found["delay"] = outcome.Code == "delay"; outcome.Status != "waiting" || outcome.Next == "" || outcome.Parts != 1 || !outcome.Fits {
		t.Errorf("%+v", outcome)
	}
	expect("", p.ask("consent", place("d"), 0))
	expect("dropped", p.ask("deliver", p.opened(place("d"), good)))

	now := time.Now().UTC().Truncate(time.Second)
	study := plan.SignStudy(plan.Study{
		Version: plan.StudyVersion, Plan: drinks(t, f.URL, nil), Rounds: 200, Takes: plan.TakesOne, Withheld: plan.WithheldRepeats, Coordinator: publisher,
		Times: plan.Times{Opens: now.Add(-time.Hour), Closes: now.Add(1000 * time.Hour)},
	}, key)
	round, err := study.Round(1, "", study.Study.Times, key)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 8 { // one in two hundred draws this round
		r := p.ask("answer", p.opened(agreed(fmt.Sprint("study", i)), options(t, string(round.Marshal()), trusting)), `{"drink":"tea"}`)
		if r.code() == "other-round" {
			found["other-round"] = true
			break
		}
	}

	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	nobody := options(t, "https://"+silent.Addr().String()+wire.PlanPath([32]byte{1}), nil)
	expect("cancelled", p.ask("cancelled", place("a"), nobody))
	expect("cancelled", p.ask("limited", place("a"), nobody))
	expect("forked", p.ask("fork", place("b")))
	if r := p.answer(); r.all != "{\"exit\":0}\n" {
		t.Errorf("the child: %s", r.all)
	}
	expect("registry", p.ask("metrics_open", place("a"), `{"publishers":["`+publisher+`"],"registry":"x"}`))
	off := l.start(client.Off + "=1")
	expect("off", off.ask("answer", off.opened(agreed("e"), good), `{"drink":"tea"}`))
	for _, code := range tabled(t) {
		if !found[code] && code != "bug" && !slices.Contains([]string{"rolled-back", "other-app", "unknown-metric", "wrong-type", "outside-domain", "clock-back", "other-study"}, code) {
			t.Errorf("nothing of C was %q", code)
		}
	}
	if err := p.end(); err != nil {
		t.Error(err)
	}
}

// tabled returns the codes of docs/embedding.md.
func tabled(t *testing.T) (all []string) {
	text, err := os.ReadFile(root + "/docs/embedding.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ = bytes.Cut(text, []byte("## Codes\n"))
	text, _, _ = bytes.Cut(text, []byte("\n## "))
	for line := range strings.Lines(string(text)) {
		if code, _, is := strings.Cut(strings.TrimPrefix(line, "| `"), "` |"); is && strings.HasPrefix(line, "| `") {
			all = append(all, code)
		}
	}
	return all
}

// Eight threads open, answer, read and close at once, all in one folder: one answer counts.
func TestEightThreadsAnswerOnce(t *testing.T) {
	l := built(t)
	p, f, folder := l.start(), newFake(t), filepath.Join(t.TempDir(), "device")
	p.ask("consent", folder, 1)
	var n struct{ Answered int }
	r := p.ask("threads", folder, options(t, signed(drinks(t, f.URL, nil)), nil), `{"drink":"tea"}`)
	if err := json.Unmarshal([]byte(r.all), &n); err != nil || n.Answered != 1 {
		t.Errorf("%v: %s", err, r.all)
	}
	kept, err := embed.Ledger(native.Folder{Path: folder})
	if err != nil || len(kept.Entries) != 1 {
		t.Errorf("%v: %+v", err, kept)
	}
}

// What Go and C read of a ledger is the same, of every version; so is what they say of plans of every kind, and what each costs.
func TestCAndGoSayTheSame(t *testing.T) {
	p := built(t).start()
	same := func(what string, got reply, want any) {
		t.Helper()
		text, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		var a, b any
		if json.Unmarshal(got.OK, &a) != nil || json.Unmarshal(text, &b) != nil || !reflect.DeepEqual(a, b) {
			t.Errorf("%s: C says %.400s, and Go %.400s", what, got.all, text)
		}
	}
	ledgers, err := filepath.Glob(root + "/client/testdata/ledger-v*")
	if err != nil || len(ledgers) < 8 {
		t.Fatal(ledgers, err)
	}
	for _, file := range ledgers {
		folder := native.Folder{Path: t.TempDir()}
		text, err := os.ReadFile(file)
		if err == nil {
			err = os.WriteFile(filepath.Join(folder.Path, "ledger"), text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		want, err := embed.Ledger(folder)
		if err != nil || len(want.Entries) == 0 {
			t.Fatal(file, err)
		}
		same(file, p.ask("ledger", folder.Path), want)
	}

	text, err := os.ReadFile(root + "/protocol/testdata/vectors/v1/reports.json")
	var golden struct {
		Cases []struct {
			Name  string
			Plan  json.RawMessage
			State []byte
		}
	}
	if err == nil {
		err = json.Unmarshal(text, &golden)
	}
	if err != nil || len(golden.Cases) < 30 {
		t.Fatal(err, len(golden.Cases))
	}
	f := newFake(t)
	roots := x509.NewCertPool()
	roots.AddCert(f.Certificate())
	seen, kinds := map[string]bool{}, map[string]int{}
	say := func(name string, pl plan.Plan, state []byte) {
		reachable(&pl, f.URL)
		f.state.Store(&state)
		seen[pl.Question.Kind] = true
		o := options(t, signed(pl), map[string]any{"roots": f.roots()})
		var read struct {
			embed.Options
			Roots string
		}
		if err := embed.Read([]byte(o), &read); err != nil {
			t.Fatal(err)
		}
		d, err := embed.Open(t.Context(), read.Options, native.Folder{Path: t.TempDir() + "/go"}, &native.Transport{Roots: roots})
		r := p.ask("open", t.TempDir()+"/c", o)
		if err != nil {
			if r.code() != embed.Code(err) || r.Error.Message != err.Error() {
				t.Errorf("%s: C says %s, and Go %v", name, r.all, err)
			}
			return
		}
		var got map[string]json.RawMessage
		r.read(t, &got)
		device := string(got["device"])
		delete(got, "device")
		r.OK, _ = json.Marshal(got)
		same(name, r, d.Asked())
		_, err = d.Answer([]byte(`{"nothing":1}`))
		if r := p.ask("answer", device, `{"nothing":1}`); err == nil || r.code() != "bad-answers" || r.Error.Message != err.Error() {
			t.Errorf("%s: C says %s, and Go %v", name, r.all, err)
		}
		kinds[pl.Question.Kind]++
		d.Close()
	}
	for _, c := range golden.Cases { // of many the noise is small, and the promise follows from nothing
		pl, err := plan.Parse(c.Plan)
		if err != nil {
			t.Fatal(c.Name, err)
		}
		say(c.Name, pl, c.State)
	}
	for _, pl := range []plan.Plan{example.Density("rr"), example.Strings(), example.Table(), example.Experiment()} {
		say("designed "+pl.Question.Kind, example.Design(t, pl), nil)
	}
	t.Logf("%v", kinds)
	if len(seen) != 9 || len(kinds) != 9 {
		t.Errorf("of %v, opened %v", seen, kinds)
	}
}

// A panic of Go, planted, is an error of that call alone.
func TestAPanicIsAnErrorInC(t *testing.T) {
	text, err := os.ReadFile("device.go")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	planted := strings.Replace(string(text), "func ledger(path string) (any, error) {\n", "func ledger(path string) (any, error) {\n\tif path == \"secret\" {\n\t\tpanic(path)\n\t}\n", 1)
	if planted == string(text) {
		t.Fatal("nothing was planted")
	}
	at, err := filepath.Abs("device.go")
	if err != nil {
		t.Fatal(err)
	}
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{at: filepath.Join(dir, "device.go")}})
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "device.go"), []byte(planted), 0o600)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "overlay.json"), overlay, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	p := built(t, "-overlay", filepath.Join(dir, "overlay.json")).start()
	if r := p.ask("ledger", "secret"); r.code() != "bug" || strings.Contains(r.Error.Message, "secret") || !strings.Contains(r.Error.Message, "main.ledger") {
		t.Error(r.all)
	}
	if r := p.ask("ledger", filepath.Join(dir, "never")); r.code() != "nothing-kept" {
		t.Error(r.all)
	}
}

func TestLibrarySize(t *testing.T) {
	status, err := os.Stat(filepath.Join(filepath.Dir(built(t).program), "libconfetti.so"))
	if err != nil || status.Size() > largest {
		t.Errorf("%v: the library has %d bytes, more than %d", err, status.Size(), largest)
	}
	t.Logf("%d bytes", status.Size())
}

// quickstart compiles the example, whose lines the page has, and answers what a trial asks.
func (l library) quickstart(trial string) {
	t := l.t
	t.Helper()
	page, err := os.ReadFile(root + "/docs/embedding.md")
	if err != nil {
		t.Fatal(err)
	}
	example, err := os.ReadFile("example/answer.c")
	if err != nil {
		t.Fatal(err)
	}
	_, lines, _ := strings.Cut(string(page), "```c\n")
	lines, _, _ = strings.Cut(lines, "```")
	if n := strings.Count(lines, "\n"); n < 5 || n > 10 || !strings.Contains(strings.ReplaceAll(string(example), "\n  ", "\n"), lines) {
		t.Fatalf("a quickstart of %d lines, or others than those of example/answer.c:\n%s", n, lines)
	}
	dir, library := t.TempDir(), filepath.Dir(l.program)
	l.cc("-std=c99", "-Wall", "-Wextra", "-Werror", "-o", filepath.Join(dir, "answer"), "example/answer.c", filepath.Join(library, "libconfetti.so"), "-Wl,-rpath,"+library)
	options, err := os.ReadFile(filepath.Join(trial, "app.json"))
	if err != nil {
		t.Fatal(err)
	}
	run := exec.CommandContext(t.Context(), "./answer", string(options))
	run.Dir = dir
	out, err := run.CombinedOutput()
	if err != nil || !strings.HasPrefix(string(out), `{"ok":{"status":"sent"`) {
		t.Errorf("%v: %s", err, out)
	}
}

// The lines of the page build the library, and the archive that makes a program one file.
func TestThePageBuildsTheLibrary(t *testing.T) {
	built(t) // or it is skipped
	page, err := os.ReadFile(root + "/docs/embedding.md")
	if err != nil {
		t.Fatal(err)
	}
	dir, source := t.TempDir(), ""
	entries, err := os.ReadDir(root)
	if err == nil {
		source, err = filepath.Abs(root)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if err := os.Symlink(filepath.Join(source, e.Name()), filepath.Join(dir, e.Name())); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "answer.c"), []byte("#include \"confetti.h\"\nint main(void) { confetti_free(confetti_version()); return 0; }\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	lines := 0
	_, section, _ := strings.Cut(string(page), "## The library\n")
	section, _, _ = strings.Cut(section, "\n## ")
	for line := range strings.Lines(section) {
		if command, is := strings.CutPrefix(line, "    "); is {
			lines++
			c := exec.CommandContext(t.Context(), "sh", "-c", command)
			c.Dir = dir
			if out, err := c.CombinedOutput(); err != nil {
				t.Errorf("%s%v\n%s", command, err, out)
			}
		}
	}
	if lines != 5 {
		t.Errorf("%d lines", lines)
	}
}

// Devices of C, most of them killed in between, and devices of Go answer one plan, and the analyzer counts each once.
func TestDevicesOfCAndOfGoAreCountedOnceEach(t *testing.T) {
	l := built(t)
	each := *devices
	c := foreign.Collect(t, root, 2*each+1)
	c.Submit(each)
	tokens, err := os.ReadFile(filepath.Join(c.Dir, "devices.tokens"))
	if err != nil {
		t.Fatal(err)
	}
	all := strings.Fields(string(tokens))
	bearers := all[len(all)-each:] // devices of Go take the first
	text, err := os.ReadFile(filepath.Join(c.Dir, "app.json"))
	var app map[string]any
	if err == nil {
		err = json.Unmarshal(text, &app)
	}
	if err != nil {
		t.Fatal(err)
	}
	l.quickstart(c.Dir)
	dir, killed := t.TempDir(), 0
	var spent [4][]float64 // milliseconds of processor: the start, opening, answering, delivering
	resident := 0.0
	for i, bearer := range bearers {
		app["bearer"] = bearer
		text, err := json.Marshal(app)
		if err != nil {
			t.Fatal(err)
		}
		folder, answers := filepath.Join(dir, fmt.Sprint(i)), fmt.Sprintf(`{"colour":%q}`, []string{"red", "green", "blue"}[i%3])
		if i%4 != 0 { // three of four are killed, each at another moment
			p := l.start()
			fmt.Fprintf(p.in, "consent\t%s\t1\nopen\t%s\t%s\nreport\t1\t%s\n", folder, folder, text, answers)
			time.Sleep(time.Duration(i) * 5 * time.Millisecond)
			p.cmd.Process.Kill()
			if p.end() != nil {
				killed++
			}
		}
		p, before := l.start(), 0.0
		used := func(step int) {
			var u struct {
				CPU float64 `json:"cpu_ms"`
				KB  float64 `json:"resident_kb"`
			}
			if err := json.Unmarshal([]byte(p.ask("used").all), &u); err != nil {
				t.Fatal(err)
			}
			if i%4 == 0 {
				spent[step] = append(spent[step], u.CPU-before)
			}
			before, resident = u.CPU, max(resident, u.KB)
		}
		p.ask("version")
		used(0)
		p.ask("consent", folder, 1)
		device := p.opened(folder, string(text))
		used(1)
		r := p.ask("answer", device, answers)
		if r.code() != "" && r.code() != "answered" {
			t.Fatalf("device %d: %s", i, r.all)
		}
		used(2)
		var o struct{ Status string }
		p.ask("deliver", device).read(t, &o)
		if !slices.Contains([]string{"sent", "delivered"}, o.Status) {
			t.Fatalf("device %d: %+v", i, o)
		}
		used(3)
		if err := p.end(); err != nil {
			t.Fatal(err)
		}
	}
	if n := c.Respondents(); n != 2*each+1 || killed == 0 {
		t.Errorf("%d respondents are counted, not %d; %d were killed", n, 2*each+1, killed)
	}
	t.Logf("%d devices of C, %d killed, at most %.0f kB resident", each, killed, resident)
	for step, what := range []string{"start", "open", "answer", "deliver"} {
		mean, deviation := stat.MeanStdDev(spent[step], nil)
		t.Logf("%s: %.1f ms of processor (deviation %.1f, of %d devices)", what, mean, deviation, len(spent[step]))
	}
}
