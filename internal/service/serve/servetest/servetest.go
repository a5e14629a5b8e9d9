// Package servetest gives tests of services hostile requests and the limits that they must keep. Used by tests of
// internal/service.
package servetest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/testkit/costlimit"
)

// FuzzConfig checks that a configuration is read or refused, in memory that fits its length,
// and leads to files beside it only by whole paths. It begins with the file that the path,
// with slashes, names; keys gives the folder of keys of a configuration.
func FuzzConfig[C any](f *testing.F, path string, keys func(*C) serve.Path) {
	text, err := os.ReadFile(filepath.FromSlash(path))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte("keys = ''\n[http]\nlisten = 1\n"))
	f.Add([]byte("publishers = [[[[[]]]]]"))
	f.Fuzz(func(t *testing.T, text []byte) {
		costlimit.Heap(t, costlimit.Factor, len(text), func() {
			var c C
			if err := serve.ParseConfig("/etc/confetti/service.toml", text, &c); err == nil && keys(&c) != "" && !filepath.IsAbs(string(keys(&c))) {
				t.Errorf("a relative path is left: %q", keys(&c))
			}
		})
	})
}
