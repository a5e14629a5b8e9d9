package terminal

import "testing"

func TestNumbersForPeople(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{Thousands(0), "0"}, {Thousands(999), "999"}, {Thousands(1000), "1,000"}, {Thousands(1234567), "1,234,567"},
		{Wide(1186.9), "1,187"}, {Wide(0.000123456), "0.0001235"}, {Wide(3e9), "3e+09"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}
