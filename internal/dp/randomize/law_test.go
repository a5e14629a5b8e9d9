package randomize

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math"
	"math/bits"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/dp/estimate"
	"github.com/confetti-dp/confetti/internal/testkit/stattest"
)

// small is a mechanism over a few cells, whose whole report is one of a few outcomes.
type small struct {
	of        any // the mechanism
	name      string
	cells     int
	outcomes  int
	channels  int
	prob      func(outcome, x int) float64
	randomize func(r *rand.Rand, x int) (outcome int)
	count     func(outcome int, counts []uint64) // what the analyzer counts
	local     func(adj account.Adjacency) account.Guarantee
	draw      func(r *rand.Rand, holders []int, out []uint64)
	estimate  func(counts []uint64, n int, out []estimate.Value)
	event     func(users int) account.Event
	variance  func(holders, n int) float64 // nil: the estimate has it in the mean over public functions
}

// single is what the mechanisms of one message share.
type single interface {
	Channels() int
	Randomize(r *rand.Rand, x int, emit func(channel uint32))
	Prob(channel uint32, x int) float64
	Local(adj account.Adjacency) account.Guarantee
	DrawCounts(r *rand.Rand, holders []int, out []uint64)
	EstimateAll(counts []uint64, n int, out []estimate.Value)
	Event(users int) account.Event
}

func ofSingle(name string, k int, m single) small {
	s := small{
		of: m, name: name, cells: k, outcomes: m.Channels(), channels: m.Channels(),
		prob: func(y, x int) float64 { return m.Prob(uint32(y), x) },
		randomize: func(r *rand.Rand, x int) (y int) {
			m.Randomize(r, x, func(channel uint32) { y = int(channel) })
			return y
		},
		count: func(y int, counts []uint64) { counts[y]++ },
		local: m.Local, draw: m.DrawCounts, estimate: m.EstimateAll, event: m.Event,
	}
	if v, ok := m.(interface{ Variance(holders, n int) float64 }); ok {
		s.variance = v.Variance
	}
	return s
}

func ofKRR(m KRR) small {
	return small{
		of: m, name: "k-rr", cells: m.K, outcomes: m.K, channels: m.Channels(),
		prob: m.Prob, randomize: m.Randomize, count: func(y int, counts []uint64) { counts[y]++ },
		local: m.Local, draw: m.DrawCounts, estimate: m.EstimateAll, event: m.Event, variance: m.Variance,
	}
}

// countBits counts a report that is a set of cells, as a bit mask.
func countBits(set int, counts []uint64) {
	for ; set > 0; set &= set - 1 {
		counts[bits.TrailingZeros(uint(set))]++
	}
}

func ofSubset(m SubsetSelection) small {
	return small{
		of: m, name: "subset", cells: m.K, outcomes: 1 << m.K, channels: m.Channels(),
		prob: func(set, x int) float64 {
			if bits.OnesCount(uint(set)) != m.W {
				return 0
			}
			return math.Exp(m.LogProb(set>>x&1 == 1))
		},
		randomize: func(r *rand.Rand, x int) (set int) {
			m.Randomize(r, x, func(channel uint32) { set |= 1 << channel })
			return set
		},
		count: countBits, local: m.Local, draw: m.DrawCounts, estimate: m.EstimateAll, event: m.Event, variance: m.Variance,
	}
}

func smalls(epsilon float64) []small {
	return []small{
		ofKRR(KRR{K: 5, Epsilon: epsilon}),
		ofSubset(SubsetSelection{K: 5, W: 2, Epsilon: epsilon}),
		ofSubset(SubsetSelection{K: 6, W: 1, Epsilon: epsilon}),
		ofSubset(SubsetSelection{K: 4, W: 3, Epsilon: epsilon}),
		ofSingle("hadamard", 3, Hadamard{K: 3, Epsilon: epsilon}),
		ofSingle("hadamard", 6, Hadamard{K: 6, Epsilon: epsilon}),
		ofSingle("local hash", 5, LocalHash{K: 5, G: 3, Functions: 4, Epsilon: epsilon}),
		ofSingle("local hash", 7, LocalHash{K: 7, G: 2, Functions: 3, Epsilon: epsilon, Seed: [32]byte{1}}),
	}
}

// tinies are those of whose few devices all counts can be visited.
func tinies(epsilon float64) []small {
	return []small{
		ofKRR(KRR{K: 3, Epsilon: epsilon}),
		ofSubset(SubsetSelection{K: 3, W: 1, Epsilon: epsilon}),
		ofSubset(SubsetSelection{K: 3, W: 2, Epsilon: epsilon}),
		ofSingle("hadamard", 3, Hadamard{K: 3, Epsilon: epsilon}),
		ofSingle("local hash", 3, LocalHash{K: 3, G: 2, Functions: 2, Epsilon: epsilon}),
		ofSingle("local hash", 3, LocalHash{K: 3, G: 2, Functions: 4, Epsilon: epsilon, Seed: [32]byte{7}}),
	}
}

