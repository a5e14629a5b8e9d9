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
	"pgregory.net/rapid"
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

// Bayes' rule over every mechanism of two answers and two things to see whose
// likelihoods differ by at most e^epsilon: no posterior leaves the interval, and
// randomized response reaches both ends.
func TestBelief(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		prior := rapid.Float64Range(1e-6, 1-1e-6).Draw(t, "prior")
		epsilon := rapid.Float64Range(0, 30).Draw(t, "epsilon")
		p := rapid.Float64Range(1e-9, 1).Draw(t, "p")
		q := p * math.Exp(epsilon*rapid.Float64Range(-1, 1).Draw(t, "ratio"))
		low, high := belief(prior, epsilon)
		posterior := prior / (prior + (1-prior)*q/p)
		if posterior < low*(1-1e-12) || posterior > high*(1+1e-12) {
			t.Fatalf("%v is outside [%v, %v]", posterior, low, high)
		}
		flip := 1 / (1 + math.Exp(epsilon))
		keep := 1 - flip
		if top := prior * keep / (prior*keep + (1-prior)*flip); epsilon < 20 && math.Abs(top-high) > 1e-6 {
			t.Fatalf("randomized response reaches %v, not %v", top, high)
		}
	})
	if low, high := belief(0.3, -1); low != 0 || high != 1 {
		t.Errorf("without a limit: [%v, %v]", low, high)
	}
}
