package client_test

import (
	"testing"

	"github.com/confetti-dp/confetti/client"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/protocol"
)

// Pipelines that replay one seed seal anew: keys of envelopes are of the system's randomness, and never of the pipeline's.
// So many fragments are sealed by tables or lanes.
func TestSealsAreFreshWhereASeedIsReplayed(t *testing.T) {
	p, keys := sample(t, "rr", 1, 80)
	proto, err := protocol.New(p)
	if err != nil {
		t.Fatal(err)
	}
	seen, all := map[string]bool{}, 0
	for range 2 {
		c, err := client.New(proto, seeded.New(1))
		if err != nil {
			t.Fatal(err)
		}
		got := report(t, c)
		envelopes, err := example.Form(p, 0).Open(keys.Hops[0][0], got.Crowd, got.Body)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range envelopes {
			seen[string(e[:32])] = true
			all++
		}
	}
	if all < 2*64 || len(seen) != all {
		t.Errorf("%d encapsulated keys in %d envelopes", len(seen), all)
	}
}
