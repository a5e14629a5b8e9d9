package client_test

import (
	"fmt"
	"math"
	"time"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/client"
)

// The model is a second bookkeeping, by what docs say and by no code of the ledger's: what a
// device has said, when, and from which backstop. It says what is exposed, by the laws of
// what was said, and which answers a device may give.

// poll is what a device is asked once.
type poll struct {
	name     string
	one      client.Charge // of one answer
	epsilon  float64       // of the randomized response; 0: of fragments
	study    string        // "": none
	rounds   int           // of the study
	takesOne bool
	number   int
	signed   signedPoll
}

// fragmented reports whether the answer comes from a backstop, which all of them share.
func (p poll) fragmented() bool { return p.epsilon == 0 }

// said is one answer.
type said struct {
	poll
	at   time.Time
	term time.Time // of its backstop; zero where no cap asks for one
	key  string    // of its backstop
}

// model is all that a device has said, in that order.
type model []said

// spent is one thing that a filter counts.
type spent struct{ epsilon, delta, shift, tail float64 }

// times is what so many answers of a kind cost.
func (p poll) times(k int) (spent, float64) {
	n := float64(k)
	return spent{n * p.one.Epsilon, n * p.one.Delta, math.Sqrt(n) * p.one.Shift, n * p.one.Tail}, n * p.one.Local
}

// whole is how many answers the first one to a poll's study is charged for.
func (p poll) whole() int {
	if p.study == "" || p.takesOne {
		return 1
	}
	return p.rounds
}

// first is when the study of a poll was answered first; ok is false where it was not, or
// each answers one round.
func (m model) first(p poll) (first said, ok bool) {
	for _, s := range m {
		if p.study != "" && !p.takesOne && s.study == p.study {
			return s, true
		}
	}
	return first, false
}

// counts are what counts in the period that ends now.
func (m model) counts(now time.Time, period time.Duration) (all []spent, local float64) {
	seen := map[string]bool{}
	for i, s := range m {
		if !s.at.After(now.Add(-period)) {
			continue
		}
		first, ok := m.first(s.poll)
		isFirst := ok && first.name == s.name
		switch {
		case isFirst:
			one, l := s.times(s.whole())
			if all = append(all, one); !s.fragmented() {
				local += l
			}
		case ok && first.at.After(now.Add(-period)): // it was charged for this one
		default:
			one, l := s.times(1)
			if all = append(all, one); !s.fragmented() {
				local += l
			}
		}
		if s.fragmented() {
			name := fmt.Sprint(s.term.UnixNano())
			if s.term.IsZero() {
				name = fmt.Sprint("by itself ", i)
			}
			if !seen[name] {
				local += s.one.Local
			}
			seen[name] = true
		}
	}
	return all, local
}

func sums(all []spent) (epsilon, delta float64) {
	for _, s := range all {
		epsilon, delta = epsilon+s.epsilon, delta+s.delta
	}
	return epsilon, delta
}

// parts are what is taken of a cap on both epsilon and delta: of the shifts, tails, epsilons
// and deltas that it has room for.
func parts(c client.Cap, all []spent) (shifts, tails, epsilons, deltas float64) {
	f, err := account.NewFilter(c.Epsilon, c.Delta)
	if err != nil {
		panic(err)
	}
	for _, s := range all {
		shifts, tails = shifts+s.shift*s.shift, tails+s.tail
	}
	epsilons, deltas = sums(all)
	return shifts / (f.Box.Shift * f.Box.Shift), tails / f.Box.Tail, epsilons / c.Epsilon, deltas / (c.Delta / 10)
}

// keeps reports whether what counts is within a cap.
func keeps(c client.Cap, all []spent, local float64) bool {
	const slack = 1 + 1e-9 // the caps of the test are met by a part in a thousand, or missed
	if c.Local > 0 && local > c.Local*slack {
		return false
	}
	epsilon, delta := sums(all)
	if c.Epsilon == 0 || c.Delta == 0 {
		return (c.Epsilon == 0 || epsilon <= c.Epsilon*slack) && (c.Delta == 0 || delta <= c.Delta*slack)
	}
	shifts, tails, epsilons, deltas := parts(c, all)
	return max(epsilons, deltas) <= slack || max(shifts, tails) <= slack || len(all) == 1 && epsilon <= c.Epsilon*slack && delta <= c.Delta*slack
}

