package fetched

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/confetti-dp/confetti/internal/release/trend"
	"github.com/confetti-dp/confetti/internal/testkit/costlimit"
	"github.com/confetti-dp/confetti/plan"
)

// What an analyzer said of rounds is read or refused, in memory that fits its length, and its numbers are those of rounds.
func FuzzProgress(f *testing.F) {
	f.Add([]byte(`[{"plan":"a","study":"s","round":1,"state":"released"},{"plan":"b","study":"s","round":2,"state":"withheld"}]`))
	f.Add([]byte(`[{"round":-1},{"round":9223372036854775807}]`))
	f.Add([]byte(`{`))
	f.Fuzz(func(t *testing.T, text []byte) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, progressFile), text, 0o644); err != nil {
			t.Fatal(err)
		}
		costlimit.Heap(t, costlimit.Factor, len(text), func() {
			told, err := readProgress(dir)
			if err != nil {
				return
			}
			for _, s := range told {
				all, err := trend.Filled([]trend.Round{{Number: s.Round, Missing: s.Missing()}})
				if is := s.Round >= 1 && s.Round <= plan.MaxRounds; is != (err == nil) || is && len(all) != 1 {
					t.Errorf("round %d: %d, %v", s.Round, len(all), err)
				}
			}
		})
	})
}
