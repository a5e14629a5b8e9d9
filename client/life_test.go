package client_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/client"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/plan"
)

var sequences = flag.Int("sequences", 250, "random lives of a device that are compared with the model")

// life is one device's, as it goes on.
type life struct {
	r     *rand.Rand
	polls []poll
	twin  string
	store *shelf
	// compacts is the device's LedgerBytes: of every other one it compacts at each turn.
	compacts int
	now      time.Time
	caps     client.Caps
	policy   *client.Caps
	in       bool
	model    model
	known    map[string]*client.Client // programs that run on
	joined   map[string]int            // which round of a study it has drawn
	drawn    map[string]string         // the backstop of a value, and of a backstop
	log      []string
}

// fault is where a device and the model differ.
type fault struct{ kind, what string }

func (f *fault) Error() string { return f.kind + ": " + f.what }

// The caps of a life: each is met with a part of an answer to spare.
var lifeCaps = []client.Caps{
	{Window: client.Cap{Epsilon: 4.2, Delta: 1e-3}, Period: 24 * time.Hour},
	{Window: client.Cap{Epsilon: 4.2}, Period: 24 * time.Hour},
	{Window: client.Cap{Delta: 4.2e-6}, Period: 24 * time.Hour},
	{Window: client.Cap{Local: 4.2}, Period: 24 * time.Hour},
	{Window: client.Cap{Local: 1.2}, Period: 24 * time.Hour},
	{Window: client.Cap{Epsilon: 12.3, Delta: 1e-2, Local: 2.2}, Period: 24 * time.Hour},
	{Window: client.Cap{Epsilon: 4.2, Delta: 1e-3, Local: 5.2}, Period: 8 * time.Hour},
	{Plan: client.Cap{Epsilon: 3.2}, Window: client.Cap{Epsilon: 6.2, Delta: 1e-4}, Period: 72 * time.Hour},
	{Plan: client.Cap{Local: 3.2}, Window: client.Cap{Local: 3.2}, Period: 72 * time.Hour},
}

// everyCap are those in force.
func (l *life) everyCap() []client.Caps {
	all := []client.Caps{l.caps}
	if l.policy != nil {
		all = append(all, *l.policy)
	}
	return all
}

func (l *life) changeCaps() {
	l.caps, l.policy = lifeCaps[l.r.IntN(len(lifeCaps))], nil
	if l.r.IntN(3) == 0 {
		l.policy = &lifeCaps[l.r.IntN(len(lifeCaps))]
	}
	l.known = map[string]*client.Client{}
}

// program is one that answers a poll: the one that runs, or another.
func (l *life) program(p poll, again bool, die string, services carrier) (*client.Client, error) {
	if c, runs := l.known[p.name]; runs && !again {
		return c, nil
	}
	l.store.kept["checked"] = p.signed.checked
	c, err := client.Open(p.signed.Signed, client.Options{
		Store: l.store, Transport: services, Publishers: trusted, Program: "model", Caps: l.caps, Delay: client.NoDelay, LedgerBytes: l.compacts,
		Now: func() time.Time { return l.now },
		Policy: func() (client.Policy, error) {
			return client.Policy{Caps: l.policy}, nil
		},
		Failpoint: func(step string) error {
			if step == die {
				return errDied
			}
			return nil
		},
	})
	if err != nil {
		return nil, err
	}
	c.SetRand(seeded.New(l.r.Uint64()))
	if l.twin != "" && client.Twins[l.twin] != nil {
		c.Follow(l.twin)
	}
	if !again {
		l.known[p.name] = c
	}
	return c, nil
}

// live goes through one life of so many steps, and stops at the first fault.
func live(all []poll, number uint64, steps int, twin string) (l *life, err error) {
	l = &life{r: seeded.New(20, number), twin: twin, store: newShelf(), now: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), joined: map[string]int{}, drawn: map[string]string{}, in: true, compacts: int(number % 2)}
	if err := client.Consent(l.store, true); err != nil {
		return l, err
	}
	l.changeCaps()
	l.polls = l.someOf(all)
	for range steps {
		l.elapse()
		switch n := l.r.IntN(100); {
		case n < 76:
			err = l.ask()
		case n < 82:
			l.changeCaps()
		case n < 84 || !l.in && n < 92:
			l.in = !l.in
			err = client.Consent(l.store, l.in)
		default:
			err = l.deliver()
		}
		if err == nil {
			err = l.compare()
		}
		if err != nil {
			return l, err
		}
	}
	return l, nil
}

