package tally

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// What a device says is what is counted, with and without zeros behind it.
func TestMessagesAreCounted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want, got := NewCounts(5, 3), NewCounts(5, 3)
		said := NewMessages(rapid.IntRange(0, 9).Draw(t, "expected"))
		for range rapid.IntRange(0, 20).Draw(t, "messages") {
			channel, symbol := rapid.IntRange(0, 4).Draw(t, "channel"), rapid.IntRange(0, 2).Draw(t, "symbol")
			want.N[3*channel+symbol]++
			said.Say(uint32(channel), uint8(symbol))
		}
		for i, body := range said.Bodies {
			if len(body) != MessageBytes {
				t.Fatalf("a body of %d bytes", len(body))
			}
			if err := got.Add(append(body, make([]byte, i%3)...)); err != nil {
				t.Fatal(err)
			}
		}
		if !slices.Equal(got.N, want.N) {
			t.Fatalf("counts %v, want %v", got.N, want.N)
		}
	})
}
