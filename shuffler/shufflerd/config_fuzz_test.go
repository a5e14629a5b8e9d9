package shufflerd

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/confetti-dp/confetti/internal/costtest"
	"github.com/confetti-dp/confetti/internal/serve"
)

// A configuration is read or refused, in memory that fits its length, and leads to
// files beside it only by whole paths.
func FuzzConfig(f *testing.F) {
	text, err := os.ReadFile(filepath.FromSlash("../../deploy/config/shuffler.toml"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte("keys = ''\n[http]\nlisten = 1\n"))
	f.Add([]byte("publishers = [[[[[]]]]]"))
	f.Fuzz(func(t *testing.T, text []byte) {
		costtest.Heap(t, costtest.Factor, len(text), func() {
			var c Config
			if err := serve.ParseConfig("/etc/confetti/service.toml", text, &c); err == nil && c.Keys != "" && !filepath.IsAbs(string(c.Keys)) {
				t.Errorf("a relative path is left: %q", c.Keys)
			}
		})
	})
}
