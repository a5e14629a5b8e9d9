package distribution

import (
	"fmt"
	"math/rand/v2"

	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/internal/question"
)

// oneByOne has devices report, each one message, where no total of these has a law of its own.
type oneByOne struct {
	of interface {
		Encode(question.Value) (question.Symbol, error)
		Randomize(*rand.Rand, question.Symbol, question.Memory) (question.Report, error)
		NewTally() tally.Tally
	}
	values   Values
	r        *rand.Rand
	progress func(done int)

	done  int
	unfit unfits
}

// crowd returns what the devices that hold some of the values report, the smallest instance of whom has
// so many; one of nobody is withheld.
func (o *oneByOne) crowd(who []int, smallest int) (tally.Crowd, error) {
	if len(who) == 0 {
		return tally.Crowd{}, nil
	}
	t := o.of.NewTally()
	for _, i := range who {
		symbol, err := o.of.Encode(o.values[i])
		bad, err := question.Fits(err)
		if err != nil {
			return tally.Crowd{}, fmt.Errorf("value %d: %w", i+1, err)
		}
		o.unfit.add(i, bad)
		report, err := o.of.Randomize(o.r, symbol, nil)
		if err != nil {
			return tally.Crowd{}, err
		}
		if err := t.Add(report.Parts[0][0]); err != nil {
			return tally.Crowd{}, err
		}
		if o.done++; o.done%256 == 0 {
			o.progress(o.done)
		}
	}
	return tally.Crowd{Tally: t, Respondents: len(who), Smallest: smallest}, nil
}
