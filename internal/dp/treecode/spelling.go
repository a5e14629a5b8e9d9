package treecode

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// Alphabet returns the characters that a text names: one with a hyphen and another behind it stands for all from it to the
// other.
func Alphabet(text string) (string, error) {
	var all []rune
	given := []rune(text)
	for i := 0; i < len(given); i++ {
		if i+2 >= len(given) || given[i+1] != '-' {
			all = append(all, given[i])
			continue
		}
		first, last := given[i], given[i+2]
		if last < first || last-first > 1<<10 {
			return "", fmt.Errorf("%q: of a range such as a-z the first character comes first, and it has at most 1024", text)
		}
		for r := first; r <= last; r++ {
			all = append(all, r)
		}
		i += 2
	}
	return string(all), nil
}

// Spelt returns characters as Alphabet reads them and the length of the longest of some examples: all small letters
// where there is one, all capitals and all digits likewise. Where one is not of ASCII it returns no characters, and bytes.
func Spelt(examples []string) (characters string, longest int) {
	classes := map[string]string{}
	var others []rune
	for _, text := range examples {
		longest = max(longest, len(text))
		for _, r := range text {
			switch {
			case r > unicode.MaxASCII:
				classes["any"] = ""
			case unicode.IsLower(r):
				classes["lower"] = "a-z"
			case unicode.IsUpper(r):
				classes["upper"] = "A-Z"
			case unicode.IsDigit(r):
				classes["digit"] = "0-9"
			default:
				others = append(others, r)
			}
		}
	}
	if _, any := classes["any"]; any {
		return "", longest
	}
	slices.Sort(others)
	rest := string(slices.Compact(others))
	if strings.Contains(rest, "-") { // last, where it stands for itself
		rest = strings.ReplaceAll(rest, "-", "") + "-"
	}
	return classes["lower"] + classes["upper"] + classes["digit"] + rest, longest
}