// Every mechanism of one cell is among those whose laws are enumerated here: a type whose method
// Event takes a number of users.
func TestEveryMechanismIsEnumerated(t *testing.T) {
	listed := func(all []small) map[string]bool {
		names := map[string]bool{}
		for _, s := range all {
			names[reflect.TypeOf(s.of).Name()] = true
		}
		return names
	}
	small, tiny, found := listed(smalls(1)), listed(tinies(1)), 0
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || strings.HasSuffix(name, "_test.go") || fn.Recv == nil || fn.Name.Name != "Event" || fn.Type.Params.NumFields() != 1 {
				continue
			}
			mechanism := fn.Recv.List[0].Type.(*ast.Ident).Name
			if found++; !small[mechanism] || !tiny[mechanism] {
				t.Errorf("%s is not among smalls and tinies: nobody enumerates its law", mechanism)
			}
		}
	}
	if found < 4 {
		t.Errorf("%d mechanisms are found", found)
	}
}

// The event that the accountant is told of covers the law: of all counts of three devices, one of which
// holds another cell, no set is likelier by more than the event's delta. An event of half the epsilon
// does not.
func TestEventsCoverTheLaw(t *testing.T) {
	const users = 3
	for _, local := range []float64{0.5, 2} {
		half := tinies(local / 2)
		for i, s := range tinies(local) {
			laws := [2]map[string]float64{{}, {}}
			worst, short := 0.0, false
			for _, change := range [][2]int{{0, 1}, {1, 2}, {2, 0}} {
				for side, one := range change {
					clear(laws[side])
					s.enumerate([]int{one, 0, 0}, func(p float64, counts []uint64) { laws[side][fmt.Sprint(counts)] += p })
				}
				for _, share := range []float64{0, 0.3, 0.6, 0.9} {
					epsilon, delta := share*local, 0.0
					for counts, p := range laws[0] {
						delta += max(0, p-math.Exp(epsilon)*laws[1][counts])
					}
					covered, err := account.Delta(s.event(users), epsilon)
					if err != nil {
						t.Fatal(err)
					}
					if delta > covered.Delta*(1+1e-9)+1e-15 {
						t.Errorf("%s of %v: at epsilon %v delta is %v, and its event says %v", s.name, local, epsilon, delta, covered.Delta)
					}
					less, err := account.Delta(half[i].event(users), epsilon)
					if err != nil {
						t.Fatal(err)
					}
					worst, short = max(worst, delta), short || delta > less.Delta
				}
			}
			if !short {
				t.Errorf("%s of %v: an event of half the epsilon covers it too: largest delta %v", s.name, local, worst)
			}
		}
	}
}

// epsilons are the epsilons of the whole law: under replacement, and under removal against
// the uniform law and against the best reference law there is.
func (s small) epsilons() (replacement, uniform, best float64) {
	possible := 0
	var most, least float64
	extremes := make([][2]float64, 0, s.outcomes)
	for y := range s.outcomes {
		lo, hi := math.Inf(1), 0.
		for x := range s.cells {
			lo, hi = math.Min(lo, s.prob(y, x)), math.Max(hi, s.prob(y, x))
		}
		if hi == 0 {
			continue
		}
		possible++
		extremes = append(extremes, [2]float64{lo, hi})
		most, least = most+hi, least+lo
		replacement = math.Max(replacement, math.Log(hi/lo))
	}
	for _, e := range extremes {
		uniform = math.Max(uniform, math.Max(math.Log(e[1]*float64(possible)), -math.Log(e[0]*float64(possible))))
	}
	return replacement, uniform, max(math.Log(most), -math.Log(least), replacement/2)
}

// The whole law of every mechanism sums to one, and its largest ratios are e to the
// epsilons that it promises: private, and not wasteful. A billionth more of epsilon breaks
// the promise. No other reference law is better but for Hadamard, whose first column all
// values favour, and functions that do not hit every symbol.
func TestLocalByEnumeration(t *testing.T) {
	for _, epsilon := range []float64{0.01, 0.7, 2, 9} {
		more := smalls(epsilon * (1 + 1e-9))
		for i, s := range smalls(epsilon) {
			for x := range s.cells {
				sum := 0.
				for y := range s.outcomes {
					sum += s.prob(y, x)
				}
				if !near(sum, 1, 1e-12) {
					t.Errorf("%s of %v: the law of %d sums to %v", s.name, epsilon, x, sum)
				}
			}
			replacement, uniform, best := s.epsilons()
			if g := s.local(account.Replacement); math.Abs(g.Epsilon-replacement) > 1e-12 || g.Adjacency != account.Replacement || g.Delta != 0 {
				t.Errorf("%s: replacement loss %v, promised %v", s.name, replacement, g)
			}
			if g := s.local(account.Removal); math.Abs(g.Epsilon-uniform) > 1e-12 || g.Adjacency != account.Removal {
				t.Errorf("%s: removal loss %v, promised %v", s.name, uniform, g)
			}
			if 2*uniform < replacement*(1-1e-12) || best > uniform+1e-12 || (s.name == "k-rr" || s.name == "subset") && best < uniform-1e-12 {
				t.Errorf("%s: removal loss %v where replacement has %v and the best reference law %v", s.name, uniform, replacement, best)
			}
			if broken, _, _ := more[i].epsilons(); !(broken > s.local(account.Replacement).Epsilon+1e-12) {
				t.Errorf("%s: a larger epsilon passes: %v", s.name, broken)
			}
		}
	}
}

