package plan

import (
	"encoding/hex"
	"fmt"
	"math"
	"strings"
	"unicode"
)

// MaxProblems is how many faults of a plan are listed. Whoever has corrected them
// is told of the next.
const MaxProblems = 20

// Problems is the faults found in a plan, MaxProblems of them at most. Package plan
// lists those of any plan, and each kind of question those of its own section.
type Problems []string

// Error lists the problems, one a line.
func (p Problems) Error() string {
	if len(p) == 1 {
		return "plan: " + p[0]
	}
	number := fmt.Sprint(len(p))
	if p.Full() {
		number = "at least " + number
	}
	return fmt.Sprintf("plan: %s problems:\n  - %s", number, strings.Join(p, "\n  - "))
}

// Err returns the problems as an error; nil where there are none.
func (p Problems) Err() error {
	if len(p) == 0 {
		return nil
	}
	return p
}

// Full says that nothing more is listed: a walk over a list may stop.
func (p *Problems) Full() bool { return len(*p) >= MaxProblems }

// Require lists a problem unless it is ok.
func (p *Problems) Require(ok bool, format string, a ...any) {
	if !ok && !p.Full() {
		*p = append(*p, fmt.Sprintf(format, a...))
	}
}

// Seed lists what is not 64 hex digits.
func (p *Problems) Seed(at, text string) {
	b, err := hex.DecodeString(text)
	p.Require(err == nil && len(b) == 32, "%s must be 64 hex digits", at)
}

// Names lists names that are empty, come twice, or hold what no release may print.
func (p *Problems) Names(at string, names []string) {
	seen := make(map[string]bool, len(names))
	for i, name := range names {
		if strings.TrimSpace(name) == "" {
			p.Require(false, "%s: the name at %d is empty", at, i+1)
		}
		if seen[name] {
			p.Require(false, "%s: %s is named twice", at, Quoted(name))
		}
		if strings.ContainsFunc(name, unicode.IsControl) {
			p.Require(false, "%s: %s holds a control character", at, Quoted(name))
		}
		if p.Full() {
			return
		}
		seen[name] = true
	}
}

// Quoted returns a name as a problem shows it: a long one by how it begins.
func Quoted(name string) string {
	const most = 64 // bytes
	if len(name) > most {
		return fmt.Sprintf("%q...", name[:most])
	}
	return fmt.Sprintf("%q", name)
}

// Finite says that x is a number.
func Finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }
