package amplify

import (
	"cmp"
	"maps"
	"math"
	"runtime"
	"slices"
	"sync"

	"github.com/confetti-dp/confetti/internal/account/profile"
	"github.com/confetti-dp/confetti/internal/prob"
)

// tokens is the pair of worlds to which amplification by shuffling reduces.
// Each of n respondents sends one token: A or B, with probability rate each; or
// one that hides nobody, which the target never sends; or a blank. Of those who
// send neither A nor B a share blank sends blanks, and of these a share both
// sends heavy ones. With T the multinomial law of n tokens and a, b, c, d the
// numbers of A, B, plain and heavy blanks,
//
//	P(a, b, c, d) = T(a, b, c, d) (x a + y b + W)/n,   W = weight c + x d,
//
// since the target is any of the n tokens with equal right; in the other world A
// and B trade places. Swapping a and b swaps the worlds, so one profile serves
// both directions. A greater W, all else equal, lowers every hockey stick: it
// adds as much to either world.
//
// Package token issues single-use tokens, which have nothing to do with these.
type tokens struct {
	n          int
	rate, x, y float64
	weight     float64 // of a plain blank
	blank      float64
	both       float64
}

// spread returns the deviation of (x-y)(a-b)/n, the loss to first order.
func (t tokens) spread() float64 { return (t.x - t.y) * math.Sqrt(2*t.rate/float64(t.n)) }

// level is the law of W where a+b = m: mass[i] is the probability under T, over
// n, of m and of the first i values of W, and moment[i] the sum of these times W.
type level struct {
	m            int
	w            []float64 // increasing
	mass, moment []float64
}

// tokensLaw is T as far as it matters, W rounded down.
type tokensLaw struct {
	tokens
	levels    []level
	neglected float64 // what the windows leave out of either world, at most
}

// What may be rounded, in shares of itself; epsilon rises by about half of it.
const (
	mPitch = 2e-4 // m, where it is large
	// m, where W follows from it: there are then as many levels as steps in a window of some
	// twenty sqrt(m), each with sums of sqrt(m) terms, and the work is the same for every n.
	certainPitch = 2e-6
	wPitch       = 2e-4 // W, of the mean of x a + y b + W, which is n
)

// Larger tables than these are rounded more, which only costs epsilon.
const (
	maxValues = 1 << 20 // of W, over all levels
	maxTerms  = 1 << 23 // added up to find their probabilities
	fewValues = 1 << 12 // at one level, that are all kept
)

// law tabulates T and leaves out what has a probability of at most neglect in
// either world, or little more where that is below minTail.
//
// A pair with m tokens A and B and with W' = W m/(m+i) becomes the one with m+i
// and W, times m/(m+i), if i fair coins say which tokens to add: E(a | a+coins) is
// m/(m+i) of the latter. So levels may be rounded down, together with W.
func (t tokens) law(neglect float64) (*tokensLaw, error) {
	most := math.Max(math.Max(t.x, t.weight), 1) // of P/T
	tail := math.Max(neglect/(6*most), profile.MinTail)
	window, err := prob.BinomialWindow(t.n, 2*t.rate, tail)
	if err != nil {
		return nil, err
	}
	l := &tokensLaw{tokens: t, neglected: (window.Below + window.Above) * most}
	last := window.Lo + len(window.P) - 1
	var ends []int // the largest m that each level stands for
	// Without A and B the worlds are one.
	for m := max(1, window.Lo); m <= last; {
		pitch := mPitch
		if t.certain() {
			pitch = certainPitch
		}
		end := min(last, m+int(pitch*float64(m)))
		v := level{m: m}
		sum := 0.0
		for i := m; i <= end; i++ {
			sum += window.P[i-window.Lo] * float64(i) / float64(m)
		}
		v.mass = []float64{0, sum / float64(t.n)}
		l.levels, ends = append(l.levels, v), append(ends, end)
		m = end + 1
	}
	b, err := t.blanks(ends, tail)
	if err != nil {
		return nil, err
	}
	l.neglected += b.neglected * most
	each(len(l.levels), func(i int) {
		v := &l.levels[i]
		a := b.of(i)
		scale := v.mass[1]
		v.w, v.mass, v.moment = a.w, make([]float64, len(a.w)+1), make([]float64, len(a.w)+1)
		for j := range a.w {
			v.w[j] *= float64(v.m) / float64(ends[i])
			v.mass[j+1] = v.mass[j] + scale*a.p[j]
			v.moment[j+1] = v.moment[j] + scale*a.p[j]*v.w[j]
		}
	})
	return l, nil
}

// each runs work on 0 to n-1, on all cores.
func each(n int, work func(i int)) {
	workers := min(runtime.GOMAXPROCS(0), 1+n/8)
	var wait sync.WaitGroup
	for from := range workers {
		wait.Go(func() {
			for i := from; i < n; i += workers {
				work(i)
			}
		})
	}
	wait.Wait()
}

// certain says that the number of blanks follows from m, and W from that.
func (t tokens) certain() bool { return t.blank == 0 || t.blank == 1 && t.both == 0 }

