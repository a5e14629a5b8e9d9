package console

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/internal/question"
	drawn "github.com/confetti-dp/confetti/internal/release/page"
	"github.com/confetti-dp/confetti/internal/release/results"
	"github.com/confetti-dp/confetti/internal/service/analyzerd"
	"github.com/confetti-dp/confetti/internal/simulate/distribution"
	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/internal/testkit/releasetest"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/internal/wire/relay"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/release"
)

const base = "https://analyzer.example"

// services is an analyzer and hops that have their answers ready. Releases are of counts
// drawn from their law, as a collection gives them.
type services struct {
	mu      sync.Mutex
	answers map[string][]byte // by URL
	plans   []analyzerd.Plan
	asked   []string // requests that changed something: method and URL
	down    map[string]bool
}

func (s *services) Get(ctx context.Context, url string) ([]byte, error) {
	_, text, err := s.Do(ctx, http.MethodGet, url, "", nil)
	return text, err
}

func (s *services) Read(ctx context.Context, url string, read func(io.Reader) error) error {
	text, err := s.Get(ctx, url)
	if err != nil {
		return err
	}
	return read(bytes.NewReader(text))
}

func (s *services) Do(_ context.Context, method, url, _ string, body []byte) (int, []byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if method != http.MethodGet {
		s.asked = append(s.asked, method+" "+url+" "+string(body))
		return http.StatusOK, []byte("{}"), nil
	}
	for prefix := range s.down {
		if strings.HasPrefix(url, prefix) {
			return 0, nil, refused(url)
		}
	}
	if url == base+"/v1/plans" {
		text, err := json.Marshal(s.plans)
		return http.StatusOK, text, err
	}
	if text, ok := s.answers[url]; ok {
		return http.StatusOK, text, nil
	}
	return http.StatusNotFound, nil, wire.Problemf(wire.NotFound, "nothing at %s", url)
}

// refused is the error of a connection that nobody takes.
func refused(at string) error {
	return &url.Error{Op: "Get", URL: at, Err: errors.New("connection refused")}
}

// Opens reports that there are tokens for the analyzer and the hops of these plans.
func (s *services) Opens(url string) bool {
	return strings.HasPrefix(url, base) || strings.HasPrefix(url, "https://hop-")
}

var published = time.Date(2026, 11, 20, 9, 30, 0, 0, time.UTC)

// add puts a collection in, released with these people's answers; nil: it is open still.
func (s *services) add(t testing.TB, p plan.Plan, people []question.Value) string {
	t.Helper()
	key, err := relay.GenerateSignKey()
	if err != nil {
		t.Fatal(err)
	}
	return s.put(t, plan.Sign(example.Runnable(t, example.Design(t, placed(p))).Plan, key.Private()), people).Plan
}

// placed gives a plan's parties addresses, where they have none.
func placed(p plan.Plan) plan.Plan {
	p.Analyzer.URL = base
	for _, in := range p.Route.Instances() {
		for h := range in.Hops {
			in.Hops[h].URL = cmp.Or(in.Hops[h].URL, fmt.Sprintf("https://hop-%d.example", h+1))
		}
	}
	return p
}

// study puts a study in, with a round for each of these peoples; the last is open still.
func (s *services) study(t testing.TB, p plan.Plan, rounds ...[]question.Value) string {
	t.Helper()
	publisher, errPublisher := relay.GenerateSignKey()
	coordinator, errCoordinator := relay.GenerateSignKey()
	if err := errors.Join(errPublisher, errCoordinator); err != nil {
		t.Fatal(err)
	}
	return s.season(t, p, publisher, coordinator, 0, rounds...)
}

// season puts in a study of somebody's that begins so many days later.
func (s *services) season(t testing.TB, p plan.Plan, publisher, coordinator relay.SignKey, days int, rounds ...[]question.Value) string {
	t.Helper()
	p = example.Design(t, placed(p))
	asked := plan.Study{
		Version: plan.StudyVersion, Plan: p, Rounds: len(rounds) + 2, Takes: plan.TakesOne, Withheld: plan.WithheldRepeats, Coordinator: coordinator.Public().String(),
		Times: plan.Times{Opens: published.AddDate(0, 0, days-1), Closes: published.AddDate(0, 0, days+max(10, len(rounds)+2))},
	}
	if err := asked.Validate(); err != nil {
		t.Fatal(err)
	}
	signed := plan.SignStudy(asked, publisher.Private())
	for i, people := range rounds {
		times := plan.Times{Opens: asked.Times.Opens.Add(time.Duration(i) * 24 * time.Hour), Closes: asked.Times.Opens.Add(time.Duration(i+1) * 24 * time.Hour)}
		round, err := signed.Round(i+1, "", times, coordinator.Private())
		if err != nil {
			t.Fatal(err)
		}
		one := s.put(t, round, people)
		one.Study, one.Round = asked.Name(), i+1
	}
	return asked.Name()
}

