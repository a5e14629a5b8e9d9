package randomize

import (
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// Symbols are those that docs/wire-randomness.md gives, computed in Python from it alone
// (testdata/vectors/origin.py).
func TestLocalHashVectors(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "vectors", "v1", "local_hash.json"))
	if err != nil {
		t.Fatal(err)
	}
	var v struct {
		Cases []struct {
			Seed              string
			Symbols, Function int
			Cells, Hashes     []int
		}
	}
	if err := json.Unmarshal(text, &v); err != nil || len(v.Cases) < 16 {
		t.Fatal(len(v.Cases), err)
	}
	for _, c := range v.Cases {
		seed, err := hex.DecodeString(c.Seed)
		if err != nil || len(seed) != 32 {
			t.Fatal(c.Seed, err)
		}
		h := LocalHash{G: c.Symbols, Seed: [32]byte(seed)}.function(c.Function)
		for i, x := range c.Cells {
			if got := h.symbol(x); got != c.Hashes[i] {
				t.Errorf("cell %d under function %d to %d symbols: %d, not %d", x, c.Function, c.Symbols, got, c.Hashes[i])
			}
		}
	}
}
