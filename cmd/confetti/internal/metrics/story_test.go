package metrics

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/client"
	"github.com/confetti-dp/confetti/client/metrics"
	"github.com/confetti-dp/confetti/client/native"
	"github.com/confetti-dp/confetti/cmd/internal/plans"
	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/internal/keyfile/partykey"
	"github.com/confetti-dp/confetti/internal/plan/author"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/internal/service/analyzerd"
	"github.com/confetti-dp/confetti/internal/service/analyzerd/rows"
	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/service/shufflerd"
	hoprows "github.com/confetti-dp/confetti/internal/service/shufflerd/rows"
	"github.com/confetti-dp/confetti/internal/storage/atomicfile/atomicfiletest"
	"github.com/confetti-dp/confetti/internal/storage/blob"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/internal/wire/relay"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol/design"
	_ "github.com/confetti-dp/confetti/question/histogram"
)

func TestMain(m *testing.M) {
	atomicfiletest.InMemory()
	os.Exit(m.Run())
}

// team is a team with its repository, and the services that it asks by; all have one clock.
type team struct {
	t       *testing.T
	dir     string // the repository
	network network
	hop     *shufflerd.Service
	counts  *analyzerd.Service
	token   string   // of an operator
	people  []string // tokens of respondents

	mu    sync.Mutex
	clock time.Time
}

// network is where requests go, by their host.
type network map[string]http.Handler

// RoundTrip implements http.RoundTripper.
func (n network) RoundTrip(r *http.Request) (*http.Response, error) {
	h, there := n[r.URL.Host]
	if !there {
		return nil, fmt.Errorf("nobody listens at %s", r.URL.Host)
	}
	served := r.Clone(r.Context())
	if served.Body == nil {
		served.Body = http.NoBody
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, served)
	return w.Result(), nil
}

// Do implements client.Transport.
func (n network) Do(ctx context.Context, r client.Request) (client.Response, error) {
	asks, err := http.NewRequestWithContext(ctx, r.Method, r.URL, bytes.NewReader(r.Body))
	if err != nil {
		return client.Response{}, err
	}
	if r.Type != "" {
		asks.Header.Set("Content-Type", r.Type)
	}
	if r.Authorization != "" {
		asks.Header.Set("Authorization", r.Authorization)
	}
	w, err := n.RoundTrip(asks)
	if err != nil {
		return client.Response{}, err
	}
	return client.Response{Status: w.StatusCode, Type: w.Header.Get("Content-Type"), RetryAfter: w.Header.Get("Retry-After"), Body: w.Body}, nil
}

func (x *team) now() time.Time {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.clock
}

func (x *team) at(now time.Time) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.clock = now
}

func (x *team) path(name string) string { return filepath.Join(x.dir, name) }

func (x *team) must(err error) {
	x.t.Helper()
	if err != nil {
		x.t.Fatal(err)
	}
}

