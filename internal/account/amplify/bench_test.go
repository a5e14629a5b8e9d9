package amplify

import (
	"math"
	"testing"

	"github.com/confetti-dp/confetti/account"
)

// BenchmarkWholeReports is the exact blanket: of k-ary response, and of reports that
// favour shares which meet (four kinds).
func BenchmarkWholeReports(b *testing.B) {
	for _, c := range []struct {
		name  string
		event account.Event
	}{
		{"krr/n=10000/k=1000", KaryResponse{Users: 10_000, K: 1000, Epsilon: 4}},
		{"krr/n=100000/k=10000", KaryResponse{Users: 100_000, K: 10_000, Epsilon: 6}},
		{"subset/n=10000", FavouredResponse{Users: 10_000, Share: 0.1, Apart: 0.0909, Epsilon: 2}},
		{"hadamard/n=10000", FavouredResponse{Users: 10_000, Share: 0.5, Apart: 0.25, Epsilon: 4}},
	} {
		b.Run(c.name, func(b *testing.B) {
			for delta := 1e-6; b.Loop(); delta = math.Nextafter(delta, 1) { // answers are remembered
				if _, err := account.Epsilon(c.event, delta); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
