package account_test

import (
	"testing"

	"github.com/confetti-dp/confetti/account"
)

func TestPercent(t *testing.T) {
	for share, want := range map[float64]string{0.01: "1 %", 0.99999: "over 99.99 %", 1: "over 99.99 %", 0.02673: "2.67 %"} {
		if got := account.Percent(share); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
