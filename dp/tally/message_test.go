package tally

import (
	"testing"

	"pgregory.net/rapid"
)

// What a device says is what is counted, with and without zeros behind it.
func TestMessagesAreCounted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want, got := New(5, 3), New(5, 3)
		said := NewMessages(rapid.IntRange(0, 9).Draw(t, "expected"))
		for range rapid.IntRange(0, 20).Draw(t, "messages") {
			channel, symbol := rapid.IntRange(0, 4).Draw(t, "channel"), rapid.IntRange(0, 2).Draw(t, "symbol")
			want.Add(channel, symbol)
			said.Say(uint32(channel), uint8(symbol))
		}
		for i, body := range said.Bodies {
			if len(body) != MessageBytes {
				t.Fatalf("a body of %d bytes", len(body))
			}
			if err := got.AddMessage(append(body, make([]byte, i%3)...)); err != nil {
				t.Fatal(err)
			}
		}
		for c := range 5 {
			for s := range 3 {
				if got.At(c, s) != want.At(c, s) {
					t.Fatalf("channel %d, symbol %d: %d, want %d", c, s, got.At(c, s), want.At(c, s))
				}
			}
		}
	})
}

func TestAddMessageRefuses(t *testing.T) {
	for name, body := range map[string][]byte{
		"empty":             {},
		"short":             {0, 0, 0, 1},
		"more than zeros":   {0, 0, 0, 1, 1, 0, 1},
		"another channel":   {0, 0, 0, 2, 0},
		"a channel of 2^31": {0x80, 0, 0, 0, 0},
		"another symbol":    {0, 0, 0, 0, 2},
	} {
		c := New(2, 2)
		if c.AddMessage(body) == nil || c.N[0]+c.N[1]+c.N[2]+c.N[3] != 0 {
			t.Errorf("%s: counted", name)
		}
	}
}
