package client

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/dp/randomize"
)

// ask is a plan of report fragments about one of two cells, and the cell that a
// respondent holds when it comes.
type ask struct {
	question  int
	fragment  randomize.OneHot
	fragments int
	after     time.Duration // since the plan before it
	value     int
}

// The backstops of two questions: one symmetric, one asymmetric, under which two
// views of a backstop can tell more than twice what one of them does.
var backstopsAsked = []randomize.OneHot{{K: 2, Keep: 0.9, Flip: 0.1}, {K: 2, Keep: 0.5, Flip: 0.01}}

const askPeriod = time.Hour

func drawAsks(t *rapid.T) []ask {
	asks := make([]ask, rapid.IntRange(1, 7).Draw(t, "plans"))
	for i := range asks {
		flip := rapid.SampledFrom([]float64{1e-6, 0.05, 0.3, 0.45}).Draw(t, "flip")
		keep := rapid.SampledFrom([]float64{1 - flip, 0.5}).Draw(t, "keep")
		asks[i] = ask{
			question: rapid.IntRange(0, 1).Draw(t, "question"), fragment: randomize.OneHot{K: 2, Keep: keep, Flip: flip},
			fragments: rapid.IntRange(1, 2).Draw(t, "fragments"), value: rapid.IntRange(0, 1).Draw(t, "value"),
			after: time.Duration(rapid.Int64Range(0, int64(askPeriod*5/4)).Draw(t, "after")),
		}
	}
	return asks
}

func (a ask) questionName() []byte { b := sha256.Sum256([]byte{byte(a.question)}); return b[:] }

// key is where the backstop of the value is kept.
func (a ask) key() []byte { b := sha256.Sum256([]byte{byte(a.question), byte(a.value)}); return b[:] }

func (a ask) charge() Charge {
	return Charge{Epsilon: 0.1, Delta: 1e-9, Local: backstopsAsked[a.question].LocalSet(1, account.Replacement).Epsilon}
}

// told is what the device has said of a plan: from which backstop, and when.
type told struct {
	ask
	at  time.Time
	key string
}

// answerAll lets a ledger answer the plans one after the other; refused[i] tells
// that it would not.
func answerAll(t interface{ Fatal(...any) }, asks []ask, caps []Caps) (l *Ledger, all []told, refused []bool) {
	l = &Ledger{backstops: map[[32]byte][]byte{}}
	now := someTime
	for i, a := range asks {
		now = now.Add(a.after)
		stands, err := l.afford(now, caps, costs(a.charge(), a.questionName()))
		refused = append(refused, err != nil)
		if err != nil {
			continue
		}
		key := a.key()
		if stands.Key != nil {
			key = stands.Key
		}
		name := sha256.Sum256([]byte{byte(i)})
		r := record{Kind: kindSpent, At: now, Plan: hex.EncodeToString(name[:]), Backstops: []keptBackstop{{key, []byte{1}}}, Spent: &spending{
			Charge: a.charge(), Backed: &Backed{stands.Question, key, stands.Term}, Parts: []spokenPart{{}},
		}}
		if !l.apply(r) {
			t.Fatal("a record that makes no sense")
		}
		all = append(all, told{a, now, string(key)})
	}
	return l, all, refused
}

// exposure is the exact epsilon (replacement) of fragments of one backstop, by all
// that they can be: each of the two cells' bits falls one way.
func exposure(backstop randomize.OneHot, fragments []randomize.OneHot) float64 {
	up, down := 0.0, 0.0
	for seen := range 1 << len(fragments) {
		of := func(bit bool) float64 { // P(seen | the backstop's bit)
			p := 1.0
			for i, f := range fragments {
				one := f.Flip
				if bit {
					one = f.Keep
				}
				if seen>>i&1 == 0 {
					one = 1 - one
				}
				p *= one
			}
			return p
		}
		held := backstop.Keep*of(true) + (1-backstop.Keep)*of(false)
		other := backstop.Flip*of(true) + (1-backstop.Flip)*of(false)
		up, down = math.Max(up, math.Log(held/other)), math.Max(down, math.Log(other/held))
	}
	return up + down
}