// someOf are what is asked in one life: three plans by themselves, and three studies.
func (l *life) someOf(all []poll) (some []poll) {
	alone, studies := map[string]bool{}, map[string]bool{}
	for _, i := range l.r.Perm(len(all)) {
		if p := all[i]; p.study == "" && len(alone) < 3 {
			alone[p.name] = true
		} else if p.study != "" && len(studies) < 3 {
			studies[p.study] = true
		}
	}
	for _, p := range all {
		if alone[p.name] || studies[p.study] {
			some = append(some, p)
		}
	}
	return some
}

// elapse moves the clock, as a rule forwards.
func (l *life) elapse() {
	hours := []float64{0.1, 0.1, 0.1, 2, 7, 13, 24.1, 25, 75, -9, -30}[l.r.IntN(11)]
	if hours < 0 && l.r.IntN(3) > 0 {
		hours = 1
	}
	l.now = l.now.Add(time.Duration(hours * float64(time.Hour)))
}

// pick is the next poll: as a rule one that was not answered, and of a study the next round.
func (l *life) pick() poll {
	p := l.polls[l.r.IntN(len(l.polls))]
	if !l.answered(p) && (p.study == "" || l.r.IntN(4) == 0) || l.r.IntN(12) == 0 {
		return p
	}
	for _, next := range l.polls {
		if (p.study == "" || next.study == p.study) && !l.answered(next) {
			return next
		}
	}
	return p
}

func (l *life) answered(p poll) bool {
	for _, s := range l.model {
		if s.name == p.name || p.study != "" && s.study == p.study && (p.takesOne || s.number == p.number) {
			return true
		}
	}
	return false
}

// ask has the device asked, and follows what it does.
func (l *life) ask() error {
	p, value := l.pick(), l.r.IntN(2)
	die := []string{"", "", "", "", "", "", "answer-drawn", "answer-spent"}[l.r.IntN(8)]
	c, err := l.program(p, die != "" || l.r.IntN(2) == 0, die, carrier{})
	if err != nil {
		return err
	}
	want, ok := l.model.decide(p, value, l.now, l.everyCap())
	err = c.Answer(drink([]string{"coffee", "tea"}[value]))
	l.log = append(l.log, fmt.Sprintf("%s: %s, %d: %v", l.now.Format("2 Jan 15:04"), p.name, value, err))
	_, spent := errors.AsType[*client.SpentError](err)
	other, another := errors.AsType[*client.OtherRoundError](err)
	switch {
	case !l.in:
		return l.expect(errors.Is(err, client.ErrNotOptedIn), "opted out: %v", err)
	case l.answered(p):
		return l.expect(errors.Is(err, client.ErrAnswered), "a second answer: %v", err)
	case another:
		drawn, known := l.joined[p.study]
		l.joined[p.study] = other.Round
		return l.expect(p.takesOne && (!known || drawn == other.Round), "of a study it answers round %d, and drew %d", other.Round, drawn)
	case die == "answer-drawn" && errors.Is(err, errDied):
		return l.expect(ok, "%s was drawn beyond what caps leave", p.name)
	case err != nil && !spent && !errors.Is(err, errDied):
		return err
	}
	kept, err := client.ReadLedger(l.store)
	if err != nil {
		return err
	}
	if spent {
		return l.expect(!ok && len(kept.Entries) == len(l.model), "%s is refused, and there is room", p.name)
	}
	e := kept.Entries[len(kept.Entries)-1]
	did := said{poll: p, at: e.At}
	if e.Backed != nil {
		did.key, did.term = string(e.Backed.Key), e.Backed.Term
	}
	before := l.model
	l.model = append(l.model, did)
	if l.drawn[did.key] = did.key; l.drawn[want.key] == "" && !before.has(did.key) {
		l.drawn[want.key] = did.key // of a value that was not said before
	}
	if err := l.withinCaps(); err != nil {
		return err
	}
	return errors.Join(
		l.expect(ok && len(kept.Entries) == len(l.model), "%s is answered, and there is no room", p.name),
		l.expect(!p.fragmented() || did.term.Equal(want.term), "the backstop's term began %v, and should %v", did.term, want.term),
		l.expect(e.Reused == before.has(did.key), "a backstop that was drawn before: %v, and the ledger says %v", before.has(did.key), e.Reused),
		l.expect(!p.fragmented() || l.drawn[want.key] == did.key, "another backstop is said than the one that stands, or the value's"),
	)
}

