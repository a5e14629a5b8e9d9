package fragment

import (
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"github.com/confetti-dp/confetti/internal/costtest"
	"github.com/confetti-dp/confetti/internal/stattest"
)

func TestPackIsConstantAndUnpackInvertsIt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		messages := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Message {
			return Message{rapid.Uint32().Draw(t, "channel"), rapid.Uint8().Draw(t, "symbol")}
		}), 0, 40).Draw(t, "messages")
		count := rapid.IntRange(1, 40).Draw(t, "count")
		size := rapid.IntRange(MinPayload, 20).Draw(t, "size")
		payloads := Pack(rand.New(rand.NewPCG(1, 2)), messages, count, size)
		if len(payloads) != count {
			t.Fatalf("%d payloads, want %d whatever the data", len(payloads), count)
		}
		left := map[Message]int{}
		for _, m := range messages {
			left[m]++
		}
		dummies := 0
		for _, p := range payloads {
			if len(p) != size {
				t.Fatalf("payload of %d bytes, want %d", len(p), size)
			}
			m, dummy, err := Unpack(p)
			if err != nil {
				t.Fatal(err)
			}
			if dummy {
				dummies++
				continue
			}
			if left[m]--; left[m] < 0 {
				t.Fatalf("a message that was never packed came out")
			}
		}
		if want := max(0, count-len(messages)); dummies != want {
			t.Fatalf("%d dummies, want %d", dummies, want)
		}
	})
}

// lost packs four messages into three payloads, often, and counts which is lost.
func lost(r *rand.Rand, pack func(*rand.Rand, []Message, int, int) [][]byte) []int {
	messages := []Message{{0, 0}, {1, 0}, {2, 0}, {3, 0}}
	counts := make([]int, len(messages))
	for range 40000 {
		missing := 0 + 1 + 2 + 3
		for _, p := range pack(r, messages, len(messages)-1, MinPayload) {
			m, _, _ := Unpack(p)
			missing -= int(m.Channel)
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
		stattest.GTest(t, law, lost(stattest.Rand(t), func(r *rand.Rand, ms []Message, count, size int) [][]byte {
			if r.IntN(8) == 0 {
				return Pack(r, ms[:count], count, size)
			}
			return Pack(r, ms, count, size)
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
		for i, p := range Pack(r, []Message{{0, 1}, {1, 1}}, 4, MinPayload) {
			if m, dummy, _ := Unpack(p); !dummy {
				at[m.Channel] = i
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

func TestUnpackRefuses(t *testing.T) {
	for name, p := range map[string][]byte{
		"empty":               {},
		"short":               {1, 0, 0, 0, 0},
		"unknown kind":        {2, 0, 0, 0, 0, 0, 0},
		"dummy with content":  {0, 0, 0, 0, 1, 0, 0},
		"padding is not zero": {1, 0, 0, 0, 0, 0, 7},
	} {
		if _, _, err := Unpack(p); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func FuzzUnpack(f *testing.F) {
	f.Add([]byte{1, 0, 0, 0, 5, 1, 0, 0})
	f.Add(make([]byte, 8))
	f.Fuzz(func(t *testing.T, p []byte) {
		costtest.Heap(t, costtest.Factor, len(p), func() {
			m, dummy, err := Unpack(p)
			if err != nil {
				return
			}
			var in []Message
			if !dummy {
				in = []Message{m}
			}
			if got := Pack(nil, in, 1, len(p))[0]; string(got) != string(p) {
				t.Errorf("accepted %x, packs to %x", p, got)
			}
		})
	})
}

func BenchmarkUnpack(b *testing.B) {
	p := Pack(nil, []Message{{7, 1}}, 1, 8)[0]
	for b.Loop() {
		if _, _, err := Unpack(p); err != nil {
			b.Fatal(err)
		}
	}
}