// exposed is what everyone together learns from the answers that satisfy in, and
// from all else that came from the same backstops.
func exposed(all []told, in func(told) bool) float64 {
	sum := 0.0
	counted := map[string]bool{}
	for _, one := range all {
		if !in(one) || counted[one.key] {
			continue
		}
		counted[one.key] = true
		var fragments []randomize.OneHot
		for _, a := range all {
			if a.key == one.key {
				fragments = append(fragments, slices.Repeat([]randomize.OneHot{a.fragment}, a.fragments)...)
			}
		}
		sum += exposure(backstopsAsked[one.question], fragments)
	}
	return sum
}

// underCharged finds a period within which more was exposed than the ledger's total
// says.
func underCharged(all []told, total func(now time.Time) float64) error {
	for _, one := range all {
		for _, now := range []time.Time{one.at, one.at.Add(askPeriod - 1)} {
			exact := exposed(all, func(o told) bool { return o.at.After(now.Add(-askPeriod)) && !o.at.After(now) })
			if sum := total(now); exact > sum*(1+1e-12) {
				return fmt.Errorf("everyone together learns %v within a period, and the ledger's total is %v", exact, sum)
			}
		}
	}
	return nil
}

// localCap is a program's cap, and sometimes an administrator's on a longer period.
func localCap(t *rapid.T) []Caps {
	cap := rapid.SampledFrom([]float64{0, 1, 5, 10, 15, 30}).Draw(t, "cap")
	caps := []Caps{{Window: Cap{Local: cap}, Period: askPeriod}}
	if rapid.Bool().Draw(t, "two caps") {
		caps = append(caps, Caps{Window: Cap{Local: 30}, Period: 4 * askPeriod})
	}
	return caps
}

// Whatever is asked, in whatever order and with whatever noise, and however the
// value changes: in no period does everyone together learn more than the ledger says
// was spent, nor than a cap allows.
func TestLocalTotalsCoverWhatIsExposed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		asks, caps := drawAsks(t), localCap(t)
		l, all, _ := answerAll(t, asks, caps)
		upTo := func(now time.Time) *Ledger { // what is in the future is not there yet
			past := &Ledger{backstops: l.backstops}
			for _, e := range l.Entries {
				if !e.At.After(now) {
					past.Entries = append(past.Entries, e)
				}
			}
			return past
		}
		if err := underCharged(all, func(now time.Time) float64 { return upTo(now).Spent(now, askPeriod).Local }); err != nil {
			t.Fatal(err)
		}
		if cap := caps[0].Window.Local; cap > 0 {
			if err := underCharged(all, func(time.Time) float64 { return cap }); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// The rule that counts each answer by its own fragments, and one that says a kept
// backstop again as nothing, is caught: by noisy fragments first and bare ones after,
// and by an answer that is repeated when its charge is forgotten.
func TestChargingByFragmentsIsCaught(t *testing.T) {
	byFragments := func(all []told) func(now time.Time) float64 {
		return func(now time.Time) float64 {
			sum := 0.0
			drawn := map[string]bool{}
			for _, a := range all {
				if !drawn[a.key] && a.at.After(now.Add(-askPeriod)) && !a.at.After(now) {
					sum += exposure(backstopsAsked[a.question], slices.Repeat([]randomize.OneHot{a.fragment}, a.fragments))
				}
				drawn[a.key] = true
			}
			return sum
		}
	}
	noisy, bare := randomize.OneHot{K: 2, Keep: 0.55, Flip: 0.45}, randomize.OneHot{K: 2, Keep: 1 - 1e-6, Flip: 1e-6}
	for name, asks := range map[string][]ask{
		"noisy, then bare":   {{fragment: noisy, fragments: 2}, {fragment: bare, fragments: 2, after: time.Minute}},
		"again when it ends": {{fragment: bare, fragments: 1}, {fragment: bare, fragments: 1, after: askPeriod + time.Minute}},
		"noisy many times":   {{fragment: noisy, fragments: 2}, {fragment: noisy, fragments: 2}, {fragment: noisy, fragments: 2}},
	} {
		_, all, _ := answerAll(t, asks, nil)
		if underCharged(all, byFragments(all)) == nil {
			t.Errorf("%s: not caught", name)
		}
	}
}

// A term that stands for the longer of two periods is not free in the shorter one, once
// nothing of it was said there: two backstops within an hour are two, whenever they were
// drawn.
func TestATermIsCountedInEveryPeriod(t *testing.T) {
	bare := randomize.OneHot{K: 2, Keep: 1 - 1e-6, Flip: 1e-6}
	asks := []ask{{question: 0, fragment: bare, fragments: 1}, {question: 1, fragment: bare, fragments: 1, after: 2 * askPeriod}, {question: 0, fragment: bare, fragments: 1, after: time.Minute}}
	hourly := Cap{Local: max(asks[0].charge().Local, asks[1].charge().Local)}
	_, all, refused := answerAll(t, asks, []Caps{{Window: hourly, Period: askPeriod}, {Window: Cap{Local: 100}, Period: 24 * askPeriod}})
	if err := underCharged(all, func(time.Time) float64 { return hourly.Local }); err != nil || !slices.Equal(refused, []bool{false, false, true}) {
		t.Errorf("refused %v: %v", refused, err)
	}
}

// Who hears whether a device answers learns nothing of its values: what is refused,
// and what counts, is the same whatever they are.
func TestRefusalsDoNotDependOnValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		asks, caps := drawAsks(t), localCap(t)
		l, _, refused := answerAll(t, asks, caps)
		other := slices.Clone(asks)
		for i := range other {
			other[i].value = rapid.IntRange(0, 1).Draw(t, "other value")
		}
		m, _, otherwise := answerAll(t, other, caps)
		now := someTime
		for _, a := range asks {
			now = now.Add(a.after)
		}
		if !slices.Equal(refused, otherwise) || l.counted(now, askPeriod) != m.counted(now, askPeriod) {
			t.Fatalf("refused %v with one set of values and %v with another", refused, otherwise)
		}
		// A cap that comes later finds the same count.
		later := []Caps{{Window: Cap{Local: 10}, Period: askPeriod}}
		for _, q := range asks {
			_, a := l.afford(now, later, costs(q.charge(), q.questionName()))
			_, b := m.afford(now, later, costs(q.charge(), q.questionName()))
			if (a == nil) != (b == nil) {
				t.Fatal("a later cap tells values apart")
			}
		}
	})
}

