package metrics

import (
	"bytes"
	"crypto/ed25519"
	"os"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/client/metrics"
	"github.com/confetti-dp/confetti/plan"
)

// phones are the languages, with a file each. The Kotlin compiler takes the golden one in client/kotlin, which counts by it;
// nobody here has compiled that of Swift.
var phones = []struct {
	phone
	file, registry, golden string
}{
	{kotlin, "src/main/kotlin/counts/Counts.kt", "/confetti.registry.json", "testdata/counts.kt.txt"},
	{swift, "Sources/App/Counts.swift", "confetti.registry.json", "testdata/counts.swift.txt"},
}

// signer is a publisher whose private key tests of other packages know.
var signer = plan.Publisher(ed25519.NewKeyFromSeed(bytes.Repeat([]byte{1}, ed25519.SeedSize)).Public().(ed25519.PublicKey))

func TestCodeOfPhonesIsGolden(t *testing.T) {
	for _, p := range phones {
		got, err := p.generate(every(), []string{signer}, p.file, p.registry)
		if err != nil {
			t.Fatal(err)
		}
		if *update {
			if err := os.WriteFile(p.golden, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if want, err := os.ReadFile(p.golden); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%v: go test ./cmd/confetti/internal/metrics -run Golden -args -update\n%s", err, got)
		}
	}
}

func TestCodeOfPhonesRefusesNamesThatCollide(t *testing.T) {
	for want, change := range map[string]func(*metrics.Registry){
		`"a-b" of theme cannot be called`:    func(r *metrics.Registry) { r.Metrics[8].Values = []string{"a b", "a-b"} },
		"start cannot be called start":       func(r *metrics.Registry) { r.Metrics[1].Name = "start" },
		"while cannot be called while":       func(r *metrics.Registry) { r.Metrics[1].Name = "while" },
		`"9 lives" of theme cannot be`:       func(r *metrics.Registry) { r.Metrics[8].Values = []string{"9 lives", "b"} },
		`"++" of theme cannot be called no`:  func(r *metrics.Registry) { r.Metrics[8].Values = []string{"++", "b"} },
		"export_used cannot be called theme": func(r *metrics.Registry) { r.Metrics[8].Name = "export__used" },
	} {
		for _, p := range phones {
			r := every()
			change(&r)
			_, err := p.generate(r, []string{signer}, p.file, p.registry)
			if want, _, _ := strings.Cut(want, " cannot be called theme"); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %s", p.name, err, want)
			}
		}
	}
	for _, p := range phones {
		if _, err := p.generate(every(), []string{signer}, "counts."+p.name, p.registry); err == nil || !strings.Contains(err.Error(), `"counts" is no name`) {
			t.Errorf("%s: %v", p.name, err)
		}
	}
}

// What stands in quotes, and in comments, ends neither.
func TestCodeOfPhonesQuotes(t *testing.T) {
	r := every()
	r.Metrics[8].Values, r.Metrics[8].Why = []string{"a \"$b\" \\ c", "\u2028d"}, "Why */ not"
	for want, p := range map[string]int{`A_B_C("a \"\$b\" \\ c"),`: 0, `aBC = "a \"$b\" \\ c"`: 1, `d = "\u{2028}d"`: 1, "Why * / not": 0} {
		got, err := phones[p].generate(r, []string{signer}, phones[p].file, phones[p].registry)
		if err != nil || !strings.Contains(string(got), want) {
			t.Errorf("%s: %v\n%s", want, err, got)
		}
	}
}
