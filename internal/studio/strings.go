package studio

import (
	"fmt"
	"math/rand/v2"

	"github.com/confetti-dp/confetti/internal/dp/treecode"
	"github.com/confetti-dp/confetti/internal/release/results"
	"github.com/confetti-dp/confetti/internal/simulate/distribution"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
)

// stringsAsked asks which strings of a column many hold, as confetti plan new strings does.
type stringsAsked struct {
	Column   int    `json:"column"`
	Alphabet string `json:"alphabet"` // --alphabet; empty: any text
	Longest  int    `json:"longest"`  // --longest; 0: both follow from the rows, as by --like

	rows [][]string
	all  distribution.Values
}

func (a *stringsAsked) ask(s *Sheet, c Choice) (out drafted, err error) {
	out.title = "Which strings do many hold?"
	if a.rows, out.left, err = s.records(c, a.Column); err != nil {
		return out, err
	}
	out.rows = len(a.rows)
	if a.Longest == 0 {
		texts := make([]string, len(a.rows))
		for i, row := range a.rows {
			texts[i] = row[0]
		}
		a.Alphabet, a.Longest = treecode.Spelt(texts)
		of := "any text"
		if a.Alphabet != "" {
			of = "the characters " + a.Alphabet
		}
		out.says = append(out.says, fmt.Sprintf("Like your rows: %s, at most %d long. What is longer, or has another character, is counted as not fitting.", of, a.Longest))
	}
	characters, err := treecode.Alphabet(a.Alphabet)
	if err != nil {
		return out, fmt.Errorf("the characters are %w", err)
	}
	out.question = plan.Question{Kind: "strings", Strings: &plan.Strings{Alphabet: characters, Longest: a.Longest, Seed: s.publicSeed()}}
	return out, nil
}

func (a *stringsAsked) came(n int, _ *rand.Rand) distribution.Population {
	a.all = make(distribution.Values, n)
	for i := range a.all {
		a.all[i] = a.rows[int(int64(i)*int64(len(a.rows))/int64(n))][0]
	}
	return distribution.Pooled{Values: a.all}
}

func (a *stringsAsked) truth(p *protocol.Protocol) (*results.Truth, error) {
	return distribution.Reveal(p, a.all)
}
