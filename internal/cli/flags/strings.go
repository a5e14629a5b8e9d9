package flags

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/internal/table"
	"github.com/confetti-dp/confetti/plan"
)

// Strings describe strings that nobody listed.
type Strings struct {
	Longest int `help:"strings: the most characters of one, or without --alphabet bytes; longer ones count as not fitting. With it and without --kind, the kind is strings." placeholder:"N"`
}

// Check refuses flags that are wrong by themselves, and a route that strings do not go.
func (f Strings) Check(r Route) error {
	var errs terminal.Faults
	errs.Require(r.Noise != plan.NoiseDevices, "--noise devices: strings are summed as they are: name aggregators or shared, or have answers mixed")
	errs.Require(f.Longest >= 1, "--longest is %d: say how many characters a string has at most", f.Longest)
	return errors.Join(errs...)
}

// Question returns the section of a plan, but for its seed and what a design fills in.
func (f Strings) Question(alphabet string) (plan.Strings, error) {
	all, err := alphabetOf(alphabet)
	return plan.Strings{Alphabet: all, Longest: f.Longest}, err
}

// alphabetOf returns the characters that a flag names: one with a hyphen and another behind it stands for all from
// it to the other.
func alphabetOf(text string) (string, error) {
	var all []rune
	given := []rune(text)
	for i := 0; i < len(given); i++ {
		if i+2 >= len(given) || given[i+1] != '-' {
			all = append(all, given[i])
			continue
		}
		first, last := given[i], given[i+2]
		if last < first || last-first > 1<<10 {
			return "", terminal.Usagef("--alphabet is %q: of a range such as a-z the first character comes first, and it has at most 1024", text)
		}
		for r := first; r <= last; r++ {
			all = append(all, r)
		}
		i += 2
	}
	return string(all), nil
}

// Spelt returns what the examples of a file, one a line, are made of, as --alphabet names it, and how long they are.
func Spelt(path string) (alphabet string, longest int, err error) {
	examples, err := table.ReadLines(path)
	if err == nil && len(examples) == 0 {
		err = fmt.Errorf("%s holds no example: give one a line", path)
	}
	if err != nil {
		return "", 0, err
	}
	alphabet, longest = spelt(examples)
	return alphabet, longest, nil
}

// spelt returns characters as --alphabet names them and the length of the longest of some examples: all small letters
// where there is one, all capitals and all digits likewise. Where one is not of ASCII it returns no alphabet, and bytes.
func spelt(examples []string) (alphabet string, longest int) {
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
