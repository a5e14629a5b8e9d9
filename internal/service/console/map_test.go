package console

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/confetti-dp/confetti/internal/service/analyzerd"
	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/internal/testkit/webtest"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/plan"
)

// several organisations: of North no token is here, and South's services tell of themselves.
type organisations struct{ *services }

func (o organisations) Opens(url string) bool { return !strings.Contains(url, "north") }

func (o organisations) Get(ctx context.Context, url string) ([]byte, error) {
	if at, is := strings.CutSuffix(url, "/readyz"); is && !o.Opens(at) {
		return []byte("ready"), nil
	}
	if strings.HasSuffix(url, "/status.json") && !o.Opens(url) {
		return nil, wire.Problemf(wire.Unauthenticated, "this path needs an operator's bearer token")
	}
	return o.services.Get(ctx, url)
}

// collected is the services of two organisations, who mix and add up.
func collected(t *testing.T) (*Console, organisations) {
	t.Helper()
	s := &services{answers: map[string][]byte{}, down: map[string]bool{}}
	mix := placed(example.Histograms()["categories"])
	mix.Title, mix.Analyzer.Operator = "How do you come to work?", "Südhafen University"
	hops := mix.Route.Instances()[0].Hops
	hops[0].Operator, hops[0].URL = "Nordlicht Foundation", "https://hop.north.example"
	hops[1].Operator, hops[1].URL = "Südhafen University", "https://hop.south.example:8443"
	sum := example.Summed(example.Histogram(example.OneHot(example.Drinks())), plan.NoiseDevices)
	sum.Title, sum.Analyzer.URL, sum.Analyzer.Operator = "What do you drink?", base, "Südhafen University"
	sum.Route.Sum.Leader.Operator, sum.Route.Sum.Leader.URL = "Nordlicht Foundation", "https://leader.north.example"
	sum.Route.Sum.Helper.Operator, sum.Route.Sum.Helper.URL = "Südhafen University", "https://helper.south.example"
	sum.Route.Sum.Issuer = &plan.Party{Operator: "Nordlicht Foundation", URL: "https://tokens.north.example"}
	tell := func(at, service string, days int, alarms []string, facts ...serve.Fact) {
		end := published.AddDate(0, 0, days)
		facts = append([]serve.Fact{{Name: "version", Value: "v1.4.2"}, {Name: "certificate", Value: "until then", Data: end}, {Name: "free disk", Value: "68.0 GiB"}}, facts...)
		text, err := json.Marshal(serve.Status{Service: service, Since: published.AddDate(0, 0, -3), Now: published, Alarms: alarms, Facts: facts})
		if err != nil {
			t.Fatal(err)
		}
		s.answers[at+"/status.json"] = text
	}
	tell(hops[1].URL, "shuffler", 6, []string{"the certificate ends at 2026-11-26T09:30:00Z", "clock: five minutes from the others"}, serve.Fact{Name: "backlog", Value: "1 batch waits, the oldest for 40s"})
	tell(sum.Route.Sum.Helper.URL, "helper", 29, nil)
	tell(base, "analyzer", 29, nil, serve.Fact{Name: analyzerd.LogFact, Value: "https://log.south.example", Data: "https://log.south.example"})
	tell("https://log.south.example", "log", 29, nil, serve.Fact{Name: "entries", Value: "44", Data: 44})
	s.add(t, mix, nil)
	s.add(t, sum, nil)
	o := organisations{s}
	c, err := New(Options{Analyzer: base, Hosts: hosts, Public: o, Operator: o, Now: func() time.Time { return published }})
	if err != nil {
		t.Fatal(err)
	}
	return c, o
}

