package fragment

import (
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"github.com/confetti-dp/confetti/internal/testkit/costlimit"
	"github.com/confetti-dp/confetti/internal/testkit/stattest"
)

func TestPackIsConstantAndUnpackInvertsIt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		length := rapid.IntRange(1, 20).Draw(t, "length")
		bodies := rapid.SliceOfN(rapid.SliceOfN(rapid.Byte(), length, length), 0, 40).Draw(t, "bodies")
		count := rapid.IntRange(1, 40).Draw(t, "count")
		size := Size(length) + rapid.IntRange(0, 10).Draw(t, "filling")
		payloads := Pack(rand.New(rand.NewPCG(1, 2)), bodies, count, size)
		if len(payloads) != count {
			t.Fatalf("%d payloads, want %d whatever the data", len(payloads), count)
		}
		left := map[string]int{}
		for _, b := range bodies {
			left[string(b)]++
		}
		dummies := 0
		for _, p := range payloads {
			if len(p) != size {
				t.Fatalf("payload of %d bytes, want %d", len(p), size)
			}
			body, err := Unpack(p)
			if err != nil {
				t.Fatal(err)
			}
			if body == nil {
				dummies++
				continue
			}
			if left[string(body[:length])]--; left[string(body[:length])] < 0 || len(body) != size-1 {
				t.Fatalf("a message that was never packed came out")
			}
		}
		if want := max(0, count-len(bodies)); dummies != want {
			t.Fatalf("%d dummies, want %d", dummies, want)
		}
	})
}

// lost packs four messages into three payloads, often, and counts which is lost.
func lost(r *rand.Rand, pack func(*rand.Rand, [][]byte, int, int) [][]byte) []int {
	bodies := [][]byte{{0}, {1}, {2}, {3}}
	counts := make([]int, len(bodies))
	for range 40000 {
		missing := 0 + 1 + 2 + 3
		for _, p := range pack(r, bodies, len(bodies)-1, Size(1)) {
			body, _ := Unpack(p)
			missing -= int(body[0])
		}
		counts[missing]++
	}
	return counts
}

// With 40,000 packings the test sees a probability that is off by 0.013 of 0.25.
func TestOverflowLosesEachMessageEquallyOften(t *testing.T) {
	law := []float64{0.25, 0.25, 0.25, 0.25}
	stattest.GTest(t, law, lost(stattest.Rand(t), Pack))
	stattest.Caught(t, func(t testing.TB) { // a twin that loses the last more often than not
		stattest.GTest(t, law, lost(stattest.Rand(t), func(r *rand.Rand, bodies [][]byte, count, size int) [][]byte {
			if r.IntN(8) == 0 {
				return Pack(r, bodies[:count], count, size)
			}
			return Pack(r, bodies, count, size)
		}))
	})
}

// The place of a message must not tell which it is: two messages and two
// dummies, twelve places for the pair.
func TestPackPermutes(t *testing.T) {
	law, counts := make([]float64, 12), make([]int, 12)
	for i := range law {
		law[i] = 1.0 / 12
	}
	r := stattest.Rand(t)
	for range 60000 {
		var at [2]int
		for i, p := range Pack(r, [][]byte{{0}, {1}}, 4, Size(1)) {
			if body, _ := Unpack(p); body != nil {
				at[body[0]] = i
			}
		}
		second := at[1]
		if second > at[0] {
			second--
		}
		counts[3*at[0]+second]++
	}
	stattest.GTest(t, law, counts)
}

func TestAMessageThatDoesNotFitIsNotCutOff(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("packed")
		}
	}()
	Pack(rand.New(rand.NewPCG(1, 2)), [][]byte{{1, 2, 3}}, 1, 3)
}

func TestUnpackRefuses(t *testing.T) {
	for name, p := range map[string][]byte{
		"empty":              {},
		"unknown kind":       {2, 0, 0, 0, 0, 0, 0},
		"dummy with content": {0, 0, 0, 0, 1, 0, 0},
	} {
		if _, err := Unpack(p); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func FuzzUnpack(f *testing.F) {
	f.Add([]byte{1, 0, 0, 0, 5, 1, 0, 0})
	f.Add(make([]byte, 8))
	f.Fuzz(func(t *testing.T, p []byte) {
		costlimit.Heap(t, costlimit.Factor, len(p), func() {
			body, err := Unpack(p)
			if err != nil {
				return
			}
			var in [][]byte
			if body != nil {
				in = [][]byte{body}
			}
			if got := Pack(nil, in, 1, len(p))[0]; string(got) != string(p) {
				t.Errorf("accepted %x, packs to %x", p, got)
			}
		})
	})
}

func BenchmarkUnpack(b *testing.B) {
	p := Pack(nil, [][]byte{{0, 0, 0, 7, 1}}, 1, 8)[0]
	for b.Loop() {
		if _, err := Unpack(p); err != nil {
			b.Fatal(err)
		}
	}
}
