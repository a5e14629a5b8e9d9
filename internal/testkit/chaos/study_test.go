package chaos

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/client"
	"github.com/confetti-dp/confetti/client/native"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/internal/service/analyzerd"
	"github.com/confetti-dp/confetti/internal/service/analyzerd/rows"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
)

// study is what an omniscient observer knows of one.
type study struct {
	rounds  []plan.Signed       // that devices may know of, in their order
	knows   map[int]plan.Signed // the round that a device has heard of last
	names   map[int]string      // of rounds that were under way to a hop or the issuer, by number
	files   map[string][32]byte // digests of the releases that somebody has read, by path
	clocked bool                // the analyzer's clock was wrong
}

func (r *ring) coordinator() ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed(bytes.Repeat([]byte{78}, ed25519.SeedSize))
}

// firstRound is the first round of a study that asks the plan.
func (r *ring) firstRound(p plan.Plan, s shape) (plan.Signed, error) {
	times := p.Times
	p.Times = plan.Times{}
	of := plan.Study{
		Version: plan.StudyVersion, Plan: p, Rounds: s.rounds, Takes: s.takes, Withheld: plan.WithheldRepeats,
		Coordinator: plan.Publisher(r.coordinator().Public().(ed25519.PublicKey)),
		Times:       plan.Times{Opens: times.Opens, Closes: times.Opens.Add(time.Duration(s.rounds) * 10 * time.Hour)},
	}
	if err := of.Validate(); err != nil {
		return plan.Signed{}, err
	}
	return plan.SignStudy(of, r.publisher).Round(1, "", times, r.coordinator())
}

// roundPoints are what only an analyzer of a study passes.
var roundPoints = slices.Concat(analyzerd.RoundFailpoints, rows.RoundFailpoints, []string{"rows/register", "rows/register/committed"})

// drawStudy makes the schedule of a study. One crash of it goes in turn through all steps
// by which a study goes on. Devices come late, or not at all; which round a device draws,
// of a study that takes one of each, is not the schedule's.
func drawStudy(seed uint64) schedule {
	r := seeded.New(seed, 3)
	s := schedule{shape: shape{hops: []int{1 + r.IntN(2)}, minimum: 2, devices: 8 + r.IntN(maxDevices-7), crowds: 1, rounds: 2 + r.IntN(2), takes: plan.TakesOne}}
	if r.IntN(2) == 0 {
		s.shape.takes = plan.TakesAll
	} else {
		s.shape.rounds, s.shape.tokens = 2, r.IntN(2) == 0
	}
	s.events = append(s.events, event{do: "crash at", who: "analyzer", at: roundPoints[seed%uint64(len(roundPoints))]})
	w := &world{shape: s.shape}
	pick := func() string { names := w.services(); return names[r.IntN(len(names))] }
	for range s.shape.rounds {
		for _, name := range w.services() {
			s.events = append(s.events, event{do: "restart", who: name})
		}
		for _, d := range r.Perm(s.shape.devices) {
			switch {
			case r.IntN(6) == 0: // it misses the round, unless it has come before
			case r.IntN(6) == 0:
				s.events = append(s.events, event{do: "deliver", who: deviceName(d)})
			default:
				s.events = append(s.events, event{do: "report", who: deviceName(d)})
			}
			if r.IntN(3) == 0 {
				s.events = append(s.events, trouble(r, s.shape, pick)...)
			}
		}
		s.events = append(s.events, event{do: "close"})
		for range 2 {
			for _, name := range w.services() {
				s.events = append(s.events, event{do: "step", who: name})
				if r.IntN(4) == 0 {
					s.events = append(s.events, trouble(r, s.shape, pick)...)
				}
			}
		}
		s.events = append(s.events, event{do: "conclude"})
		for range 3 + r.IntN(3) {
			s.events = append(s.events, event{do: "step", who: "analyzer"})
			if r.IntN(3) == 0 {
				s.events = append(s.events, trouble(r, s.shape, pick)...)
			}
		}
	}
	return s
}

// learns has a device ask for the newest round.
func (w *world) learns(ctx context.Context, d int) {
	signed, err := client.FetchRound(ctx, address("analyzer"), w.study.rounds[0].Study.Hash(), w.options(d, func() {}))
	if err != nil {
		w.say("%s hears of no round: %v", deviceName(d), err)
		return
	}
	w.study.knows[d] = signed
}

// known is the round that a device has heard of.
func (s *study) known(d int) plan.Signed {
	if signed, heard := s.knows[d]; heard {
		return signed
	}
	return s.rounds[0]
}