// Each service is a box with its owner, its status and a line for each thing that it tells; whose it is not
// says no more than that it is ready.
func TestServicesStandOnAMap(t *testing.T) {
	c, o := collected(t)
	read := func() chart {
		list, err := c.analyzer.list(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var plans []plan.Plan
		var of places
		for _, p := range list {
			one, err := c.analyzer.plan(t.Context(), p.Plan)
			if err != nil {
				t.Fatal(err)
			}
			plans = append(plans, one.signed.Plan)
			for _, s := range along(one.signed.Plan.Route) {
				of.add(s.url, s.operator, s.role)
			}
		}
		of.add(base, plans[0].Analyzer.Operator, "analyzer")
		return mapped(plans, c.withLog(t.Context(), c.parties(t.Context(), of)), base, list)
	}
	said := func(b box) string {
		return fmt.Sprintf("%s of %q: %s (%s) %v %q", b.Name, b.Owner, b.Status, b.Mark, b.Theirs, b.Lines)
	}
	m := read()
	const north, south = "Nordlicht Foundation", "Südhafen University"
	for name, is := range map[string]struct {
		got  box
		want string
	}{
		"leader":   {m.Lanes[0].Steps[0].Box, fmt.Sprintf("Leader of %q: ready (good) true []", north)},
		"helper":   {m.Lanes[0].Steps[1].Box, fmt.Sprintf("Helper of %q: up (good) false [%q %q]", south, "certificate for 29 days", "68.0 GiB free")},
		"hop 1":    {m.Lanes[1].Steps[0].Box, fmt.Sprintf("Hop 1 of %q: ready (good) true []", north)},
		"hop 2":    {m.Lanes[1].Steps[1].Box, fmt.Sprintf("Hop 2 of %q: look (look) false [%q %q %q]", south, "1 batch waits, the oldest for 40s", "certificate for 6 days", "68.0 GiB free")},
		"issuer":   {m.Issuers[0], fmt.Sprintf("Issuer of %q: ready (good) true []", north)},
		"log":      {m.Logs[0], fmt.Sprintf("Log of %q: up (good) false [%q %q %q]", "named by the analyzer", "44 entries", "certificate for 29 days", "68.0 GiB free")},
		"analyzer": {m.Analyzer, fmt.Sprintf("Analyzer of %q: up (good) false [%q %q %q %q]", south, "certificate for 29 days", "68.0 GiB free", "2 collecting, 0 counting", "0 published, 0 withheld")},
	} {
		if said(is.got) != is.want {
			t.Errorf("%s:\n%s, want\n%s", name, said(is.got), is.want)
		}
	}
	edges := func(l lane) (all []string) {
		for _, s := range l.Steps {
			all = append(all, s.Edge)
		}
		return append(all, l.Last)
	}
	if got := [][]string{edges(m.Lanes[0]), edges(m.Lanes[1])}; !slices.Equal(got[0], []string{"shares", "verified by both", "sums"}) || !slices.Equal(got[1], []string{"sealed", "mixed once", "mixed twice"}) || m.Open != 2 {
		t.Errorf("edges %q, %d open", got, m.Open)
	}
	o.down["https://helper.south.example"] = true
	if b := read().Lanes[0].Steps[1].Box; b.Status != "down" || b.Mark != "bad" || len(b.Lines) > 0 {
		t.Errorf("a helper that is down: %+v", b)
	}
}

// Whatever is down, waits or is silent, the page says that something wants looking at; without that it says
// that nothing does.
func TestNothingIsNeverSaidBesideAServiceThatIsDown(t *testing.T) {
	c, o := collected(t)
	cookie, _ := login(t, c)
	page := func() string {
		_, text := get(t, c, "/operator", "Cookie", cookie.String())
		return text
	}
	for _, at := range []string{"https://hop.south.example:8443", "https://helper.south.example", "https://log.south.example", base + "/status.json", base} {
		o.mu.Lock()
		o.down[at] = true
		o.mu.Unlock()
		if text := page(); strings.Contains(text, ">Nothing.<") || !strings.Contains(text, ">down<") {
			t.Errorf("%s is down beside nothing:\n%s", at, text)
		}
		o.mu.Lock()
		delete(o.down, at)
		o.mu.Unlock()
	}
	o.mu.Lock()
	o.answers["https://hop.south.example:8443/status.json"] = o.answers["https://helper.south.example/status.json"]
	o.mu.Unlock()
	if text := page(); !strings.Contains(text, ">Nothing.<") || strings.Contains(text, ">down<") {
		t.Errorf("all is well, and it is not said:\n%s", text)
	}
	o.mu.Lock()
	name := o.plans[0].Plan
	hash, err := wire.ParsePlanName(name)
	o.answers[base+wire.PlanPath(hash)] = []byte("no plan")
	o.mu.Unlock()
	c.analyzer.plans = nil
	if text := page(); err != nil || strings.Contains(text, ">Nothing.<") || !strings.Contains(text, "A plan of the analyzer") {
		t.Errorf("%v: services of a plan that cannot be read are missed in silence:\n%s", err, text)
	}
}

// An operator sees all services and what wants looking at on one screen of 1,280 by 800, and on a phone one
// below the other.
func TestAnOperatorsScreenInABrowser(t *testing.T) {
	ctx := webtest.Browser(t)
	c, _ := collected(t)
	served := httptest.NewServer(http.HandlerFunc(c.ServeHTTP))
	defer served.Close()
	c.o.Hosts = append(c.o.Hosts, served.Listener.Addr().String())
	for _, screen := range []webtest.Screen{{Name: "one screen", Width: 1280, Height: 800}, webtest.Phone} {
		b := webtest.Open(t, ctx, screen)
		b.Do(chromedp.Navigate(served.URL+c.Login("ada")), chromedp.Click("main button"), chromedp.WaitVisible(".map"))
		for _, dark := range []bool{false, true} {
			b.Darken(t, dark)
			name := "services, " + screen.Name
			if dark {
				name += ", dark"
			}
			b.Look(t, name)
		}
		var at struct {
			Boxes, Alarms     int
			Map, Last, Bottom float64
			Beside            bool
		}
		text := webtest.Ask(b, chromedp.Evaluate[string](`(() => {
			const of = s => [...document.querySelectorAll(s)].map(e => e.getBoundingClientRect());
			const boxes = of(".map .box"), alarms = of(".alarm");
			return JSON.stringify({Boxes: boxes.length, Alarms: alarms.length, Map: Math.max(...boxes.map(b => b.bottom)), Last: Math.max(...alarms.map(b => b.bottom)), Bottom: innerHeight,
				Beside: boxes.every((a, i) => boxes.every((b, j) => i >= j || a.right <= b.left || b.right <= a.left || a.bottom <= b.top || b.bottom <= a.top))});
		})()`))
		if err := json.Unmarshal([]byte(text), &at); err != nil {
			t.Fatal(err)
		}
		if at.Boxes != 8 || at.Alarms != 2 || !at.Beside || !screen.Phone && (at.Map > at.Last || at.Last > at.Bottom) {
			t.Errorf("%s: %+v", screen.Name, at)
		}
	}
}