// Every value's report, drawn 12,000 times, against the law. Among so many an epsilon that
// is half too large is caught.
func TestReportsFollowTheirLaw(t *testing.T) {
	const epsilon, draws = 1.1, 12_000
	off := smalls(1.5 * epsilon)
	for i, s := range smalls(epsilon) {
		r := stattest.Rand(t)
		for _, x := range []int{0, s.cells - 1} {
			law, twin, counts := make([]float64, s.outcomes), make([]float64, s.outcomes), make([]int, s.outcomes)
			for y := range law {
				law[y], twin[y] = s.prob(y, x), off[i].prob(y, x)
			}
			for range draws {
				counts[s.randomize(r, x)]++
			}
			stattest.GTest(t, law, counts)
			stattest.Caught(t, func(tb testing.TB) { stattest.GTest(tb, twin, counts) })
		}
	}
}

// enumerate visits all joint reports of devices that hold the given values.
func (s small) enumerate(held []int, visit func(p float64, counts []uint64)) {
	counts := make([]uint64, s.channels)
	var walk func(device int, p float64)
	walk = func(device int, p float64) {
		if device == len(held) {
			visit(p, counts)
			return
		}
		for y := range s.outcomes {
			if q := s.prob(y, held[device]); q > 0 {
				before := append([]uint64(nil), counts...)
				s.count(y, counts)
				walk(device+1, p*q)
				copy(counts, before)
			}
		}
	}
	walk(0, 1)
}

// moments are the mean and variance of every estimate, and the mean of its squared
// standard error.
func (s small) moments(held []int) (mean, variance, claimed []float64) {
	mean, variance, claimed = make([]float64, s.cells), make([]float64, s.cells), make([]float64, s.cells)
	values := make([]estimate.Value, s.cells)
	s.enumerate(held, func(p float64, counts []uint64) {
		s.estimate(counts, len(held), values)
		for x, v := range values {
			mean[x] += p * v.Mean
			variance[x] += p * v.Mean * v.Mean
			claimed[x] += p * v.StdErr * v.StdErr
		}
	})
	for x, m := range mean {
		variance[x] -= m * m
	}
	return mean, variance, claimed
}

// All joint reports of four devices: the estimates have the right means, and their squared
// standard errors are the variance in the mean. (Local hashing is unbiased over the draw
// of its family: TestLocalHashEstimate.)
func TestEstimatesByEnumeration(t *testing.T) {
	for _, s := range append(tinies(0.9),
		ofSubset(SubsetSelection{K: 4, W: 2, Epsilon: 1.2}),
		ofSingle("hadamard", 4, Hadamard{K: 4, Epsilon: 2}),
	) {
		if s.variance == nil {
			continue
		}
		held := []int{0, 2, 0, 1}
		mean, variance, claimed := s.moments(held)
		for x := range mean {
			truth := 0
			for _, v := range held {
				if v == x {
					truth++
				}
			}
			if math.Abs(mean[x]-float64(truth)) > 1e-12 {
				t.Errorf("%s: mean estimate of %d is %v, want %v", s.name, x, mean[x], truth)
			}
			if !near(variance[x], s.variance(truth, len(held)), 1e-11) || !near(claimed[x], variance[x], 1e-11) {
				t.Errorf("%s: variance of %d is %v, stated %v, claimed in the mean %v", s.name, x, variance[x], s.variance(truth, len(held)), claimed[x])
			}
		}
	}
}

// Counts drawn at once have the law of reports counted one by one, all cells together.
// 12,000 draws catch an epsilon that is too large by two thirds.
func TestDrawnCountsFollowTheirLaw(t *testing.T) {
	held, holders := []int{0, 0, 2, 0}, []int{3, 0, 1}
	const n = 4
	off := tinies(2.5)
	for i, s := range tinies(1.5) {
		size := int(math.Pow(n+1, float64(s.channels)))
		place := func(counts []uint64) (at int) {
			for _, c := range counts {
				at = at*(n+1) + int(c)
			}
			return at
		}
		law := func(s small) []float64 {
			law := make([]float64, size)
			s.enumerate(held, func(p float64, counts []uint64) { law[place(counts)] += p })
			return law
		}
		r, drawn, out := stattest.Rand(t), make([]int, size), make([]uint64, s.channels)
		for range 12_000 {
			s.draw(r, holders, out)
			drawn[place(out)]++
		}
		stattest.GTest(t, law(s), drawn)
		stattest.Caught(t, func(tb testing.TB) { stattest.GTest(tb, law(off[i]), drawn) })
	}
}
