package console

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/internal/plan/author"
	"github.com/confetti-dp/confetti/internal/service/webstudio"
	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/internal/testkit/webtest"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/internal/wire/relay"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
)

// module serves what pages compute with; it is made once for all tests.
var module = sync.OnceValues(func() (http.Handler, error) { return webstudio.Handler(context.Background()) })

// recorder keeps all that a server was asked, bodies included.
type recorder struct {
	http.Handler
	mu  sync.Mutex
	all []string
}

func (c *recorder) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(strings.NewReader(string(body)))
	c.mu.Lock()
	c.all = append(c.all, r.Method+" "+r.URL.String()+" "+strings.Join(r.Header["Referer"], "")+" "+string(body))
	c.mu.Unlock()
	c.Handler.ServeHTTP(w, r)
}

// asked is what came since it was last asked for.
func (c *recorder) asked() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := c.all
	c.all = nil
	return all
}

// recorded serves a console with the module, which answers to its own name.
func recorded(t *testing.T, o Options) (*recorder, string) {
	t.Helper()
	kept := &recorder{}
	s := httptest.NewServer(kept)
	t.Cleanup(s.Close)
	o.Studio, o.Hosts = module, []string{s.Listener.Addr().String()}
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	kept.Handler = c
	return kept, s.URL
}

// typed has a field hold a text, as by hand.
func typed(field, text, event string) chromedp.Action[chromedp.Void] {
	return chromedp.Evaluate[chromedp.Void](`{ const e = document.querySelector("` + field + `"); e.value = ` + "`" + text + "`" + `; e.dispatchEvent(new Event("` + event + `", {bubbles: true})); }`)
}

// drawnWhole says that a whole drawing is shown.
const drawnWhole = `document.getElementById("plan")?.href !== "" && document.getElementById("working").textContent === "" && !document.getElementById("result").hidden`

// A question is made of values that do not leave the browser: no request has any of them, and
// after they are there the module is all that is asked for.
func TestAQuestionIsMadeInTheBrowser(t *testing.T) {
	ctx := webtest.Browser(t)
	s, _, _, _ := several(t)
	kept, url := recorded(t, Options{Analyzer: base, Public: s})
	secrets := []string{"zanzibar", "quagga", "okapi"}
	var lines strings.Builder
	lines.WriteString("animal\tweight\n")
	for i := range 60 {
		fmt.Fprintf(&lines, "zanzibar\t%d.125\nquagga\t977.5\nquagga\t3.25\nokapi\t41.125\nquagga\t\n", i)
	}
	text := lines.String()
	b := webtest.Open(t, ctx, webtest.Screens[0])
	b.Do(chromedp.Navigate(url + "/new"))
	b.LookOnAll(t, "new question, nothing yet")
	kept.asked()
	b.Do(typed("#values", text, "input"), webtest.Until(drawnWhole))
	first := webtest.Ask(b, chromedp.Text("#answer"))
	if !strings.Contains(first, "“quagga”, which 60.0\u00a0% of your rows hold") {
		t.Errorf("the answer reads %q", first)
	}
	// By keys alone: the slider of people goes down, and less is known.
	b.Do(chromedp.Focus("#people"), chromedp.SendKeys("#people", strings.Repeat(kb.ArrowLeft, 8)))
	b.Do(webtest.Until(drawnWhole + ` && document.getElementById("answer").textContent !== ` + "`" + first + "`"))
	// Numbers have steps, and empty cells a meaning.
	b.Do(typed("#asks [name=column]", "1", "change"), webtest.Until(drawnWhole+` && document.getElementById("chart").textContent.includes(" to ")`))
	if kind := webtest.Ask(b, chromedp.Evaluate[string](`document.querySelector("#asks [name=kind]").value`)); kind != "buckets" {
		t.Errorf("numbers are guessed to be %q", kind)
	}
	b.Do(typed("#asks [name=column]", "0", "change"), typed("#title", "Which animal?", "change"), webtest.Until(drawnWhole+` && document.getElementById("toml").textContent.includes("Which animal?")`))
	b.LookOnAll(t, "new question")
	p, err := author.Parse([]byte(webtest.Ask(b, chromedp.Evaluate[string](`document.getElementById("toml").textContent`))))
	if err != nil || p.Title != "Which animal?" || len(p.Question.Histogram.Attributes[0].Values) != 3 {
		t.Errorf("the plan is %+v, %v", p, err)
	}
	for _, request := range kept.asked() {
		if !strings.HasPrefix(request, "GET /studio/") {
			t.Errorf("asked for while values were there: %s", request)
		}
		for _, secret := range append(secrets, "977.5", "41.125") {
			if strings.Contains(request, secret) {
				t.Errorf("a request holds a value: %s", request)
			}
		}
	}
	// A file that is chosen is read as one that is pasted, and so is the example.
	b.Do(chromedp.Evaluate[chromedp.Void](`{
		const chosen = new DataTransfer();
		chosen.items.add(new File(["colour,size\nokapi-blue,2\nokapi-blue,2\n" + "okapi-red,3\n".repeat(40)], "values.csv", {type: "text/csv"}));
		const file = document.getElementById("file");
		file.files = chosen.files;
		file.dispatchEvent(new Event("change", {bubbles: true}));
	}`), webtest.Until(drawnWhole+` && document.getElementById("read").textContent.startsWith("42 rows, 2 columns")`))
	b.Do(chromedp.Click("#sample"), webtest.Until(drawnWhole+` && document.getElementById("read").textContent.startsWith("600 rows")`))
	for _, request := range kept.asked() {
		t.Errorf("a file makes the page ask for %s", request)
	}
	// The page could not fetch with them if it tried.
	sent := webtest.Ask(b, chromedp.Evaluate[string](`Promise.allSettled([fetch("/?zanzibar"), fetch("https://elsewhere.example/?zanzibar")]).then(all => all.map(a => a.status).join(" "))`, chromedp.EvalAwaitPromise))
	refused := b.Found()
	if sent != "rejected rejected" || len(refused) < 2 {
		t.Errorf("a page that sends: %s, %q", sent, refused)
	}
	for _, request := range kept.asked() {
		t.Errorf("a page that sends has sent: %s", request)
	}
	answer, err := http.Get(url + "/studio/worker.js")
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if policy := answer.Header.Get("Content-Security-Policy"); !strings.Contains(policy, "connect-src "+strings.TrimPrefix(url, "http://")+moduleFile+";") {
		t.Errorf("the worker may ask for more than its module: %s", policy)
	}
}