// observeRound sees a round on its way from the analyzer to somebody else.
func (w *world) observeRound(x *parcel) {
	signed, err := plan.ParseSigned(x.body)
	if err != nil {
		w.violation("%s sends what is no round: %v", x.from, err)
		return
	}
	number, name := signed.Plan.Round.Number, signed.Plan.Name()
	if before, there := w.study.names[number]; there && before != name {
		w.violation("%s makes round %d of the study a second time", x.from, number)
	}
	w.study.names[number] = name
}

// hears notes the round that the analyzer tells devices of, and what it publishes.
func (w *world) hears() {
	if w.shape.rounds == 0 || !w.nodes["analyzer"].up() {
		return
	}
	status, _, text := w.call("analyzer", http.MethodGet, wire.StudyPath(w.signed.Study.Hash()), http.Header{}, nil)
	if status == http.StatusOK {
		signed, err := plan.ParseSigned(text)
		if err != nil {
			w.violation("the analyzer tells of what is no round: %v", err)
			return
		}
		w.goesOn(signed)
	}
	for _, round := range w.study.rounds {
		for _, format := range []string{".json", ".html"} {
			path := "/v1/releases/" + round.Plan.Name() + format
			status, _, text := w.call("analyzer", http.MethodGet, path, http.Header{}, nil)
			before, there := w.study.files[path]
			switch digest := sha256.Sum256(text); {
			case status == http.StatusOK && !there:
				w.study.files[path] = digest
			case there && (status != http.StatusOK || before != digest):
				w.violation("%s is another one than before: %d", path, status)
			}
		}
	}
}

// goesOn notes the round that devices may know of from now on: all have it who take part.
func (w *world) goesOn(signed plan.Signed) {
	if signed.Plan.Round.Number <= w.signed.Plan.Round.Number {
		if signed.Plan.Name() != w.signed.Plan.Name() {
			w.violation("the analyzer tells of round %d after round %d", signed.Plan.Round.Number, w.signed.Plan.Round.Number)
		}
		return
	}
	w.say("round %d", signed.Plan.Round.Number)
	proto, err := protocol.New(signed.Plan)
	if err != nil {
		w.violation("round %d: %v", signed.Plan.Round.Number, err)
		return
	}
	w.signed, w.proto = signed, proto
	w.study.rounds = append(w.study.rounds, signed)
	if late := w.study.clocked || !w.now.Before(signed.Plan.Times.Closes); late {
		return
	}
	for _, name := range w.services() {
		if status, _, _ := w.call(name, http.MethodGet, wire.PlanPath(signed.Plan.Hash()), http.Header{}, nil); w.nodes[name].up() && status != http.StatusOK {
			w.violation("devices hear of round %d, and %s does not have it: %d", signed.Plan.Round.Number, name, status)
		}
	}
}

// each looks at all rounds, one after the other.
func (w *world) each(look func()) {
	newest := w.signed
	defer func() { w.signed = newest }()
	for _, signed := range w.study.rounds {
		w.signed = signed
		look() // tallies of all rounds are alike
	}
}

// finishStudy lets a healed study come to its end: everybody answers what rounds there
// still are. Then nothing may have been counted twice, made twice or charged twice, and
// what was published is published still, also after everybody was killed.
func (w *world) finishStudy() {
	for before := 0; before < len(w.study.rounds); {
		before = len(w.study.rounds)
		if w.hears(); len(w.study.rounds) == before {
			break
		}
		for d := range w.shape.devices {
			w.report(d)
		}
		w.conclude()
	}
	for _, name := range w.services() {
		w.nodes[name].crash()
	}
	w.restartAll()
	w.hears()
	w.each(w.compare)
	w.each(w.checkVerdict)
	w.checkOneEach()
	w.checkRounds()
}

// checkOneEach wants nobody in two rounds where each respondent answers one.
func (w *world) checkOneEach() {
	if w.shape.takes != plan.TakesOne {
		return
	}
	times := map[string]int{}
	w.each(func() {
		counts := w.counted()
		for _, c := range w.claims() {
			if batch, released := counts[[2]int{int(c.instance), int(c.crowd)}]; released && c.plan == w.signed.Plan.Hash() && c.cell < maxDevices {
				times[c.who] += int(batch[c.cell])
			}
		}
	})
	for who, n := range times {
		if n > 1 {
			w.violation("%s was counted in %d rounds of a study that takes one of each", who, n)
		}
	}
}

