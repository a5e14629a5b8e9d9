package prio3

import (
	"errors"
	"math/bits"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/internal/rng"
	"github.com/confetti-dp/confetti/internal/testkit/costlimit"
	"github.com/confetti-dp/confetti/internal/third_party/circl/vdaf/prio3/arith/fp128"
)

// unbounded is the twin that proves ranges alone.
type unbounded struct{ Circuit }

func (unbounded) balance(fp128.Vec) (sum fp128.Fp, ok bool) { return sum, false }

// Of two numbers from 0 to 4 about 2 and every bound, every vector and everything that a device may say of its
// squares: those within the bound pass if what is said is true, and no other does. The twin takes them all.
func TestNoVectorBeyondItsBoundPasses(t *testing.T) {
	r, key := generator(), [KeySize]byte{4}
	for bound := uint64(1); bound <= 8; bound++ {
		c := Bounded{2, 4, bound}
		v, twin := made(t, c, 3), made(t, unbounded{c}, 3)
		for at := range uint64(25) {
			x := []uint64{at / 5, at % 5}
			squares := (x[0]-2)*(x[0]-2) + (x[1]-2)*(x[1]-2)
			if _, _, _, err := v.Split(rng.Reader(r), [NonceSize]byte{}, x); (err == nil) != (squares <= bound) {
				t.Errorf("bound %d: %v: %v", bound, x, err)
			}
			numbers := appendRange(appendRange(nil, x[0], 4), x[1], 4)
			said := make([]int64, c.encoded())
			for i, e := range numbers {
				said[i] = int64(e[0])
			}
			rest := said[len(numbers):]
			for claim := range 1 << len(rest) {
				says := make(fp128.Vec, len(rest))
				for i := range rest {
					rest[i] = int64(claim >> i & 1)
					says[i] = fp128.Fp{uint64(rest[i])}
				}
				told := ranged(says, bound)
				_, _, err := verify(v, key, stuffed(t, v, said))
				if good := told[0] == squares && told[1] == 0; good != (err == nil) || err != nil && !errors.Is(err, errRefused) {
					t.Fatalf("bound %d: %v, of which %d is said, has squares of %d: %v", bound, x, told[0], squares, err)
				}
				if _, _, err := verify(twin, key, stuffed(t, twin, said)); err != nil {
					t.Fatalf("the twin refuses %v: %v", x, err)
				}
			}
		}
	}
}

// No bytes make a longer vector count.
func FuzzBounded(f *testing.F) {
	v := made(f, Bounded{3, 6, 5}, 2)
	s := split(f, v, generator(), []uint64{5, 3, 2})
	f.Add(s.public, s.leader, s.helper)
	f.Fuzz(func(t *testing.T, public, leader, helper []byte) {
		var sum []int64
		costlimit.Heap(t, costlimit.Factor, len(public)+len(leader)+len(helper), func() {
			if ours, theirs, err := verify(v, [KeySize]byte{}, report{s.nonce, public, leader, helper}); err == nil {
				sum, _ = Open(ours, theirs)
			}
		})
		squares := int64(0)
		for _, x := range sum {
			squares += (x - 3) * (x - 3)
		}
		if squares > 5 {
			t.Errorf("a vector of squares %d was taken", squares)
		}
	})
}