// put has a signed plan in the list, released with these people's answers; nil: it is open still.
func (s *services) put(t testing.TB, signed plan.Signed, people []question.Value) *analyzerd.Plan {
	t.Helper()
	p := signed.Plan
	proto := example.Runnable(t, p)
	name := p.Name()
	s.answers[base+wire.PlanPath(p.Hash())] = signed.Marshal()
	one := analyzerd.Plan{Plan: name, Title: p.Title, Publisher: signed.Signers()[0], Status: analyzerd.Open, Registered: published.Add(time.Duration(len(s.plans)) * time.Hour), Closes: published.Add(26 * time.Hour)}
	if people != nil {
		one.Status, one.Closed, one.Decided = analyzerd.Released, published, published
		for format, text := range releaseOf(t, proto, people) {
			one.Formats = append(one.Formats, format)
			s.answers[base+wire.ReleasePath(p.Hash(), format)] = text
		}
	}
	s.plans = append(s.plans, one)
	return &s.plans[len(s.plans)-1]
}

func releaseOf(t testing.TB, proto *protocol.Protocol, people []question.Value) map[string][]byte {
	t.Helper()
	tallies, err := distribution.Draw(proto, distribution.Values(people), example.Streams(7), func(int) {})
	if err != nil {
		t.Fatal(err)
	}
	r, model, err := releasetest.Publish(proto, tallies, results.Public{})
	if err != nil {
		t.Fatal(err)
	}
	r.Created, r.Provenance = published, release.Provenance{Software: "confetti (test)", Randomness: "fresh randomness"}
	sheet, err := results.Beside(model, results.Public{})
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	if sheet.File != "" {
		files[sheet.File] = sheet.Text
	}
	var text, html bytes.Buffer
	if err := errors.Join(r.WriteJSON(&text), drawn.WriteHTML(&html, r)); err != nil {
		t.Fatal(err)
	}
	files["json"], files["html"] = text.Bytes(), html.Bytes()
	return files
}

// several is an analyzer with an open collection, one of two crowds, one of a number, and one
// that is withheld.
func several(t testing.TB) (s *services, open, crowds, sampled string) {
	t.Helper()
	s = &services{answers: map[string][]byte{}, down: map[string]bool{}}
	p := example.Histograms()["categories"]
	p.Title = "How do you come to work?"
	open = s.add(t, p, nil)
	p = example.Histograms()["crowds"]
	p.Title, p.Crowd.Deletion = "What do you drink in the morning?", nil
	crowds = s.add(t, p, example.Drinkers())
	p = example.Histograms()["sample"]
	p.Title = "Drinks, rising and baskets"
	var people []question.Value
	for i := range 4000 {
		people = append(people, example.Answers(p, i))
	}
	sampled = s.add(t, p, people)
	p = example.Histograms()["set"]
	p.Title = "Which of these do you own?"
	s.add(t, p, nil)
	last := &s.plans[len(s.plans)-1]
	last.Status, last.Decided, last.Reason = analyzerd.Withheld, published, "no crowd has enough respondents: 51 of 100"
	return s, open, crowds, sampled
}

// hopsOf answers for the entry hop of a plan, with what it tells roughly.
func (s *services) hopsOf(t testing.TB, name, about string) {
	t.Helper()
	hash, err := wire.ParsePlanName(name)
	if err != nil {
		t.Fatal(err)
	}
	signed, err := plan.ParseSigned(s.answers[base+wire.PlanPath(hash)])
	if err != nil {
		t.Fatal(err)
	}
	hop := signed.Plan.Route.Instances()[0].Hops[0]
	s.answers[hop.URL+"/status.json"] = fmt.Appendf(nil, `{"service":"shuffler","since":"2026-11-20T09:00:00Z","now":"2026-11-20T10:00:00Z","tables":[{"title":"x","columns":[],"rows":[],"data":{"plan":"%s","instance":0,"hop":0,"phase":"collecting","crowds":[{"crowd":0,"phase":"collecting","about":"%s"}]}}]}`, name, about)
}