// checkRounds wants each round once, each followed by the next, the last by the reason why
// the study is over, and one charge for all.
func (w *world) checkRounds() {
	ctx, db := w.ctx(), w.nodes["analyzer"].store
	plans, err := db.Plans(ctx)
	if err != nil || len(plans) != len(w.study.rounds) || len(plans) > w.shape.rounds {
		w.violation("the analyzer has %d rounds, and devices heard of %d: %v", len(plans), len(w.study.rounds), err)
		return
	}
	for i, signed := range w.study.rounds {
		next, err := db.Following(ctx, signed.Plan.Name())
		last := i == len(w.study.rounds)-1
		if err != nil || next.Announced.IsZero() || last != (next.Reason != "") || !last && !bytes.Equal(next.Signed, w.study.rounds[i+1].Marshal()) {
			w.violation("round %d is not followed by what devices heard: %v", i+1, err)
		}
		if p, err := db.Plan(ctx, signed.Plan.Name()); err == nil && p.Released {
			seen.add("round released")
		} else {
			seen.add("round withheld")
		}
	}
	charged, err := db.Spendings(ctx, "all")
	charged = slices.DeleteFunc(charged, func(s rows.Spending) bool { return s.Epsilon == 0 })
	if err != nil || len(charged) != 1 {
		w.violation("the population was charged %d times: %v", len(charged), err)
	}
}

// A study of several rounds comes to its end, whatever befalls its services, devices and
// links: each round is made once and known to all who take part, nobody is lost, counted
// twice in a round or, where each answers one, in two, and a release stays as it is.
func TestStudies(t *testing.T) {
	if *oneSeed != 0 {
		tellDrawn(t, *oneSeed, drawStudy(*oneSeed))
		return
	}
	n := (*schedules + 19) / 20
	for i := range uint64(n) {
		if checkDrawn(t, *firstSeed+i, drawStudy(*firstSeed+i)); t.Failed() {
			return
		}
	}
	t.Logf("%d studies: %d rounds released, %d withheld", n, seen.count("round released"), seen.count("round withheld"))
	for _, point := range roundPoints {
		if n >= len(roundPoints) && seen.count("crash of analyzer at "+point) == 0 {
			t.Errorf("no study has seen a crash of the analyzer at %s", point)
		}
	}
	if n >= len(roundPoints) && seen.count("round released") == 0 {
		t.Error("no round was released")
	}
}

// quiet is the schedule of a study in which everybody comes in time, and the analyzer is
// killed when it has made a round.
func quiet(takes string) schedule {
	s := schedule{shape: shape{hops: []int{1}, minimum: 2, devices: maxDevices, crowds: 1, rounds: 2, takes: takes}}
	for range s.shape.rounds {
		for d := range s.shape.devices {
			s.events = append(s.events, event{do: "report", who: deviceName(d)})
		}
		s.events = append(s.events, event{do: "close"}, event{do: "step", who: hopName(0, 0)}, event{do: "conclude"},
			event{do: "step", who: "analyzer"}, event{do: "step", who: "analyzer"}, event{do: "crash", who: "analyzer"},
			event{do: "clock", who: "analyzer", n: 60}, event{do: "step", who: "analyzer"}, event{do: "clock", who: "analyzer"})
	}
	return s
}

// Bugs that only a study has are caught, and a study without them is none the worse.
func TestPlantedBugsOfStudiesAreCaught(t *testing.T) {
	for name, twin := range map[string]struct {
		plant func(*world)
		takes string
		says  string
	}{
		// A round that the analyzer has made and brought to the others is not on its disk any
		// more after a crash: it makes another one.
		"an analyzer whose disk forgets": {forgets("analyzer"), plan.TakesAll, "a second time"},
		// Installed again, a device draws again, and nobody asks for tokens that would tell.
		"a device that forgets what it has drawn": {func(w *world) {
			rounds := 1
			w.tick = func() {
				if len(w.study.rounds) == rounds {
					return
				}
				rounds = len(w.study.rounds)
				for d := range w.shape.devices {
					w.readLedger(d)
					dir := w.nodes[deviceName(d)].dir
					if os.RemoveAll(dir) != nil || os.Mkdir(dir, 0o700) != nil || client.Consent(native.Folder{Path: dir}, true) != nil {
						w.say("no new folder for device %d", d)
					}
				}
			}
		}, plan.TakesOne, "rounds of a study that takes one"},
	} {
		t.Run(name, func(t *testing.T) {
			run := func(plant func(*world)) (said []string, caught bool) {
				w, err := quiet(twin.takes).run(name, plant)
				if err != nil {
					t.Fatal(err)
				}
				return w.violations, slices.ContainsFunc(w.violations, func(v string) bool { return strings.Contains(v, twin.says) })
			}
			// A device of two rounds that has forgotten its draw answers twice once in four
			// times: that none of twelve does happens in 3 of a hundred runs, and in 3 of 10^8
			// times five.
			caught := false
			for range 5 {
				if _, caught = run(twin.plant); caught {
					break
				}
			}
			if said, _ := run(nil); !caught || len(said) > 0 {
				t.Errorf("the planted bug was caught: %v; without it: %q", caught, said)
			}
		})
	}
}