// has reports whether something came from the backstop.
func (m model) has(key string) bool {
	for _, s := range m {
		if key != "" && s.key == key {
			return true
		}
	}
	return false
}

// expect is a fault where the model's rule is not kept; a twin, which keeps another, goes on.
func (l *life) expect(ok bool, what string, a ...any) error {
	if ok || l.twin != "" {
		return nil
	}
	return &fault{"rule", fmt.Sprintf(what, a...)}
}

// deliver has an answer sent, refused for good, or neither. It changes nothing of what counts.
func (l *life) deliver() error {
	if len(l.model) == 0 {
		return nil
	}
	s := l.model[l.r.IntN(len(l.model))]
	services := carrier{takes: l.r.IntN(2) == 0}
	if l.r.IntN(2) == 0 {
		w, err := plan.Withdraw(plan.Withdrawal{Plan: s.signed.Plan.Hash(), At: l.now, Reason: "the question was misleading"}, publisher)
		if err != nil {
			return err
		}
		services.withdrawn = w.Marshal()
	}
	c, err := l.program(s.poll, true, "", services)
	if err != nil {
		return err
	}
	before, err := client.ReadLedger(l.store)
	if err != nil {
		return err
	}
	err = c.Deliver(context.Background())
	l.log = append(l.log, fmt.Sprintf("%s: %s is delivered, withdrawn %v, taken %v: %v", l.now.Format("2 Jan 15:04"), s.name, services.withdrawn != nil, services.takes, err))
	after, err := client.ReadLedger(l.store)
	if err != nil {
		return err
	}
	const ever = 1000 * time.Hour
	return l.expect(before.Spent(l.now, ever) == after.Spent(l.now, ever), "an answer that is sent, dropped or waits changes what was spent")
}

// Devices that are asked, restarted, killed, set to another time, given other caps, opted in
// and out and told of withdrawals, at random: what is exposed is never more than the ledger
// says, nor after an answer than a cap allows; what it prints is what counts, and it refuses
// nothing that has room. 10,000 of them: go test ./client -run FollowsItsModel -sequences 10000
func TestTheLedgerFollowsItsModel(t *testing.T) {
	all := polls(t)
	answers := 0
	for i := range *sequences {
		l, err := live(all, uint64(i), 24, "")
		if err != nil {
			t.Fatalf("life %d under %+v and %+v: %v\n%s", i, l.caps, l.policy, err, strings.Join(l.log, "\n"))
		}
		answers += len(l.model)
	}
	if answers < 3**sequences {
		t.Errorf("%d answers in %d lives test nothing", answers, *sequences)
	}
	t.Logf("%d answers in %d lives", answers, *sequences)
}

// Each wrong rule exposes more than a cap allows, or than the ledger says, in one of the lives.
func TestTheModelCatchesWrongRules(t *testing.T) {
	all := polls(t)
	twins := []string{"the whole study is waived"}
	for name := range client.Twins {
		twins = append(twins, name)
	}
	for _, twin := range twins {
		caught := map[string]int{}
		for i := 0; i < 500 && caught["exposed"]+caught["spent"] == 0; i++ {
			_, err := live(all, uint64(i), 24, twin)
			f, is := errors.AsType[*fault](err)
			if err != nil && !is {
				t.Fatal(err)
			}
			if is {
				caught[f.kind]++
				t.Logf("%s, life %d: %v", twin, i, f)
			}
		}
		if caught["exposed"]+caught["spent"] == 0 {
			t.Errorf("%s: not caught: %v", twin, caught)
		}
	}
}
