package release

import (
	"testing"

	"github.com/confetti-dp/confetti/internal/release/numerals"
)

func TestNumbers(t *testing.T) {
	for want, got := range map[string]string{
		"0":             numerals.FormatNumber(0),
		"1":             numerals.FormatNumber(1),
		"−12,345":       numerals.FormatNumber(-12345),
		"0.1235":        numerals.FormatNumber(0.12345),
		"12.35":         numerals.FormatNumber(12.346),
		"10⁻⁶":          numerals.FormatNumber(1e-6),
		"2.5×10⁻⁷":      numerals.FormatNumber(2.5e-7),
		"−10²⁰":         numerals.FormatNumber(-1e20),
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