// decide says whether a device may answer, and from which backstop.
func (m model) decide(p poll, value int, now time.Time, caps []client.Caps) (answer said, ok bool) {
	for _, c := range caps {
		whole, local := p.times(p.whole())
		if !keeps(c.Plan, []spent{whole}, local) {
			return answer, false
		}
	}
	var longest time.Duration
	for _, c := range caps {
		if c.Window.Local > 0 {
			longest = max(longest, c.Period)
		}
	}
	fresh := said{poll: p, at: now, key: fmt.Sprint(value)}
	try := []said{fresh}
	if p.fragmented() && longest > 0 {
		try[0].term = now
		for _, s := range m { // the last that stands
			if s.fragmented() && !s.term.IsZero() && s.at.After(now.Add(-longest)) {
				goesOn := said{poll: p, at: now, key: s.key, term: s.term}
				if try = []said{goesOn}; !now.Before(s.term.Add(longest)) {
					fresh.term = now
					try = []said{fresh, goesOn}
				}
			}
		}
	}
	for _, answer := range try {
		fits := true
		for _, c := range caps {
			all, local := append(m[:len(m):len(m)], answer).counts(now, c.Period)
			fits = fits && keeps(c.Window, all, local)
		}
		if fits {
			return answer, true
		}
	}
	return answer, false
}

// law is the pair of laws of everything that observers of what was shuffled see, by outcome:
// outcomes that tell the two apart equally are one.
type law map[int64][2]float64

// and is both seen.
func (a law) and(b law) law {
	all := law{}
	for _, x := range a {
		for _, y := range b {
			p, q := x[0]*y[0], x[1]*y[1]
			key := int64(math.Round(1e9 * math.Log(p/q)))
			all[key] = [2]float64{all[key][0] + p, all[key][1] + q}
		}
	}
	return all
}

// hockey is the least delta at epsilon, in the worse direction.
func (a law) hockey(epsilon float64) float64 {
	up, down := 0.0, 0.0
	for _, x := range a {
		up += math.Max(0, x[0]-math.Exp(epsilon)*x[1])
		down += math.Max(0, x[1]-math.Exp(epsilon)*x[0])
	}
	return math.Max(up, down)
}

// shuffled is the law of how many of two respondents said one, where this one held it or did
// not, and the other does not.
func (p poll) shuffled() law {
	lie := 1 / (1 + math.Exp(p.epsilon))
	counts := func(one float64) [3]float64 {
		return [3]float64{(1 - one) * (1 - lie), one*(1-lie) + (1-one)*lie, one * lie}
	}
	held, not := counts(1-lie), counts(lie)
	l := law{}
	for i := range held {
		l[int64(i)] = [2]float64{held[i], not[i]}
	}
	return l
}

// The fragments of torn: each cell of a backstop, and of a fragment of it, is told by
// randomized response of this epsilon, in so many fragments.
const tornBit, tornFragments = 0.5, 2

// backstop is the exact epsilon of so many fragments of one backstop, by all that the cell
// that was held and the one that was not can be counted as.
func backstop(fragments int) float64 {
	lie := 1 / (1 + math.Exp(tornBit))
	seen := func(ones int, held float64) float64 { // P(ones | the cell), of each order
		of := func(bit float64) float64 {
			return math.Pow(bit, float64(ones)) * math.Pow(1-bit, float64(fragments-ones))
		}
		return held*of(1-lie) + (1-held)*of(lie)
	}
	up, down := 0.0, 0.0
	for ones := range fragments + 1 {
		tells := math.Log(seen(ones, 1-lie) / seen(ones, lie))
		up, down = math.Max(up, tells), math.Max(down, -tells)
	}
	return up + down
}

// exposed is exactly what was said in the period that ends now: the law of what was
// shuffled, fragments left out, and the epsilon that everyone together learns, of each
// backstop with all that was ever said from it.
func (m model) exposed(now time.Time, period time.Duration) (shuffled law, local float64) {
	shuffled = law{0: {1, 1}}
	counted := map[string]bool{}
	for _, s := range m {
		if !s.at.After(now.Add(-period)) {
			continue
		}
		if !s.fragmented() {
			shuffled, local = shuffled.and(s.shuffled()), local+s.epsilon
			continue
		}
		if counted[s.key] {
			continue
		}
		counted[s.key] = true
		fragments := 0
		for _, other := range m {
			if other.key == s.key && other.fragmented() {
				fragments += tornFragments
			}
		}
		local += backstop(fragments)
	}
	return shuffled, local
}
