package metrics

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/internal/testkit/costlimit"
)

// A declaration is read or refused, in memory that fits its length, and each metric of one that is taken has its plan.
func FuzzDeclaration(f *testing.F) {
	text, err := os.ReadFile(filepath.FromSlash("../../../../docs/examples/metrics/confetti.toml"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add(text[:len(text)/2])
	f.Add([]byte("version = 1\n[week]\nepsilon = nan\n[metric.a]\nkind = 'table'\nof = ['a', 'a']\n"))
	at := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, text []byte) {
		path := filepath.Join(t.TempDir(), "confetti.toml")
		if err := os.WriteFile(path, text, 0o644); err != nil {
			t.Fatal(err)
		}
		costlimit.Heap(t, costlimit.Factor, len(text), func() {
			got, err := readFile(path)
			if err != nil {
				return
			}
			for key, g := range got.groups(at) {
				for _, m := range g.metrics {
					if err := m.Validate(); err != nil {
						t.Errorf("%s: %v", key, err)
					}
				}
			}
		})
	})
}
