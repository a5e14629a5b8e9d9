package fragment

import (
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
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

func TestOverflowKeepsEachMessageEquallyOften(t *testing.T) {
	// 3 of 4 messages kept in 40,000 packings: each is lost with probability
	// 1/4; 5 standard deviations of a count are 433.
	lost := make([]int, 4)
	r := rand.New(rand.NewPCG(3, 4))
	for range 40000 {
		seen := [4]bool{}
		for _, p := range Pack(r, []Message{{0, 0}, {1, 0}, {2, 0}, {3, 0}}, 3, 8) {
			m, _, _ := Unpack(p)
			seen[m.Channel] = true
		}
		for c, s := range seen {
			if !s {
				lost[c]++
			}
		}
	}
	for c, n := range lost {
		if n < 10000-433 || n > 10000+433 {
			t.Errorf("message %d was lost %d times of 40000, want about 10000", c, n)
		}
	}
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
}

func BenchmarkUnpack(b *testing.B) {
	p := Pack(nil, []Message{{7, 1}}, 1, 8)[0]
	for b.Loop() {
		if _, _, err := Unpack(p); err != nil {
			b.Fatal(err)
		}
	}
}
