package client_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/client"
)

// A ledger that lost its last lines or all of them, or was put back as it once was,
// is refused: the device would say a second thing. What else may rot says so, or does
// no harm.
func TestAShortenedLedgerIsRefused(t *testing.T) {
	p, _ := sample(t, "rr", 2, 3)
	s := newService(t, &p, false)
	o := device(t, s)
	ledger := filepath.Join(dir(o), "ledger")
	read := func(path string) []byte {
		t.Helper()
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	write := func(path string, text []byte) {
		t.Helper()
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	report := func() error {
		c, err := client.Open(sign(p), o)
		if err != nil {
			return err
		}
		defer c.Close()
		return c.Report(t.Context(), value(1))
	}
	early := read(ledger) // consent alone
	if err := report(); err != nil {
		t.Fatal(err)
	}
	whole := read(ledger)
	lines := strings.SplitAfter(strings.TrimSuffix(string(whole), "\n"), "\n")
	for name, text := range map[string][]byte{
		"as it once was":         early,
		"without its last line":  []byte(strings.Join(lines[:len(lines)-1], "")),
		"without its last bytes": whole[:len(whole)-3],
		"empty":                  {},
		"gone":                   nil,
	} {
		if err := os.Remove(ledger); err != nil {
			t.Fatal(err)
		}
		if text != nil {
			write(ledger, text)
		}
		if err := report(); err == nil || !strings.Contains(err.Error(), "damaged") {
			t.Errorf("%s: %v", name, err)
		}
		write(ledger, whole)
	}
	end := filepath.Join(dir(o), "ledger.end")
	for name, text := range map[string]string{"damaged": "12 x", "gone": ""} {
		write(end, []byte(text))
		if name == "gone" {
			os.Remove(end)
		}
		if err := report(); !errors.Is(err, client.ErrAnswered) {
			t.Errorf("how far it had come is %s: %v", name, err)
		}
	}
	if kept, _, _ := s.counts(); kept != 1 {
		t.Errorf("%d contributions were kept", kept)
	}
}
