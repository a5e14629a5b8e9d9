package words

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/client"
	"github.com/confetti-dp/confetti/client/native"
	"github.com/google/go-cmp/cmp"
)

func TestShowIsGolden(t *testing.T) {
	journal, err := os.ReadFile("../../../client/testdata/ledger-v2")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "ledger"), journal, 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := client.ReadLedger(native.Folder{Path: dir})
	if err != nil {
		t.Fatal(err)
	}
	l.Entries[0].Title = "Where do people walk?\x1b[2J"
	var b bytes.Buffer
	if err := Show(&b, l, 0.5); err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("testdata/ledger.txt")
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), b.String()); d != "" {
		t.Error(d)
	}
	if strings.Contains(b.String(), "\x1b") {
		t.Error("a title commands the terminal")
	}
	for _, prior := range []float64{0, 1, -1, math.NaN()} {
		if Show(&b, l, prior) == nil {
			t.Errorf("a prior of %v", prior)
		}
	}
}
