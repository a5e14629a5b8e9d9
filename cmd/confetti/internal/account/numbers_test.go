package account

import (
	"fmt"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/account"
)

func TestNumbersForPeople(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{thousands(0), "0"}, {thousands(999), "999"}, {thousands(1000), "1,000"}, {thousands(1234567), "1,234,567"},
		{wide(1186.9), "1,187"}, {wide(0.000123456), "0.0001235"}, {wide(3e9), "3e+09"},
		{account.Percent(0.01), "1 %"}, {account.Percent(0.99999), "over 99.99 %"}, {account.Percent(1), "over 99.99 %"}, {account.Percent(0.02673), "2.67 %"},
		{fmt.Sprint(strings.Count(indent(strings.Repeat("word ", 50)), "\n")), "3"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}

// What an epsilon is stated of is attacked, with the same flags.
func TestWhatIsClaimedIsAttacked(t *testing.T) {
	for _, m := range mechanisms {
		if knows(m) != attacked(m) {
			t.Errorf("%s: an epsilon: %v, an attack: %v", m.name, knows(m), attacked(m))
		}
	}
}