// Within a term the first answer stands, for nothing; after it the value of the time
// is heard again, if there is room for another backstop, and the old answer goes on
// if there is not.
func TestTermsOfBackstops(t *testing.T) {
	fragment := randomize.OneHot{K: 2, Keep: 0.7, Flip: 0.3}
	one := ask{fragment: fragment, fragments: 1}.charge().Local
	weekly := func(values ...int) (asks []ask) {
		for _, v := range values {
			asks = append(asks, ask{fragment: fragment, fragments: 1, value: v, after: askPeriod * 2 / 5})
		}
		return asks
	}
	for name, c := range map[string]struct {
		cap   float64
		asks  []ask
		heard []int
	}{
		"no cap":         {0, weekly(0, 1, 1, 0), []int{0, 1, 1, 0}},
		"room for two":   {2.1 * one, weekly(0, 1, 1, 1, 0, 0, 0), []int{0, 0, 0, 1, 1, 1, 0}},
		"room for one":   {1.1 * one, weekly(0, 1, 1, 1, 1, 1), []int{0, 0, 0, 0, 0, 0}},
		"one, and pause": {1.1 * one, []ask{{fragment: fragment, fragments: 1}, {fragment: fragment, fragments: 1, value: 1, after: askPeriod}}, []int{0, 1}},
	} {
		_, all, _ := answerAll(t, c.asks, []Caps{{Window: Cap{Local: c.cap}, Period: askPeriod}})
		var heard []int
		for _, a := range all {
			heard = append(heard, slices.IndexFunc([]int{0, 1}, func(v int) bool { return string(ask{value: v}.key()) == a.key }))
		}
		if !slices.Equal(heard, c.heard) {
			t.Errorf("%s: heard %v, want %v", name, heard, c.heard)
		}
	}
}