// Several columns are several questions, crowds stand beside each other, answers may be summed, and with the
// keys of its parties the plan is complete.
func TestAQuestionOfCrowdsAndSumsIsMadeInTheBrowser(t *testing.T) {
	ctx := webtest.Browser(t)
	s, _, _, _ := several(t)
	_, url := recorded(t, Options{Analyzer: base, Public: s})
	sign, errSign := relay.GenerateSignKey()
	releases, errReleases := relay.GenerateSignKey()
	open, errOpen := envelope.GenerateKey(envelope.X25519) // of all: nobody opens anything here
	if err := errors.Join(errSign, errReleases, errOpen); err != nil {
		t.Fatal(err)
	}
	b := webtest.Open(t, ctx, webtest.Phone)
	made := func() plan.Plan {
		p, err := author.Parse([]byte(webtest.Ask(b, chromedp.Evaluate[string](`document.getElementById("toml").textContent`))))
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	b.Do(chromedp.Navigate(url+"/new"), chromedp.WaitVisible("#studio"), chromedp.Click("#sample"), webtest.Until(drawnWhole))
	b.Do(chromedp.Click("#more"), webtest.Until(drawnWhole+` && document.querySelectorAll("#chart ol").length === 2`))
	b.Do(typed("#crowd", "2", "change"), webtest.Until(drawnWhole+` && document.querySelectorAll("#chart ol.pair").length === 2 && document.getElementById("chart").textContent.includes(" points (")`))
	b.LookOnAll(t, "new question of two crowds")
	b.Do(typed("#one", "south", "change"), webtest.Until(drawnWhole+` && document.querySelector("#chart .legend li").textContent.startsWith("south")`))

	// The parties are those of an earlier collection, which lack what its plan had no need of.
	lacks := webtest.Ask(b, chromedp.Text("#lacks"))
	if !strings.Contains(lacks, "hop 2: the public key of its receipts") || strings.Contains(lacks, "address") || !strings.Contains(lacks, "confetti keys new keys/receipts.json --for receipts") {
		t.Errorf("it lacks %s", lacks)
	}
	b.Do(chromedp.Evaluate[chromedp.Void](`for (const [i, e] of [...document.querySelectorAll("#parties details")].slice(0, 3).entries()) {
		e.open = true;
		const text = e.querySelector("textarea");
		text.value = text.value.split("\n")[0] + "\npublic key  `+open.Public().String()+`\n" + (i < 2 ? "`+sign.Public().String()+`" : "`+releases.Public().String()+`");
		text.dispatchEvent(new Event("change", {bubbles: true}));
	}`), webtest.Until(drawnWhole+` && document.getElementById("lacks").textContent.includes("the plan is complete.")`))
	b.LookOnAll(t, "new question with its parties")
	p := made()
	if err := errors.Join(protocol.Validate(p), protocol.Check(p)); err != nil || len(p.Question.Histogram.Attributes) != 2 || !slices.Equal(p.Crowd.Names, []string{"north", "south"}) || p.Route.Mix.Instances[0].Hops[1].Receipts != sign.Public().String() || p.Times.Closes.IsZero() {
		t.Errorf("%v, %+v", err, p)
	}

	// A private key is refused, and what it says is shown nowhere.
	b.Do(typed("#parties textarea", "{\"private_key\": \"hush\"}", "change"), webtest.Until(`document.getElementById("read").textContent.includes("private key file")`))
	b.Do(typed("#route", "sum", "change"), webtest.Until(drawnWhole+` && document.querySelector("#parties summary").textContent === "Leader"`))
	if sum := made().Route.Sum; sum == nil || sum.Noise != plan.NoiseAggregators || sum.Law == "" {
		t.Errorf("the route is %+v", sum)
	}
	b.Do(typed("#noise", "devices", "change"), webtest.Until(drawnWhole+` && document.getElementById("toml").textContent.includes("'devices'")`))
	b.Do(chromedp.Click("#asks li:last-child [name=less]"), webtest.Until(drawnWhole+` && document.querySelectorAll("#chart ol").length === 1`))
	b.LookOnAll(t, "new question of a sum")
}

// Strings that nobody listed, tables, and experiments, are asked in the browser as counts are: what is chosen makes the plan, what a
// lift takes is said and taken at a press, and what is wrong is said; no request has a value.
func TestWholeRecordsAreAskedInTheBrowser(t *testing.T) {
	ctx := webtest.Browser(t)
	s, _, _, _ := several(t)
	kept, url := recorded(t, Options{Analyzer: base, Public: s})
	var lines strings.Builder
	lines.WriteString("drink,minutes,before\n")
	for i := range 900 {
		fmt.Fprintf(&lines, "%s,%d.5,%d\n", []string{"quaggabrew", "okapijuice", "tea"}[min(2, i%7/3)], 20+i*37%61, 15+i*37%61+i%9)
	}
	b := webtest.Open(t, ctx, webtest.Phone)
	made := func() plan.Plan {
		p, err := author.Parse([]byte(webtest.Ask(b, chromedp.Evaluate[string](`document.getElementById("toml").textContent`))))
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	b.Do(chromedp.Navigate(url+"/new"), chromedp.WaitVisible("#studio"))
	kept.asked()
	b.Do(typed("#values", lines.String(), "input"), webtest.Until(drawnWhole))
	b.Do(typed("#kind", "strings", "change"), webtest.Until(drawnWhole+` && document.getElementById("chart").textContent.includes("quaggabrew") && document.getElementById("says").textContent.includes("Like your rows")`))
	b.LookOnAll(t, "new question of strings")
	if p := made(); p.Question.Strings == nil || p.Question.Strings.Longest != 10 || p.Crowd.Minimum != 50_000 || p.Route.Mix == nil {
		t.Errorf("the plan of strings is %+v", p.Question)
	}
	b.Do(typed(`[data-kind=strings] [name=longest]`, "12", "change"), typed(`[data-kind=strings] [name=alphabet]`, "a-z", "change"), typed("#route", "sum", "change"), webtest.Until(drawnWhole+` && document.getElementById("toml").textContent.includes("longest = 12") && document.querySelector("#parties summary").textContent === "Leader"`))
	if p := made(); p.Route.Sum == nil || len(p.Question.Strings.Alphabet) != 26 {
		t.Errorf("the plan of strings that are summed is %+v", p)
	}
	b.Do(typed(`[data-kind=strings] [name=alphabet]`, "z-a", "change"), webtest.Until(`document.getElementById("read").textContent.includes("the first character comes first")`))

	b.Do(typed("#kind", "table", "change"), webtest.Until(drawnWhole+` && document.getElementById("says").textContent.includes("What tables tell") && document.querySelectorAll("#sheets table").length === 7`))
	b.LookOnAll(t, "new question of tables")
	if p := made(); p.Route.Sum == nil || p.Crowd.Minimum != 20_000 || len(p.Question.Table.Columns) != 3 || len(p.Question.Table.Columns[1].Cuts) != 3 {
		t.Errorf("the plan of tables is %+v", p.Question)
	}
	b.Do(typed(`[data-kind=table] [name=ranges]`, "6", "change"), typed("#route", "mix", "change"), webtest.Until(drawnWhole+` && document.getElementById("toml").textContent.includes("answered = 8192")`))
	if p := made(); p.Route.Mix == nil || len(p.Question.Table.Columns[1].Cuts) != 5 {
		t.Errorf("the plan of tables that are mixed is %+v", p)
	}
	b.Do(typed(`[data-kind=table] [name=columns]`, "0", "change"), webtest.Until(`document.getElementById("read").textContent.includes("tables are of two")`))

	b.Do(typed("#kind", "experiment", "change"), webtest.Until(drawnWhole+` && document.getElementById("says").textContent.includes("people needed")`))
	if p := made(); p.Route.Sum == nil || p.Crowd.Minimum != 40_000 || p.Question.Experiment.Metrics[0].Name != "minutes" || p.Question.Experiment.Metrics[0].Times != 0 {
		t.Errorf("the plan of an experiment is %+v", p)
	}
	b.Do(typed(`[data-kind=experiment] [name=before]`, "2", "change"), typed(`[data-kind=experiment] [name=lift]`, "0.1", "change"), webtest.Until(drawnWhole+` && document.getElementById("toml").textContent.includes("before = 'before'") && !document.getElementById("enough").hidden`))
	b.LookOnAll(t, "new question of an experiment")
	b.Do(chromedp.Click("#enough"), webtest.Until(drawnWhole+` && document.getElementById("enough").hidden`))
	if n := made().Crowd.Minimum; n <= 40_000 {
		t.Errorf("a lift of .1 %% takes more than 40,000 people, and %d are asked", n)
	}
	b.Do(typed(`[data-kind=experiment] [name=arms]`, "only", "change"), webtest.Until(`document.getElementById("read").textContent.includes("two names or more")`))
	b.Do(typed("#kind", "", "change"), webtest.Until(drawnWhole+` && document.getElementById("says").childElementCount === 0 && document.querySelector("[data-kind=experiment]").hidden`))
	for _, request := range kept.asked() {
		if !strings.HasPrefix(request, "GET /studio/") || strings.Contains(request, "quagga") || strings.Contains(request, "okapi") {
			t.Errorf("asked for while values were there: %s", request)
		}
	}
}

// A browser finds what does not hold of a release: nobody signed for these batches, and one was
// changed after its numbers were promised.
func TestAReleaseIsVerifiedInTheBrowser(t *testing.T) {
	ctx := webtest.Browser(t)
	s, _, crowds, _ := several(t)
	_, url := recorded(t, Options{Analyzer: base, Public: s})
	b := webtest.Open(t, ctx, webtest.Phone)
	verified := func(name string) string {
		b.Do(chromedp.Navigate(url+"/releases/"+crowds), webtest.Until(`document.readyState === "complete"`), chromedp.Evaluate[chromedp.Void](`document.querySelector("details:has(#verify)").open = true; 0`), chromedp.Click("#verify button"), chromedp.WaitVisible("#verdict"))
		b.Look(t, "verified, "+name)
		return webtest.Ask(b, chromedp.Evaluate[string](`document.getElementById("verdict").textContent + "\n" + [...document.querySelectorAll("#checks li, #unchecked li")].map(l => l.innerText.replaceAll("\n", " ")).join("\n")`))
	}
	if text := verified("simulated"); !strings.Contains(text, "1 of 8 checks did not hold") || !strings.Contains(text, "✗ receipts Does not hold") || !strings.Contains(text, "✓ signature") || !strings.Contains(text, "– publisher") || !strings.Contains(text, "– log") {
		t.Errorf("of a release without receipts it says %s", text)
	}
	// Who expects another publisher, in plans of a log, is told.
	b.Do(typed("#publishers", "confetti-publishers/v1\nlog PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW\ned25519:iojj3XQJ8ZX9UtstPLpdcspnCb8dlBIb83SIAbQPb1w\n", "input"), chromedp.Click("#verify button"), webtest.Until(`document.getElementById("checks").textContent.includes("✗log")`))
	if text := webtest.Ask(b, chromedp.Text("#verified")); !strings.Contains(text, "whom nobody here trusts") || webtest.Ask(b, chromedp.Evaluate[bool](`document.getElementById("unchecked").childElementCount !== 0`)) {
		t.Errorf("of another publisher it says %s", text)
	}
	b.Do(typed("#publishers", "nobody", "input"), chromedp.Click("#verify button"), webtest.Until(`document.getElementById("verifying").textContent.includes("could not be checked here")`))
	hash, err := wire.ParsePlanName(crowds)
	if err != nil {
		t.Fatal(err)
	}
	at := base + wire.ReleasePath(hash, "json")
	var forged map[string]any
	if err := json.Unmarshal(s.answers[at], &forged); err != nil {
		t.Fatal(err)
	}
	guarantee := forged["guarantees"].([]any)[2].(map[string]any)
	guarantee["epsilon"] = guarantee["epsilon"].(float64) / 10
	forged["headline"].([]any)[0].(map[string]any)["name"] = "sure"
	text, err := json.Marshal(forged)
	if err != nil {
		t.Fatal(err)
	}
	s.mu.Lock()
	s.answers[at] = text
	s.mu.Unlock()
	if text := verified("forged"); !strings.Contains(text, "✗ guarantees") || !strings.Contains(text, "✗ names") || !strings.Contains(text, "\"sure\", which no release of its plan has") {
		t.Errorf("of a forged release it says %s", text)
	}
}

// Where the module is not at hand the pages say so, and what does the same.
func TestPagesWithoutTheModule(t *testing.T) {
	s, _, crowds, _ := several(t)
	_, url := start(t, Options{Analyzer: base, Public: s, Studio: func() (http.Handler, error) { return nil, io.ErrUnexpectedEOF }})
	for path, want := range map[string]string{"/new": "confetti collect simulate", "/studio/index.js": "is not at hand", "/releases/" + crowds: "confetti release verify " + base} {
		answer, err := http.Get(url + path)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if err != nil || !strings.Contains(string(text), want) || strings.Contains(string(text), "EOF") {
			t.Errorf("%s: %v, %s", path, err, text)
		}
	}
}

// Where one operator has every key, every page says so at its top, those that are of no plan too.
func TestATrialSaysSoOnEveryPage(t *testing.T) {
	for one, want := range map[bool]int{true: 1, false: 0} {
		s := &services{answers: map[string][]byte{}, down: map[string]bool{}}
		p := placed(example.Histograms()["categories"])
		if one {
			p.Analyzer.Operator = "me"
			for _, in := range p.Route.Instances() {
				for h := range in.Hops {
					in.Hops[h].Operator = "me"
				}
			}
		}
		name := s.add(t, p, nil)
		hash, err := wire.ParsePlanName(name)
		if err != nil {
			t.Fatal(err)
		}
		signed, err := plan.ParseSigned(s.answers[base+wire.PlanPath(hash)])
		if err != nil {
			t.Fatal(err)
		}
		c, err := New(Options{
			Analyzer: base, Hosts: hosts, Public: s, Operator: s, Poll: &Poll{Signed: signed, Address: "https://here.example/answer"},
			Studio: func() (http.Handler, error) { return http.NotFoundHandler(), nil },
		})
		if err != nil {
			t.Fatal(err)
		}
		cookie, _ := login(t, c)
		for _, path := range []string{"/", "/plans/" + name, "/room", "/new", "/operator", c.Login("ada"), "/operator/drain?url=" + base} {
			_, page := get(t, c, path, "Cookie", cookie.Name+"="+cookie.Value)
			before, _, _ := strings.Cut(page, "<main")
			if got := strings.Count(before, "<strong>Trial.</strong>"); got != want || !strings.Contains(page, "<main") {
				t.Errorf("of one operator: %v; %s says %d times at its top that it is a trial", one, path, got)
			}
		}
	}
}
