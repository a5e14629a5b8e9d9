package distribution

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"

	"github.com/confetti-dp/confetti/internal/dp/encode/kernelmap"
	"github.com/confetti-dp/confetti/internal/dp/kde"
	"github.com/confetti-dp/confetti/internal/dp/randomize"
	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/internal/question/densities"
	"github.com/confetti-dp/confetti/internal/release/results"
	"github.com/confetti-dp/confetti/internal/rng"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/question/density"
)

// Streams of a density's population.
const (
	forLabels = iota
	forBits
	forTotals
	forInstances
	forReference
)

func drawDensity(p plan.Plan, d *density.Question, who Population, stream Stream, progress func(done int)) ([]tally.Crowd, error) {
	switch who := who.(type) {
	case *Rounded:
		return who.draw(p, d, stream)
	case Values:
		records, unfit, err := recorded(d, who)
		if err != nil {
			return nil, err
		}
		rounded, err := round(p, d.Features, d.Labels, records, stream, progress)
		if err != nil {
			return nil, err
		}
		crowds, err := rounded.draw(p, d, func(part ...uint64) *rand.Rand { return stream(append([]uint64{forTotals}, part...)...) })
		if err != nil {
			return nil, err
		}
		progress(len(who))
		return crowds, unfit.err()
	}
	return nil, stranger(p, who)
}

// Records are respondents of a density question whose features, which fit the plan, need
// not all be in memory.
type Records struct {
	Classes []int
	Row     func(i int) []float32 // not called from several goroutines; holds until the next call

	reference []bool // who has no features; nil: nobody
}

// recorded returns what devices take values for.
func recorded(d *density.Question, values Values) (r Records, unfit unfits, err error) {
	features := make([][]float32, len(values))
	r = Records{Classes: make([]int, len(values)), Row: func(i int) []float32 { return features[i] }, reference: make([]bool, len(values))}
	for i, v := range values {
		l, ok := v.(density.Labelled)
		if !ok {
			return r, unfit, fmt.Errorf("value %d is no record of a density question", i+1)
		}
		l, bad := d.StandIn(l)
		unfit.add(i, bad)
		r.Classes[i], features[i], r.reference[i] = l.Class, l.Features, l.Features == nil
	}
	return r, unfit, nil
}

// Rounded is what the respondents of a density question report but for the noise of its
// sums: their classes, and one rounded bit a channel. Rounding takes most of the time of
// Draw. Plans that differ in their bitsum and in the budget of the features share it.
type Rounded struct {
	Batches [][]Batch // by reported class and instance

	respondents int
	question    plan.Density // without its bitsum
	labels      plan.LabelEpsilon
	crowd       plan.Crowd
}

// Batch is those of a class in one instance who count.
type Batch struct {
	Members []int
	Ones    []int // of them, by channel; nil where they are fewer than the plan's minimum
}

// Respondents returns their number, those included who do not count.
func (r *Rounded) Respondents() int { return r.respondents }

// Round draws the reported class, the instance and the rounded bits of respondents, of a
// plan whose noise need not be known.
func Round(p plan.Plan, who Records, stream Stream, progress func(done int)) (*Rounded, error) {
	if p.Question.Density == nil {
		return nil, errors.New("distribution: only densities have rounded bits")
	}
	for i, class := range who.Classes {
		if class < 0 || class >= p.Crowds() {
			return nil, fmt.Errorf("distribution: respondent %d is of none of the plan's %d classes", i+1, p.Crowds())
		}
	}
	features, err := densities.Features(*p.Question.Density)
	if err != nil {
		return nil, err
	}
	labels, err := densities.Labels(p)
	if err != nil {
		return nil, err
	}
	return round(p, features, labels, who, stream, progress)
}

