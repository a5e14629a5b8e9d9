package terms

import "testing"

// Shares are rounded against the device: it never hides behind more coins than were tossed.
func TestTheCoinIsRoundedDown(t *testing.T) {
	for share, want := range map[float64]string{
		0.2: "one such word in five is the coin's", 0.2001: "one such word in five is the coin's", 0.1999: "one such word in six is the coin's",
		0.05: "one such word in 20 is the coin's", 0.49: "one such word in three is the coin's", 1e-5: "one such word in 100000 is the coin's",
		0.5: "five such words in ten are the coin's", 0.59: "five such words in ten are the coin's", 0.6: "six such words in ten are the coin's",
		0.9999: "nine such words in ten are the coin's", 1: "nine such words in ten are the coin's",
		1e-7: "not one such word in a million is the coin's", 0: "not one such word in a million is the coin's",
	} {
		if got := Coin(share, "word"); got != want {
			t.Errorf("%v: %q, want %q", share, got, want)
		}
	}
}

func TestASentenceListsFew(t *testing.T) {
	words := []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m"}
	if got := List(words[:12]...); got != "a, b, c, d, e, f, g, h, i, j, k, l" {
		t.Error(got)
	}
	if got := List(words...); got != "a, b, c, d, e, f, g, h, i, j, k, l and more" {
		t.Error(got)
	}
	if got := List("a\x1b[2J", "b"); got != `a\x1b[2J, b` {
		t.Error(got)
	}
	if got := []string{Count(0, "bit"), Count(1, "bit"), Count(12, "bit"), Count(13, "bit")}; got[0] != "no bits" || got[1] != "one bit" || got[2] != "twelve bits" || got[3] != "13 bits" {
		t.Error(got)
	}
}
