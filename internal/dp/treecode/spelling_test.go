package treecode

import "testing"

// Examples say what strings are made of and how long they are, in the words of --alphabet, which a hyphen among the
// characters does not change.
func TestExamplesSayHowStringsAreSpelt(t *testing.T) {
	for _, c := range []struct {
		examples      []string
		alphabet, all string
		longest       int
	}{
		{[]string{"tea", "z"}, "a-z", "abcdefghijklmnopqrstuvwxyz", 3},
		{[]string{"10.0-rc2", "7_"}, "a-z0-9._-", "abcdefghijklmnopqrstuvwxyz0123456789._-", 8},
		{[]string{"+-", "-,"}, "+,-", "+,-", 2},
		{[]string{"A", "-"}, "A-Z-", "ABCDEFGHIJKLMNOPQRSTUVWXYZ-", 1},
		{[]string{"Zoë", "Ann-Marie"}, "", "", 9},
		{[]string{"ёж"}, "", "", 4},
	} {
		alphabet, longest := Spelt(c.examples)
		all, err := Alphabet(alphabet)
		if err != nil || alphabet != c.alphabet || all != c.all || longest != c.longest {
			t.Errorf("%q: %q of %d, %q, %v", c.examples, alphabet, longest, all, err)
		}
	}
}