func round(p plan.Plan, features *kernelmap.Features, labels *randomize.KRR, who Records, stream Stream, progress func(done int)) (*Rounded, error) {
	r := &Rounded{respondents: len(who.Classes), question: withoutBitsum(p), labels: p.Budget.LabelEpsilon, crowd: p.Crowd}
	r.Batches = make([][]Batch, p.Crowds())
	for class := range r.Batches {
		r.Batches[class] = make([]Batch, len(p.Route.Ways()))
	}
	randomness, instances := stream(forLabels), stream(forInstances)
	for i, class := range who.Classes {
		b := &r.Batches[densities.Class(randomness, labels, p.Crowds(), class)][instances.IntN(len(p.Route.Ways()))]
		b.Members = append(b.Members, i)
	}
	done := 0
	for class := range r.Batches {
		fair := stream(forReference, uint64(class))
		for instance := range r.Batches[class] {
			b := &r.Batches[class][instance]
			came := len(b.Members)
			if came >= max(1, p.Crowd.Minimum) {
				b.Members = counting(instances, p, b.Members)
				bits := func(part int) *rand.Rand { return stream(forBits, uint64(class), uint64(instance)<<32|uint64(part)) }
				if err := b.round(features, who, bits, fair, func(n int) { progress(done + n) }); err != nil {
					return nil, fmt.Errorf("class %q: %w", p.Crowd.Names[class], err)
				}
			}
			done += came
		}
	}
	return r, nil
}

// round sums the bits of the batch; fair are those of respondents without features.
func (b *Batch) round(features *kernelmap.Features, who Records, bits func(part int) *rand.Rand, fair *rand.Rand, progress func(done int)) (err error) {
	fit := b.Members
	if who.reference != nil {
		fit = nil
		for _, i := range b.Members {
			if !who.reference[i] {
				fit = append(fit, i)
			}
		}
	}
	if b.Ones, err = kde.SumBits(features, len(fit), func(i int) []float32 { return who.Row(fit[i]) }, bits, progress); err != nil {
		return err
	}
	for channel := range b.Ones {
		b.Ones[channel] += rng.Binomial(fair, len(b.Members)-len(fit), rng.Prob(0.5))
	}
	return nil
}

// withoutBitsum returns what of a plan the rounded bits depend on, beside labels and crowds.
func withoutBitsum(p plan.Plan) plan.Density {
	d := *p.Question.Density
	d.Bitsum = plan.Bitsum{}
	return d
}

// draw draws the totals given the rounded bits.
func (r *Rounded) draw(p plan.Plan, d *density.Question, stream Stream) ([]tally.Crowd, error) {
	if p.Budget.LabelEpsilon != r.labels || !reflect.DeepEqual(withoutBitsum(p), r.question) || len(p.Route.Ways()) != len(r.Batches[0]) || p.Crowd.Minimum < r.crowd.Minimum {
		return nil, errors.New("distribution: the bits were rounded for another question, for other instances or for larger crowds: round them again")
	}
	crowds := make([]tally.Crowd, len(r.Batches))
	for class, batches := range r.Batches {
		ones := make([]int, d.Features.Channels())
		c := &crowds[class]
		for _, b := range batches {
			n := len(b.Members)
			switch most := p.Crowd.Maximum; {
			case n < max(1, p.Crowd.Minimum):
				continue
			case most != 0 && n > most:
				return nil, fmt.Errorf("distribution: the bits of %d respondents of a class were rounded, of whom at most %d count: raise crowd.maximum, or round them again", n, most)
			}
			c.Respondents += n
			if c.Smallest == 0 || n < c.Smallest {
				c.Smallest = n
			}
			for channel, k := range b.Ones {
				ones[channel] += k
			}
		}
		if c.Respondents == 0 {
			continue
		}
		t, source := tally.NewCounts(d.Features.Channels(), 2), stream(uint64(class))
		for channel, k := range ones {
			n := d.Bits.DrawCounts(source, k, c.Respondents)
			copy(t.Channel(channel), n[:])
		}
		c.Tally = t
	}
	return crowds, nil
}

func revealDensity(p plan.Plan, values Values) (*results.Truth, error) {
	truth := &results.Truth{Crowds: make([]int, p.Crowds())}
	for i, v := range values {
		l, ok := v.(density.Labelled)
		if !ok || l.Class < 0 || l.Class >= len(truth.Crowds) {
			return nil, fmt.Errorf("value %d is not a labelled vector of one of %d classes", i+1, len(truth.Crowds))
		}
		truth.Crowds[l.Class]++
	}
	return truth, nil
}
