package simulate

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"

	"github.com/confetti-dp/confetti/dp/kde"
	"github.com/confetti-dp/confetti/dp/randomize"
	"github.com/confetti-dp/confetti/dp/tally"
	"github.com/confetti-dp/confetti/internal/replay"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/question/density"
)

// Rounded is what the respondents of a density question report but for the noise of its
// sums: their classes, and one rounded bit a channel. Rounding takes most of the time of
// Law. Plans that differ in their bitsum and in the budget of the features share it.
type Rounded struct {
	Members [][]int // respondents by reported class
	Ones    [][]int // by reported class and channel

	question plan.Density // without its bitsum
	labels   plan.LabelEpsilon
}

// Round draws the reported class and the rounded bits of respondents of the given classes,
// whose features are those of row. The values must fit the plan. Row is not called from
// several goroutines, and what it returns is not used after the next call.
func Round(p plan.Plan, classes []int, row func(i int) []float32, seed uint64, progress Progress) (*Rounded, error) {
	const forLabels, forBits = 0, 1
	if p.Question.Density == nil {
		return nil, errors.New("simulate: only densities have rounded bits")
	}
	r := &Rounded{question: withoutBitsum(p), labels: p.Budget.LabelEpsilon}
	features, err := density.Features(*p.Question.Density)
	if err != nil {
		return nil, err
	}
	if r.Members, err = reported(p, classes, replay.New(seed, forLabels)); err != nil {
		return nil, err
	}
	done := 0
	for class, who := range r.Members {
		ones, err := kde.SumBits(features, len(who), func(i int) []float32 { return row(who[i]) },
			func(part int) *rand.Rand { return replay.New(seed, forBits, uint64(class), uint64(part)) },
			func(n int) { progress("round bits", done+n, len(classes)) })
		if err != nil {
			return nil, fmt.Errorf("class %q: %w", p.Crowd.Names[class], err)
		}
		done += len(who)
		r.Ones = append(r.Ones, ones)
	}
	return r, nil
}

// reported lists the respondents of each class that is reported.
func reported(p plan.Plan, classes []int, r *rand.Rand) ([][]int, error) {
	members := make([][]int, p.Crowds())
	label := func(class int) int { return class }
	if l := p.Budget.LabelEpsilon; l != plan.Unprotected && len(members) > 1 {
		krr := randomize.KRR{K: len(members), Epsilon: float64(l)}
		if err := krr.Validate(); err != nil {
			return nil, fmt.Errorf("simulate: budget.label_epsilon: %w", err)
		}
		label = func(class int) int { return krr.Randomize(r, class) }
	}
	for i, class := range classes {
		if class < 0 || class >= len(members) {
			return nil, fmt.Errorf("simulate: respondent %d is of none of the plan's %d classes", i+1, len(members))
		}
		to := label(class)
		members[to] = append(members[to], i)
	}
	return members, nil
}

// withoutBitsum is what of a plan the rounded bits depend on, beside the labels' epsilon.
func withoutBitsum(p plan.Plan) plan.Density {
	d := *p.Question.Density
	d.Bitsum = plan.Bitsum{}
	return d
}

// Law draws the totals of a plan of one instance from their exact distribution, given the
// rounded bits. A class with fewer respondents than the plan's minimum is withheld.
func (r *Rounded) Law(p *protocol.Protocol, seed uint64) (Collection, error) {
	d := p.Plan.Question.Density
	if d == nil || p.Plan.Budget.LabelEpsilon != r.labels || !reflect.DeepEqual(withoutBitsum(p.Plan), r.question) || len(p.Plan.Route.Mix.Instances) != 1 {
		return Collection{}, errors.New("simulate: the bits were rounded for another question, or the plan has several instances: round them again, or use Law")
	}
	bits, _, err := density.NewBitsum(d.Bitsum, p.Plan.HonestMinimum())
	if err != nil {
		return Collection{}, err
	}
	col := Collection{Crowds: make([]tally.Crowd, len(r.Ones))}
	for class, ones := range r.Ones {
		n := len(r.Members[class])
		col.Devices += n
		switch most := p.Plan.Crowd.Maximum; {
		case most != 0 && n > most:
			return col, fmt.Errorf("simulate: %d respondents of a class, of whom at most %d count: raise crowd.maximum, or use Law", n, most)
		case n < p.Plan.Crowd.Minimum:
			col.Withheld = append(col.Withheld, fmt.Sprintf("crowd %d: fewer than %d respondents", class+1, p.Plan.Crowd.Minimum))
			continue
		}
		t, source := p.NewTally().(*tally.Counts), replay.New(seed, uint64(class))
		for channel, k := range ones {
			counts := bits.DrawCounts(source, k, n)
			copy(t.Channel(channel), counts[:])
		}
		col.Crowds[class] = tally.Crowd{Tally: t, Respondents: n, Smallest: n}
	}
	return col, nil
}
