package release

import (
	"math"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/dp/account"
)

func TestEpsilonIsNeverFlattered(t *testing.T) {
	for _, c := range []struct {
		epsilon, delta   float64
		verdict, meaning string
	}{
		{1, 1e-6, "ε = 1, δ = 10⁻⁶", "2.8 times"},
		{1, 0, "ε = 1, δ = 0", "2.8 times"},
		{0.69999999, 1e-9, "ε = 0.7, δ = 10⁻⁹", "2.1 times"},
		{0, 0, "ε = 0, δ = 0", "1 times"},
		{1.00001, 1.0001e-6, "ε = 1.001, δ = 1.01×10⁻⁶", "one in 999,900"},
		{20, 0, "ε = 20, δ = 0", "490,000,000 times"},
		{20.01, 0, "No meaningful protection", "ε = 20.01"},
		{math.Inf(1), 0, "No meaningful protection", "No limit"},
		{1, 1, "No meaningful protection", "empty"},
	} {
		g := GuaranteeStatement{Guarantee: account.Guarantee{Epsilon: c.epsilon, Delta: c.delta}}
		if got := g.Verdict(); got != c.verdict {
			t.Errorf("verdict of %v, %v: %q, want %q", c.epsilon, c.delta, got, c.verdict)
		}
		if got := g.Meaning(); !strings.Contains(got, c.meaning) {
			t.Errorf("meaning of %v, %v: %q, want %q", c.epsilon, c.delta, got, c.meaning)
		}
	}
}

func TestNumbers(t *testing.T) {
	for want, got := range map[string]string{
		"0":             FormatNumber(0),
		"1":             FormatNumber(1),
		"−12,345":       FormatNumber(-12345),
		"0.1235":        FormatNumber(0.12345),
		"12.35":         FormatNumber(12.346),
		"10⁻⁶":          FormatNumber(1e-6),
		"2.5×10⁻⁷":      FormatNumber(2.5e-7),
		"−10²⁰":         FormatNumber(-1e20),
		"84.62%":        amount(0.8462, 0.004, Share),
		"84.6%":         amount(0.8462, 0, Share),
		"1,235 ± 12":    plusMinus(1234.6, 12.3, Count),
		"0.412 ± 0.011": plusMinus(0.412, 0.011, ""),
		"151 kB":        amount(150528, 0, Bytes),
		"1 MB":          amount(999999, 0, Bytes),
		"12 B":          amount(12, 0, Bytes),
		"87.1 ms":       amount(0.0871, 0, Seconds),
		"2 min":         amount(2, 0, "min"),
		"40,000":        amount(40000, 0, Count),
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