// blanks has the laws of the numbers of blanks, and of W given them.
type blanks struct {
	t         tokens
	ms        []int         // the levels
	windows   []prob.Window // of the number of blanks, level by level; none if it is certain
	group     int           // numbers of blanks are rounded down to its multiples
	heavy     map[int]atoms // of W, by the rounded number of blanks, where some are heavy
	pitch     float64       // W is rounded down to its multiples; 0: it is not
	neglected float64       // probability left out at each level, at most
}

// atoms are values and their probabilities; bin are the values over the pitch,
// rounded down, if they are rounded.
type atoms struct {
	w, p []float64
	bin  []int
}

func (t tokens) blanks(ms []int, tail float64) (*blanks, error) {
	b := &blanks{t: t, ms: ms, group: 1}
	if t.certain() {
		return b, nil
	}
	b.windows = make([]prob.Window, len(ms))
	errs := make([]error, len(ms))
	each(len(ms), func(i int) { b.windows[i], errs[i] = prob.BinomialWindow(t.n-ms[i], t.blank, tail) })
	widest, least, most := 0, math.MaxInt, 0
	for _, w := range b.windows {
		b.neglected = math.Max(b.neglected, w.Below+w.Above)
		widest, least, most = max(widest, len(w.P)), min(least, w.Lo), max(most, w.Lo+len(w.P)-1)
	}
	if err := cmp.Or(errs...); err != nil {
		return nil, err
	}
	if t.both == 0 {
		b.group = max(1, int(wPitch*float64(t.n)/t.weight), widest*len(ms)/maxValues)
		return b, nil
	}
	return b, b.heavies(widest, least, most, tail)
}

// heavies fills in the laws of W given from least to most blanks. Few values are
// all kept; of many, the two numbers are rounded down first.
func (b *blanks) heavies(widest, least, most int, tail float64) error {
	weight, extra := b.t.weight, b.t.x-b.t.weight
	largest, err := prob.BinomialWindow(most, b.t.both, tail)
	if err != nil {
		return err
	}
	step := 1
	if widest*len(largest.P) > fewValues {
		fine, long := wPitch*float64(b.t.n), float64(len(largest.P))
		b.pitch = math.Max(fine, (weight*float64(widest)+extra*long)*float64(len(b.ms))/maxValues)
		plain, heavy := math.Max(1, fine/(2*weight)), math.Max(1, fine/(2*extra)) // one value each
		terms := float64(len(b.ms)) * float64(widest) / plain * long / heavy
		more := math.Max(1, math.Sqrt(terms/maxTerms))
		b.group, step = int(plain*more), int(heavy*more)
	}
	b.heavy = map[int]atoms{}
	left := 0.0
	for n := least / b.group * b.group; n <= most; n += b.group {
		window, err := prob.BinomialWindow(n, b.t.both, tail)
		if err != nil {
			return err
		}
		left = math.Max(left, window.Below+window.Above)
		var a atoms
		for i := 0; i < len(window.P); i += step {
			p := 0.0
			for _, q := range window.P[i:min(i+step, len(window.P))] {
				p += q
			}
			a.w = append(a.w, weight*float64(n)+extra*float64(window.Lo+i))
			a.p = append(a.p, p)
		}
		if b.pitch > 0 {
			a.bin = make([]int, len(a.w))
			for i, w := range a.w {
				a.bin[i] = int(w / b.pitch)
			}
		}
		b.heavy[n] = a
	}
	b.neglected += left
	return nil
}

// of returns the law of W in increasing order, at a level.
func (b *blanks) of(i int) atoms {
	if b.windows == nil {
		return atoms{w: []float64{b.t.weight * b.t.blank * float64(b.t.n-b.ms[i])}, p: []float64{1}}
	}
	window := b.windows[i]
	low := window.Lo / b.group
	numbers := make([]float64, (window.Lo+len(window.P)-1)/b.group-low+1) // of blanks, in groups
	for i, p := range window.P {
		numbers[(window.Lo+i)/b.group-low] += p
	}
	switch {
	case b.heavy == nil:
		a := atoms{w: make([]float64, len(numbers)), p: numbers}
		for i := range numbers {
			a.w[i] = b.t.weight * float64((low+i)*b.group)
		}
		return a
	case b.pitch == 0:
		return b.exact(low, numbers)
	}
	return b.rounded(low, numbers)
}

// exact keeps every value of W.
func (b *blanks) exact(low int, numbers []float64) atoms {
	chance := map[float64]float64{}
	for i, p := range numbers {
		given := b.heavy[low+i]
		for j, w := range given.w {
			chance[w] += p * given.p[j]
		}
	}
	a := atoms{w: slices.Sorted(maps.Keys(chance))}
	for _, w := range a.w {
		a.p = append(a.p, chance[w])
	}
	return a
}

// rounded rounds them down to multiples of the pitch.
func (b *blanks) rounded(low int, numbers []float64) atoms {
	first, end := math.MaxInt, 0
	for i := range numbers {
		bin := b.heavy[(low+i)*b.group].bin
		first, end = min(first, bin[0]), max(end, bin[len(bin)-1])
	}
	a := atoms{w: make([]float64, end-first+1), p: make([]float64, end-first+1)}
	for i := range a.w {
		a.w[i] = float64(first+i) * b.pitch
	}
	for i, p := range numbers {
		given := b.heavy[(low+i)*b.group]
		for j, bin := range given.bin {
			a.p[bin-first] += p * given.p[j]
		}
	}
	return a
}
