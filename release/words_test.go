package release

import "testing"

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