func day(t *testing.T, text string) time.Time {
	t.Helper()
	at, err := time.Parse(time.DateOnly, text)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// founded returns a team with keys, parties and services, of so many people, whose pages are of some origins.
func founded(t *testing.T, people int, at time.Time, origins ...string) *team {
	t.Helper()
	x := &team{t: t, dir: t.TempDir(), network: network{}, clock: at}
	sign := func(file string) relay.SignKey {
		key, err := relay.GenerateSignKey()
		x.must(err)
		x.must(partykey.CreateSigning(x.path(file), key, file))
		return key
	}
	publisher, coordinator := sign("publisher.json"), sign("coordinator.json")
	p := plan.Plan{
		Version: plan.Version, Title: "Who carries the metrics", Envelopes: plan.Envelopes{Suite: "x25519"}, Route: plans.Route(1, 1), Analyzer: plan.Party{Operator: "Research"},
		Question: metrics.Question([]metrics.Metric{{Name: "any", Kind: "category", Values: []string{"a", "b"}}}),
		Budget:   plan.Budget{Epsilon: 1, Delta: 1e-6, Adjacency: "replacement", DishonestShare: relied}, Crowd: plan.Crowd{Minimum: 1000},
	}
	x.must(os.MkdirAll(x.path("hop"), 0o700))
	x.must(os.MkdirAll(x.path("analyzer"), 0o700))
	receipts, err := relay.GenerateSignKey()
	x.must(err)
	x.must(partykey.CreateSigning(x.path("hop/receipts.json"), receipts, "receipts"))
	hop := &p.Route.Mix.Instances[0].Hops[0]
	hop.URL, hop.Receipts, p.Analyzer.URL = "https://hop.test", receipts.Public().String(), "https://analyzer.test"
	keys, err := plans.NewKeys(&p)
	x.must(err)
	for name, write := range keys {
		folder := "analyzer"
		if strings.HasPrefix(name, "instance") {
			folder = "hop"
		}
		x.must(write(x.path(folder + "/" + name + ".json")))
	}
	p, err = design.Fill(p)
	x.must(err)
	x.must(os.WriteFile(x.path("parties.toml"), author.TOML(p), 0o600))
	x.must(os.WriteFile(x.path("publisher"), []byte(publisher.Public().String()), 0o600))

	trust := serve.Trust(publisher.Public().String())
	var names []string
	for i := range people {
		names = append(names, fmt.Sprintf("person-%d", i))
	}
	x.people, err = serve.AddBearers(seeded.New(1), x.path("people"), names...)
	x.must(err)
	respondents, err := serve.ReadBearers(x.path("people"))
	x.must(err)
	x.token, err = serve.AddBearer(seeded.New(2), x.path("operators"), "operator")
	x.must(err)
	operators, err := serve.ReadBearers(x.path("operators"))
	x.must(err)
	web := &http.Client{Transport: x.network}
	common := serve.Common{Keys: x.path("hop"), Client: web, Now: x.now}
	store, err := hoprows.OpenFolder(x.path("hop"), common)
	x.must(err)
	t.Cleanup(func() { store.Close() })
	blobs, err := blob.OpenFolder(x.path("hop/blobs"))
	x.must(err)
	x.hop, err = shufflerd.New(t.Context(), shufflerd.Options{
		Common: common, Store: store, Blobs: blobs, Publishers: trust, Bearers: respondents, Operators: operators,
		Limits: shufflerd.Limits{Visits: serve.Visits{Rate: 1e6, Burst: 1e6}},
	})
	x.must(err)
	db, err := rows.Open(t.Context(), rows.Config{DSN: x.path("analyzer/shelves")})
	x.must(err)
	t.Cleanup(func() { db.Close() })
	x.counts, err = analyzerd.New(analyzerd.Options{
		Common: serve.Common{Keys: x.path("analyzer"), Client: web, Now: x.now}, Store: db, Operators: operators, Trust: trust,
		Publishers:  []analyzerd.Publisher{{Name: "Team", Key: publisher.Public().String(), Population: "people"}},
		Populations: map[string]analyzerd.Population{"people": {Epsilon: 1000, Delta: 1e-2, Adjacency: account.Replacement}},
		Coordinator: coordinator.Private(), Software: "a test",
	})
	x.must(err)
	for host, config := range map[string]serve.Config{
		"hop.test":      {Name: "shuffler", Routes: x.hop.Routes(), Private: x.hop.Private(), Ready: x.hop.Ready, Status: x.hop.Status},
		"analyzer.test": {Name: "analyzer", Routes: x.counts.Routes(), Ready: x.counts.Ready, Status: x.counts.Status},
	} {
		config.Origins = origins
		server, err := serve.New(config)
		x.must(err)
		x.network[host] = server
	}
	return x
}

// asks writes confetti.toml.
func (x *team) asks(text string) {
	x.t.Helper()
	key, err := os.ReadFile(x.path("publisher"))
	x.must(err)
	head := fmt.Sprintf("version = 1\napp = \"editor\"\npublishers = [%q]\n", key)
	x.must(os.WriteFile(x.path("confetti.toml"), []byte(head+text), 0o600))
}

func (x *team) asked() asked {
	return asked{File: x.path("confetti.toml"), Registry: x.path("app/confetti.registry.json"), On: x.now().Format(time.DateOnly), now: x.now}
}

// check returns what check prints.
func (x *team) check() (string, error) {
	var out bytes.Buffer
	err := check{asked: x.asked()}.Run(terminal.Streams{Out: &out, Err: io.Discard})
	return out.String(), err
}

// reviewed adds the line that check asks for.
func (x *team) reviewed(text string) string {
	x.t.Helper()
	x.asks(text)
	said, err := x.check()
	var undecided terminal.UnfinishedError
	if !errors.As(err, &undecided) {
		x.t.Fatalf("%v: %s", err, said)
	}
	_, after, _ := strings.Cut(said, "change = \"")
	change, _, _ := strings.Cut(after, "\"")
	text += fmt.Sprintf("\n[[reviewed]]\nchange = %q\nby = \"dpo@example.org\"\non = \"2026-12-01\"\nsays = \"Fine.\"\n", change)
	x.asks(text)
	if said, err := x.check(); err != nil || !strings.Contains(said, "Reviewed by dpo@example.org") {
		x.t.Fatalf("%v: %s", err, said)
	}
	return text
}

// sign signs so many seasons, and registers those that are new.
func (x *team) sign(seasons int) made {
	x.t.Helper()
	x.must(os.MkdirAll(x.path("app"), 0o755))
	var out bytes.Buffer
	c := sign{asked: x.asked(), Parties: x.path("parties.toml"), Key: x.path("publisher.json"), Coordinator: x.path("coordinator.json"), Seasons: seasons, Out: x.path(fmt.Sprintf("seasons-%d", x.now().Unix())), Form: terminal.Form{JSON: true}}
	x.must(c.Run(terminal.Streams{Out: &out, Err: io.Discard}))
	var result made
	x.must(json.Unmarshal(out.Bytes(), &result))
	for _, s := range result.Seasons {
		signed, err := plan.ReadSigned(s.File)
		x.must(err)
		for _, host := range []string{"analyzer.test", "hop.test"} {
			r, err := http.NewRequestWithContext(x.t.Context(), http.MethodPut, "https://"+host+wire.PlanPath(signed.Plan.Hash()), bytes.NewReader(signed.Marshal()))
			x.must(err)
			r.Header.Set("Content-Type", wire.PlanType(signed))
			r.Header.Set("Authorization", "Bearer "+x.token)
			answer, err := x.network.RoundTrip(r)
			x.must(err)
			if answer.StatusCode/100 != 2 {
				text, _ := io.ReadAll(answer.Body)
				x.t.Fatalf("%s does not take season %s: %s", host, s.Name, text)
			}
		}
	}
	return result
}

// installed returns the app of one person, open.
func (x *team) installed(person int) *metrics.App {
	x.t.Helper()
	text, err := os.ReadFile(x.path("app/confetti.registry.json"))
	x.must(err)
	key, err := os.ReadFile(x.path("publisher"))
	x.must(err)
	app := &metrics.App{Registry: text, Publishers: []string{string(key)}}
	x.must(app.Open(x.options(person)))
	return app
}

func (x *team) folder(person int) native.Folder {
	return native.Folder{Path: x.path(fmt.Sprintf("device-%d", person))}
}

func (x *team) options(person int) client.Options {
	return client.Options{Store: x.folder(person), Transport: x.network, Bearer: x.people[person], Delay: client.NoDelay, Now: x.now}
}

// ledger returns what a person's device has said.
func (x *team) ledger(person int) *client.Ledger {
	x.t.Helper()
	l, err := client.ReadLedger(x.folder(person))
	x.must(err)
	return l
}

// conclude lets the services do what is due.
func (x *team) conclude() {
	x.t.Helper()
	for range 3 {
		x.must(x.hop.Step(x.t.Context()))
		x.must(x.counts.Step(x.t.Context()))
	}
}

// release returns that of a plan.
func (x *team) release(name string) map[string]any {
	x.t.Helper()
	r, err := http.NewRequestWithContext(x.t.Context(), http.MethodGet, "https://analyzer.test/v1/releases/"+name+".json", nil)
	x.must(err)
	answer, err := x.network.RoundTrip(r)
	x.must(err)
	text, err := io.ReadAll(answer.Body)
	x.must(err)
	var all map[string]any
	if err := json.Unmarshal(text, &all); err != nil || answer.StatusCode != http.StatusOK {
		x.t.Fatalf("%s: %s", answer.Status, text)
	}
	return all
}

const week = `
[week]
epsilon = 5.0
delta = 1e-5
minimum = 8
points = 100

[metric.theme]
kind = "category"
values = ["light", "dark"]
every = "week"
why = "Which theme is the default"
owner = "ada@example.org"
ends = 2027-06-30
`

const derived = `
[metric.export_funnel]
kind = "sequence"
steps = ["opened", "exported"]
within = "2d"
every = "week"
why = "Where export is given up"
owner = "ada@example.org"
ends = 2027-06-30

[metric.new_welcome]
kind = "experiment"
arms = ["old", "new"]
outcomes = ["nothing", "paid"]
every = "week"
why = "Whether the new welcome keeps people"
owner = "ada@example.org"
ends = 2027-06-30
`

// A team declares a metric, learns what it costs, signs it, and devices answer by themselves, each once a season, until the
// metric is retired.
func TestATeamCountsFromDeclarationToRetirement(t *testing.T) {
	const people = 80
	x := founded(t, people, day(t, "2026-12-01"))
	declared := x.reviewed(week + derived)
	first := x.sign(1)
	if len(first.Seasons) != 1 || first.Version != 1 || first.Seasons[0].Name != "week/12" {
		t.Fatalf("%+v", first)
	}

	apps := make([]*metrics.App, people)
	for i := range apps {
		apps[i] = x.installed(i)
		if news, err := apps[i].New(); err != nil || len(news) != 3 || !strings.Contains(news[2], "Which theme is the default") {
			t.Fatalf("%v, %q", err, news)
		}
		x.must(apps[i].Consent(true))
	}
	theme := func(i int) metrics.Category[string] { return metrics.Category[string]{App: apps[i], Name: "theme"} }
	funnel := func(i int) metrics.Sequence[string] {
		return metrics.Sequence[string]{App: apps[i], Name: "export_funnel"}
	}
	welcome := func(i int) metrics.Experiment[string, string] {
		return metrics.Experiment[string, string]{App: apps[i], Name: "new_welcome", First: "old"}
	}
	arms := map[string]int{}
	for i := range apps {
		arms[welcome(i).Arm()]++
	}
	if arms["old"] == 0 || arms["new"] == 0 || len(arms) != 2 {
		t.Errorf("arms were drawn so: %v", arms)
	}
	begins := day(t, "2026-12-07")
	said := map[int]int{} // devices, by the round that they drew
	step := func() {
		t.Helper()
		for i := range apps {
			if _, err := apps[i].Step(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	for week := range 6 { // the round of a week is open in the next one, and over after that
		monday := begins.AddDate(0, 0, 7*week)
		x.at(monday.Add(time.Duration(2*week) * time.Hour)) // the coordinator is a little later each time
		x.conclude()
		x.at(monday.AddDate(0, 0, 3))
		step()
		if week == 0 {
			for i := range apps {
				for _, j := range x.ledger(i).Studies {
					said[j.Round]++
				}
			}
		}
		x.at(monday.AddDate(0, 0, 5))
		for i := range apps {
			theme(i).Set([]string{"dark", "dark", "dark", "light"}[i%4])
			funnel(i).Step("opened")
			if i%2 == 0 {
				funnel(i).Step("exported")
			}
			welcome(i).Outcome("paid")
		}
		step()
	}
	answered := map[string]int{} // by plan
	for i := range apps {
		l := x.ledger(i)
		if len(l.Entries) != 1 || l.Entries[0].Waiting() {
			t.Fatalf("device %d has said %d answers, and one is waiting: %v", i, len(l.Entries), len(l.Entries) > 0)
		}
		answered[l.Entries[0].Plan]++
	}
	if len(answered) != len(said) {
		t.Errorf("%d rounds were answered, and %v drawn", len(answered), said)
	}
	if got := slices.Sorted(maps.Values(answered)); !slices.Equal(got, slices.Sorted(maps.Values(said))) {
		t.Errorf("%v answers a round, and %v were drawn", got, said)
	}
	for name, n := range answered {
		if n < 8 {
			continue // withheld
		}
		text, err := json.Marshal(x.release(name))
		x.must(err)
		for _, value := range []string{`"dark"`, `"unset"`, `"exported"`, `"none"`, `"new / paid"`} {
			if !strings.Contains(string(text), value) {
				t.Errorf("the release of %d devices does not know the value %s: %s", n, value, text)
			}
		}
	}

	// The trend of each has intervals, and a sentence of what is sure.
	fetched, released := x.fetched(first.Seasons[0])
	if says, drawn := x.trend(fetched, ""); released > 1 {
		for _, want := range []string{"theme: ", "export_funnel: ", "new_welcome: ", "points"} {
			if !strings.Contains(says, want) {
				t.Errorf("the trend of %d rounds does not say %q: %s", released, want, says)
			}
		}
		if !strings.Contains(drawn, "95") || !strings.Contains(drawn, "exported") {
			t.Errorf("the page of the trend has no interval of 95 %% of who exported")
		}
	}

	// An update brings another metric: devices ask again, and say "unset" until then.
	x.at(day(t, "2027-01-20"))
	more := declared + `
[metric.export_used]
kind = "counter"
edges = [1, 2, 5]
every = "week"
why = "Whether export is worth a button"
owner = "ada@example.org"
ends = 2027-06-30
`
	x.reviewed(more)
	second := x.sign(2)
	if second.Version != 2 {
		t.Fatalf("%+v", second)
	}
	app := x.installed(0)
	if news, err := app.New(); err != nil || len(news) != 1 || !strings.Contains(news[0], "export") {
		t.Errorf("%v, %q", err, news)
	}

	// It is retired: what was kept goes, what was drawn and spent stays.
	x.must(app.Consent(true))
	begins = day(t, "2027-02-01")
	x.at(begins)
	if _, err := app.Step(t.Context()); err != nil {
		t.Fatal(err)
	}
	drawn := x.ledger(0).Studies
	if len(drawn) != 2 {
		t.Fatalf("%d draws after the second season has begun", len(drawn))
	}
	x.at(begins.AddDate(0, 0, 7*(drawn[1].Round-1)+1))
	metrics.Counter{App: app, Name: "export_used"}.Add(3)
	metrics.Category[string]{App: app, Name: "theme"}.Set("dark")
	x.must(app.Close())
	if kept := x.kept(0); !strings.Contains(kept, `"export_used":{"n":3}`) || !strings.Contains(kept, `"theme":{"text":"dark"}`) {
		t.Fatalf("of the drawn week the device keeps %s", kept)
	}
	t.Setenv("CI", "")
	look := func() string {
		t.Helper()
		var out bytes.Buffer
		x.must(device{Folder: x.folder(0).Path, File: x.asked().File, Signed: x.asked().Registry, now: x.now}.Run(terminal.Streams{Out: &out, Err: io.Discard}))
		return out.String()
	}
	for _, want := range []string{"season week/12, asked of ", "  you said: ", "season week/14, asked of ", "export_used    2-4 ", "theme          dark ", "one of 4 metrics is drawn; if this one, then as it is with probability 0.9", "nothing is said before its end"} {
		if said := look(); !strings.Contains(said, want) {
			t.Errorf("the view of a device does not say %q: %s", want, said)
		}
	}
	t.Setenv("CI", "true")
	if said := look(); said != "editor  switched off here: nothing is kept or said\n" {
		t.Error(said)
	}
	x.asks(declared)
	text, err := x.check()
	if err != nil || !strings.Contains(text, "gone  export_used") || !strings.Contains(text, "Nothing more is asked than before") {
		t.Errorf("%v: %s", err, text)
	}
	if third := x.sign(1); third.Version != 3 {
		t.Errorf("%+v", third)
	}
	app = x.installed(0)
	if kept := x.kept(0); strings.Contains(kept, `"n":3`) || !strings.Contains(kept, `"theme":{"text":"dark"}`) {
		t.Errorf("after the metric was retired the device keeps %s", kept)
	}
	if err := app.Record("export_used", 1); err == nil || !strings.Contains(err.Error(), "is no metric of editor") {
		t.Error(err)
	}
	x.must(app.Consent(false))
	if kept := x.kept(0); strings.Contains(kept, "dark") || !strings.Contains(kept, `"week/14"`) {
		t.Errorf("after a no the device keeps %s", kept)
	}
	if l := x.ledger(0); len(l.Studies) != 2 || len(l.Entries) != 1 {
		t.Errorf("%d draws and %d answers are in the ledger", len(l.Studies), len(l.Entries))
	}

	// The page shows what is asked, and what ended.
	out := x.path("dictionary.html")
	x.must(page{asked: x.asked(), Out: out}.Run(terminal.Streams{Out: io.Discard, Err: io.Discard}))
	shown, err := os.ReadFile(out)
	x.must(err)
	for _, want := range []string{"What does editor ask of you?", "Which theme is the default", "ada@example.org", "30 June 2027", "light, dark, unset", "dpo@example.org", "What ended: 1", "<code>export_used</code>", "how far you came of opened, then exported within 2d of the first", "your device draws one of old, new", "Who has left answers nothing"} {
		if !strings.Contains(string(shown), want) {
			t.Errorf("the page does not say %q", want)
		}
	}
}

// kept returns what a person's device keeps of values.
func (x *team) kept(person int) string {
	x.t.Helper()
	text, err := x.folder(person).Load("metrics")
	x.must(err)
	return string(text)
}
