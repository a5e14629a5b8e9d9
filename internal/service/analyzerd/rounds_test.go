package analyzerd_test

import (
	"bytes"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/internal/service/analyzerd"
	"github.com/confetti-dp/confetti/internal/service/analyzerd/progress"
	"github.com/confetti-dp/confetti/internal/service/analyzerd/rows"
	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/internal/wire/relay"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/release"
)

// studied makes the tiny plan the first round of a study, and has it answered.
func studied(t testing.TB, c *collection, change func(*plan.Study)) plan.SignedStudy {
	t.Helper()
	p := c.signed.Plan
	p.Times = plan.Times{}
	s := plan.Study{
		Version: 1, Plan: p, Rounds: 3, Takes: plan.TakesOne, Withheld: plan.WithheldRepeats,
		Coordinator: plan.Publisher(coordinator.Public().(ed25519.PublicKey)),
		Times:       plan.Times{Opens: closes.Add(-24 * time.Hour), Closes: closes.Add(30 * 24 * time.Hour)},
	}
	if change != nil {
		change(&s)
	}
	signed := plan.SignStudy(s, publisher)
	first, err := signed.Round(1, "", plan.Times{Opens: closes.Add(-2 * time.Hour), Closes: closes}, coordinator)
	if err != nil {
		t.Fatal(err)
	}
	c.answer(t, first, vectors)
	return signed
}

// newest is the newest round of the study as anybody reads it.
func (r *rig) newest(s plan.SignedStudy) plan.Signed {
	r.t.Helper()
	w := r.get(wire.StudyPath(s.Study.Hash()))
	r.wants(w, ok, "")
	signed, err := plan.ParseSigned(w.Body.Bytes())
	if err != nil {
		r.t.Fatal(err)
	}
	if err := signed.Verify(plan.Trust(plan.Publisher(publisher.Public().(ed25519.PublicKey)))); err != nil {
		r.t.Fatal(err)
	}
	return signed
}

// hops is a service that takes rounds in the place of all hops, and counts how often
// each comes; it refuses the first attempts.
type hops struct {
	mu    sync.Mutex
	came  map[string]int
	sulks int
}