// wrapped does what a proof by wraparound tests takes of an aggregator at the least, for numbers of one element each:
// its hundred tests, each a sum of all numbers with signs that a stream of two bits a number draws, and the proof of the
// squares and of bits for the tests' results, of so many each. What else it takes is left out.
func wrapped(b *testing.B, numbers, width int) func() {
	const tests = 100
	c := Bounded{(tests*width + 3) / 4, 14, 1}
	v := made(b, c, chunkFor(tests*width+numbers))
	v.proof.calls = v.proof.checks + (numbers+v.chunk-1)/v.chunk
	for v.proof.points = 2; v.proof.points <= v.proof.calls; {
		v.proof.points *= 2
	}
	var seed [seedSize]byte
	draw := func(n int) fp128.Vec { return v.expand(seed, measurementShare, nil, n) }
	values, proof, joint := draw(c.encoded()), draw(v.proof.length()), draw(v.proof.checks)
	vector, query := draw(numbers), draw(v.proof.queries())
	signs := make([]byte, tests*numbers/4)
	return func() {
		draw(numbers)
		v.xof(seed, jointPart).Read(signs)
		for test := range tests {
			var sums [2]wide
			for i, x := range vector {
				at := test*numbers + i
				// As many of either sign as of none, without a branch.
				which := signs[at/4] >> (2 * (at % 4)) & 3
				w := &sums[which&1]
				mask := -uint64(which >> 1)
				var carry uint64
				w[0], carry = bits.Add64(w[0], x[0]&mask, 0)
				w[1], carry = bits.Add64(w[1], x[1]&mask, carry)
				w[2] += carry
			}
		}
		if _, err := v.proof.query(values, vector, proof, query, joint); err != nil {
			b.Fatal(err)
		}
	}
}

// shortest returns a chunk of as many calls as fill a power of two with the seeds.
func shortest(c Bounded) int {
	chunk := chunkFor(c.encoded() + c.Length)
	calls := func(chunk int) int { return (c.encoded()+chunk-1)/chunk + (c.Length+chunk-1)/chunk }
	for most := 1<<bits.Len(uint(calls(chunk)-8)) - 1; calls(chunk) > most; {
		chunk++
	}
	return chunk
}

// What an aggregator takes for vectors of bounded length, beside vectors of the same numbers in the same range whose
// length nobody proves, and beside the least that wraparound tests take, in turn, by the processor's time.
func BenchmarkBounded(b *testing.B) {
	for _, c := range []struct {
		name    string
		numbers int
	}{{"numbers=256", 256}, {"numbers=1024", 1024}, {"numbers=4096", 4096}, {"numbers=16384", 16384}} {
		b.Run(c.name, func(b *testing.B) {
			vector := make([]uint64, c.numbers)
			r := rand.New(rand.NewPCG(1, 2))
			for i := range vector {
				vector[i] = 15 + r.Uint64N(3) - 1
			}
			start := func(v *VDAF, aggregator byte) func() {
				s := split(b, v, r, vector)
				share := [][]byte{s.leader, s.helper}[aggregator]
				return func() {
					if _, _, err := v.Start([KeySize]byte{}, aggregator, s.nonce, s.public, share); err != nil {
						b.Fatal(err)
					}
				}
			}
			short := Bounded{c.numbers, 30, uint64(10 * c.numbers)}
			long := SumVec{c.numbers, 30}
			bounded, ranges := made(b, short, shortest(short)), made(b, long, chunkFor(long.encoded()))
			all := []func(){
				start(bounded, Leader), start(ranges, Leader), start(bounded, Helper), start(ranges, Helper), wrapped(b, c.numbers, 22),
				func() { split(b, bounded, r, vector) }, func() { split(b, ranges, r, vector) },
			}
			spent := make([]time.Duration, len(all))
			rounds := 0
			for b.Loop() {
				for i, do := range all {
					before := costlimit.Used(b)
					do()
					spent[i] += costlimit.Used(b) - before
				}
				rounds++
			}
			each := func(i int) float64 { return float64(spent[i]) / float64(rounds) / 1e3 }
			b.ReportMetric(each(0), "leader-µs")
			b.ReportMetric(each(2), "helper-µs")
			b.ReportMetric(each(0)/each(1), "leader/sumvec")
			b.ReportMetric(each(2)/each(3), "helper/sumvec")
			b.ReportMetric(each(5)/each(6), "split/sumvec")
			b.ReportMetric(each(2)/each(4), "helper/wraparound")
			b.ReportMetric(0, "ns/op") // all together: of no meaning
		})
	}
}
