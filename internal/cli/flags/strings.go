package flags

import (
	"errors"
	"fmt"

	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/internal/dp/treecode"
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
	all, err := treecode.Alphabet(alphabet)
	if err != nil {
		return plan.Strings{}, terminal.Usagef("--alphabet is %w", err)
	}
	return plan.Strings{Alphabet: all, Longest: f.Longest}, nil
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
	alphabet, longest = treecode.Spelt(examples)
	return alphabet, longest, nil
}