func (h *hops) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if r.Header.Get("Content-Type") != wire.SignedRoundType || r.Method != http.MethodPut {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	if h.sulks > 0 {
		h.sulks--
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	h.came[r.URL.Path]++
	w.WriteHeader(http.StatusCreated)
}

// The study goes on by itself, round after round, wherever the process is killed: no
// round is made twice, none is left out, and the population is charged once.
func TestAStudyGoesOnWhereverItIsKilled(t *testing.T) {
	points := append(slices.Clone(analyzerd.RoundFailpoints), rows.RoundFailpoints...)
	for kind, fresh := range databases {
		for _, point := range append(points, "") {
			if kind != "folder" && (testing.Short() || point != "rows/follow/committed") {
				continue
			}
			t.Run(kind+"/"+point, func(t *testing.T) {
				h := &hops{came: map[string]int{}}
				outside := httptest.NewTLSServer(h)
				defer outside.Close()
				c := collect(t, func(p *plan.Plan) {
					for _, in := range p.Route.Mix.Instances {
						for i := range in.Hops {
							in.Hops[i].URL = outside.URL
						}
					}
				})
				s := studied(t, c, nil)
				r := start(t, fresh(t), c)
				r.client = outside.Client()
				r.restart()
				r.fail(point, errCrash)
				crashed := 0
				step := func() {
					for range 3 {
						err := r.service.Step(t.Context())
						if err == nil {
							return
						}
						if !errors.Is(err, errCrash) {
							t.Fatal(err)
						}
						crashed++
						r.fail("", nil)
						r.restart()
					}
					t.Fatal("not done after a crash")
				}
				r.wants(r.register(c), created, "")
				for number := 1; number <= 3; number++ {
					now := r.newest(s)
					if now.Plan.Round.Number != number {
						t.Fatalf("round %d, want %d", now.Plan.Round.Number, number)
					}
					if number > 1 {
						c.answer(t, now, vectors)
					}
					for _, handover := range c.handovers {
						r.wants(r.put(handover), created, "")
					}
					r.at(now.Plan.Times.Closes.Add(time.Hour))
					step() // concludes
					step() // goes on
					w := r.get("/v1/releases/" + c.name + ".html")
					r.wants(w, ok, "")
					if !strings.Contains(w.Body.String(), fmt.Sprintf("Round %d of at most 3", number)) {
						t.Error("the release does not say of which round it is")
					}
				}
				step()
				if point != "" && crashed != 1 {
					t.Errorf("%d crashes", crashed)
				}
				next, err := r.store.Following(t.Context(), c.name)
				if err != nil || len(next.Signed) > 0 || next.Announced.IsZero() || !strings.Contains(next.Reason, "as many rounds") {
					t.Errorf("%+v, %v", next, err)
				}
				h.mu.Lock()
				defer h.mu.Unlock()
				if len(h.came) != 2 {
					t.Errorf("the hops heard of %d rounds, want 2: %v", len(h.came), h.came)
				}
				b, err := r.service.Budget(t.Context(), "residents")
				if err != nil || len(b.Plans) != 3 || b.Plans[0].Epsilon == 0 || b.Plans[1].Epsilon != 0 || b.Plans[2].Epsilon != 0 || b.More < 1 || b.More == progress.MostMore {
					t.Errorf("%+v, %v", b, err)
				}
			})
		}
	}
}

// A hop that does not answer keeps the study waiting, and devices hear of no round that
// it could not take.
func TestARoundIsKnownWhenEveryHopHasIt(t *testing.T) {
	h := &hops{came: map[string]int{}, sulks: 1}
	outside := httptest.NewTLSServer(h)
	defer outside.Close()
	c := collect(t, func(p *plan.Plan) { p.Route.Mix.Instances[0].Hops[0].URL = outside.URL })
	s := studied(t, c, nil)
	r := start(t, t.TempDir()+"/shelves", c)
	r.client = outside.Client()
	r.restart()
	r.wants(r.register(c), created, "")
	r.at(closes.Add(time.Hour))
	if err := r.service.Step(t.Context()); err != nil { // withheld: nobody has answered
		t.Fatal(err)
	}
	if err := r.service.Step(t.Context()); err == nil || !strings.Contains(err.Error(), "does not take the round") {
		t.Fatal(err)
	}
	if got := r.newest(s).Plan.Round.Number; got != 1 {
		t.Errorf("round %d is known before the hop has it", got)
	}
	if err := r.service.Step(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := r.newest(s); got.Plan.Round.Number != 2 || got.Plan.State != "" || !got.Plan.Times.Opens.Equal(closes) {
		t.Errorf("%+v", got.Plan.Round)
	}
}

// A round that is withheld, or withdrawn, ends or repeats the study as the study says.
func TestARoundThatIsWithheld(t *testing.T) {
	for name, want := range map[string]struct {
		change func(*plan.Study)
		next   int
		reason string
	}{
		"repeats":      {nil, 2, ""},
		"ends":         {func(s *plan.Study) { s.Withheld = plan.WithheldEnds }, 1, "withheld"},
		"the last":     {func(s *plan.Study) { s.Rounds = 1 }, 1, "as many rounds"},
		"no time left": {func(s *plan.Study) { s.Times.Closes = closes.Add(time.Minute) }, 1, "time is over"},
	} {
		t.Run(name, func(t *testing.T) {
			c := collect(t, nil)
			s := studied(t, c, want.change)
			r := start(t, t.TempDir()+"/shelves", c)
			r.wants(r.register(c), created, "")
			r.at(closes.Add(time.Hour))
			for range 3 {
				if err := r.service.Step(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			next, err := r.store.Following(t.Context(), c.name)
			if err != nil || !strings.Contains(next.Reason, want.reason) || (want.reason == "") != (next.Reason == "") || r.newest(s).Plan.Round.Number != want.next {
				t.Errorf("%+v, %v, round %d", next.Reason, err, r.newest(s).Plan.Round.Number)
			}
		})
	}
}

// Beside the release of each round there is one of all rounds so far, where the study says
// so: of those that were released, each counted once, with its receipts' digest.
func TestRoundsAddUpWhereTheStudySaysSo(t *testing.T) {
	c := collect(t, nil)
	s := studied(t, c, func(s *plan.Study) { s.Merged, s.Rounds = true, 4 })
	r := start(t, t.TempDir()+"/shelves", c)
	r.wants(r.register(c), created, "")
	respondents := func(file string) float64 {
		w := r.get("/v1/releases/" + c.name + file)
		r.wants(w, ok, "")
		published, err := release.Read(bytes.NewReader(w.Body.Bytes()))
		if err != nil {
			t.Fatal(err)
		}
		if len(published.Guarantees) != 3 || published.Plan != c.name {
			t.Errorf("%s: %d guarantees of plan %s", file, len(published.Guarantees), published.Plan)
		}
		return published.Headline[slices.IndexFunc(published.Headline, func(m release.Metric) bool { return m.Name == "respondents" })].Value
	}
	one := 0.0
	for number, rounds := range []float64{1, 2, 0, 3} { // nobody answers the third
		now := r.newest(s)
		if now.Plan.Round.Number != number+1 {
			t.Fatalf("round %d, want %d", now.Plan.Round.Number, number+1)
		}
		if number > 0 {
			c.answer(t, now, vectors)
		}
		for _, handover := range c.handovers {
			if rounds > 0 {
				r.wants(r.put(handover), created, "")
			}
		}
		r.at(now.Plan.Times.Closes.Add(time.Hour))
		for range 2 {
			if err := r.service.Step(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if rounds == 0 {
			r.wants(r.get("/v1/releases/"+c.name+".study.json"), 410, wire.Withheld)
			continue
		}
		if one == 0 {
			one = respondents(".json")
		}
		if got, all := respondents(".json"), respondents(".study.json"); got != one || all != rounds*one || one == 0 {
			t.Errorf("round %d: %v respondents, and %v in all rounds so far", number+1, got, all)
		}
		receipts, err := relay.ParseReceipts(r.get("/v1/releases/" + c.name + ".receipts.json").Body.Bytes())
		if err != nil || receipts.Files["study.json"] != relay.FileDigest(r.get("/v1/releases/"+c.name+".study.json").Body.Bytes()) {
			t.Errorf("the receipts are not of the release of all rounds: %v", err)
		}
	}
	status := r.service.Status(t.Context())
	g := status.Gauges[len(status.Gauges)-1]
	if g.Share != 1 || !strings.HasPrefix(g.Text, "4 of at most 4 rounds over") {
		t.Errorf("the operator sees %+v", g)
	}
	at := slices.IndexFunc(status.Tables, func(t serve.Table) bool { return strings.HasPrefix(t.Title, "Study ") })
	if at < 0 || len(status.Tables[at].Rows) != 4 || !strings.Contains(status.Tables[at].Rows[3][3], fmt.Sprintf("respondents %.4g", one)) || status.Tables[at].Rows[2][3] != "" {
		t.Errorf("the operator sees of the rounds %+v", status.Tables)
	}
}

// A round that some service does not have yet is coming: whoever waits until it is open gets it.
func TestARoundIsOpenOnceItIsGiven(t *testing.T) {
	c := collect(t, nil)
	s := studied(t, c, nil)
	r := start(t, t.TempDir()+"/shelves", c)
	r.wants(r.register(c), created, "")
	stands := func() (said []string) {
		var all []analyzerd.Plan
		if err := json.Unmarshal(r.get("/v1/plans").Body.Bytes(), &all); err != nil {
			t.Fatal(err)
		}
		for _, p := range all {
			said = append(said, fmt.Sprint(p.Round, " ", p.Standing()))
		}
		return append(said, fmt.Sprint("given ", r.newest(s).Plan.Round.Number))
	}
	r.at(closes.Add(time.Hour))
	r.fail("round-announced", errCrash)
	for range 2 {
		r.service.Step(t.Context())
	}
	if got := stands(); !slices.Equal(got, []string{"1 withheld", "2 coming", "given 1"}) {
		t.Errorf("before all have the second round: %v", got)
	}
	r.fail("", nil)
	if err := r.service.Step(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := stands(); !slices.Equal(got, []string{"1 withheld", "2 open", "given 2"}) {
		t.Errorf("once all have it: %v", got)
	}
}

// An analyzer that was away for longer than a round takes finds it withheld, and goes on.
func TestARoundThatWasSleptThrough(t *testing.T) {
	c := collect(t, nil)
	s := studied(t, c, nil)
	r := start(t, t.TempDir()+"/shelves", c)
	r.wants(r.register(c), created, "")
	r.at(closes.Add(time.Hour))
	r.fail("round-written", errCrash)
	for range 2 {
		r.service.Step(t.Context())
	}
	r.fail("", nil)
	r.restart()
	r.at(closes.Add(24 * time.Hour))
	for range 4 {
		if err := r.service.Step(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if got := r.newest(s).Plan.Round.Number; got != 3 {
		t.Errorf("round %d, want the third: the second was over before anybody heard of it", got)
	}
}

// Rounds keep the calendar of the first: however late each is decided, the next closes a whole number of lengths after
// the first, also when the analyzer was away for a week. Nobody has less than half a length to answer.
func TestRoundsKeepTheCalendar(t *testing.T) {
	c := collect(t, nil)
	s := studied(t, c, func(s *plan.Study) { s.Rounds = 40 })
	r := start(t, t.TempDir()+"/shelves", c)
	r.wants(r.register(c), created, "")
	const length = 2 * time.Hour
	drifts := 0 // of the twin, whose rounds begin when the one before is decided
	for i, late := range []time.Duration{time.Hour, time.Hour + 7*time.Minute, time.Hour + 59*time.Minute, time.Hour, 7*24*time.Hour + 37*time.Minute, time.Hour} {
		at := r.newest(s).Plan.Times.Closes.Add(late)
		r.at(at)
		for range 3 {
			if err := r.service.Step(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		next := r.newest(s).Plan
		if next.Round.Number != i+2 {
			t.Fatalf("round %d after round %d", next.Round.Number, i+1)
		}
		left := next.Times.Closes.Sub(at)
		if off := next.Times.Closes.Sub(closes) % length; off != 0 || next.Times.Opens.After(at) || left < length/2 || left >= 3*length/2 {
			t.Errorf("round %d, made at %v, is of %v to %v", i+2, at, next.Times.Opens, next.Times.Closes)
		}
		if at.Add(length).Sub(closes)%length != 0 {
			drifts++
		}
	}
	if drifts == 0 {
		t.Error("rounds that begin when one is decided keep the calendar")
	}
}

// Every round is charged to the population with the first, where everybody may answer all.
func TestAStudyOfEveryRoundIsChargedWhole(t *testing.T) {
	charged := func(takes string, budget float64) (int, progress.Spent) {
		c := collect(t, nil)
		studied(t, c, func(s *plan.Study) { s.Takes = takes })
		r := start(t, t.TempDir()+"/shelves", c)
		r.budget.Epsilon, r.budget.Delta = budget, 1e-4
		r.restart()
		w := r.register(c)
		b, err := r.service.Budget(t.Context(), "residents")
		if err != nil || (w.Code == created) != (len(b.Plans) == 1) {
			t.Fatalf("%d, %+v, %v", w.Code, b.Plans, err)
		}
		return w.Code, append(b.Plans, progress.Spent{})[0]
	}
	_, one := charged(plan.TakesOne, 100)
	_, all := charged(plan.TakesAll, 100)
	if math.Abs(all.Epsilon-3*one.Epsilon) > 1e-9 || math.Abs(all.Delta-3*one.Delta) > 1e-12 || !strings.Contains(all.Note, "all 3 rounds") {
		t.Errorf("%+v, one round %+v", all, one)
	}
	if d := all.Counted.Domination.Shift / one.Counted.Domination.Shift; math.Abs(d-math.Sqrt(3)) > 1e-9 {
		t.Errorf("the shift of three rounds is %v that of one", d)
	}
	if code, _ := charged(plan.TakesOne, 1.1*one.Epsilon); code != created {
		t.Error("a study of one round each does not fit where one round does")
	}
	if code, _ := charged(plan.TakesAll, 1.1*one.Epsilon); code == created {
		t.Error("three rounds fit where one does")
	}
}

// A public state is kept for whoever names it, and given to anybody.
func TestStatesAreGivenByTheirHash(t *testing.T) {
	both(t, func(t *testing.T, dsn string) {
		c := collect(t, nil)
		r := start(t, dsn, c)
		state := []byte("a public state")
		hash, err := wire.ParsePlanName(plan.StateName(state))
		if err != nil {
			t.Fatal(err)
		}
		path := wire.StatePath(hash)
		r.wants(r.get(path), 404, wire.NotFound)
		r.wants(r.do("PUT", path, wire.StateType, []byte("another")), 400, wire.BadRequest)
		r.wants(r.do("PUT", path, wire.BatchType, state), 415, wire.UnsupportedMediaType)
		for range 2 {
			r.wants(r.do("PUT", path, wire.StateType, state), created, "")
		}
		r.restart()
		if w := r.get(path); w.Code != ok || w.Body.String() != string(state) {
			t.Errorf("%d, %q", w.Code, w.Body)
		}
	})
}
