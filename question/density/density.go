// Package density asks what the feature vectors of each class look like (KDE, section 3.3). Used by question/all,
// protocol/design, internal/release/results and internal/simulate.
package density

import (
	"fmt"
	"math/rand/v2"

	"github.com/confetti-dp/confetti/internal/dp/bitsum"
	"github.com/confetti-dp/confetti/internal/dp/encode/kernelmap"
	"github.com/confetti-dp/confetti/internal/dp/estimate"
	"github.com/confetti-dp/confetti/internal/dp/kde"
	"github.com/confetti-dp/confetti/internal/dp/randomize"
	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/question/densities"
	"github.com/confetti-dp/confetti/plan"
)

// Labelled is the value of a density question: a feature vector and the index
// of its class. Both are private. Neither has to fit (question.OutOfDomainError): features may have
// no direction, or another length than the plan's, and the class may be none of its.
type Labelled struct {
	Features []float32
	Class    int
}

// Question is k-ary response on the class, which becomes the crowd, and one
// bit of Algorithm 1 a channel.
type Question struct {
	Features *kernelmap.Features
	Bits     summer
	Labels   *randomize.KRR // nil: labels are sent as they are

	plan plan.Plan
}

// newQuestion makes the question of a valid plan runnable.
func newQuestion(p plan.Plan) (*Question, error) {
	q := p.Question.Density
	features, err := densities.Features(*q)
	if err != nil {
		return nil, err
	}
	d := &Question{plan: p, Features: features}
	if d.Bits, err = NewBitsum(q.Bitsum, p.MinHonest()); err != nil {
		return nil, err
	}
	d.Labels, err = densities.Labels(p)
	return d, err
}

// Encode maps the features (KDE, Algorithm 1).
func (d *Question) Encode(v question.Value) (question.Symbol, error) {
	l, ok := v.(Labelled)
	if !ok {
		return nil, fmt.Errorf("density: a density question takes Labelled values, not %T", v)
	}
	l, unfit := d.StandIn(l)
	x, mapped := l.Features, make([]float32, d.Features.Channels())
	if x == nil {
		x = d.ordinary()
	}
	if err := d.Features.Map(x, mapped); err != nil {
		return nil, err
	}
	if l.Features == nil {
		clear(mapped)
	}
	s := featured{class: l.Class, vector: mapped}
	if unfit != nil {
		return s, unfit
	}
	return s, nil
}

// featured is the symbol.
type featured struct {
	class  int       // or densities.AnyClass
	vector []float32 // f(x)/R of Algorithm 1, by channel
}

// Randomize keeps nothing in memory: a density has no backstop.
func (d *Question) Randomize(r *rand.Rand, symbol question.Symbol, _ question.Memory) (question.Report, error) {
	s := symbol.(featured)
	crowd := densities.Class(r, d.Labels, d.plan.Crowds(), s.class)
	said := tally.NewMessages(len(s.vector))
	send := func(channel int, symbol uint8) { said.Say(uint32(channel), symbol) }
	if rr, ok := d.Bits.(flipping); ok { // one draw a bit does both
		symbols := make([]uint8, len(s.vector))
		rr.RoundAndRandomize(r, s.vector, symbols)
		for channel, symbol := range symbols {
			send(channel, symbol)
		}
	} else {
		bits := make([]bool, len(s.vector))
		bitsum.RoundAll(r, s.vector, bits)
		d.Bits.RandomizeAll(r, bits, send)
	}
	return question.Report{Crowd: crowd, Parts: [][][]byte{said.Bodies}}, nil
}

// NewTally counts the two symbols of each channel.
func (d *Question) NewTally() tally.Tally { return tally.NewCounts(d.Features.Channels(), 2) }

// Estimate returns how many respondents have a one, by channel.
func (d *Question) Estimate(crowd tally.Crowd) []estimate.Value {
	t := crowd.Tally.(*tally.Counts)
	ones := make([]estimate.Value, t.Channels)
	for c := range ones {
		ones[c] = d.Bits.Estimate([2]uint64(t.Channel(c)), crowd.Respondents)
	}
	return ones
}

// Model is the density of every class.
type Model struct {
	Plan      [32]byte // the hash of the one that was asked
	Classes   []string
	Densities []kde.Density  // by reported class; of no respondents where it was withheld
	Labels    *randomize.KRR // that classes were reported by; nil: as they are
}

// Learn estimates the sums of each reported class.
func (d *Question) Learn(crowds []tally.Crowd) (question.Model, error) {
	m := &Model{Plan: d.plan.Hash(), Classes: d.plan.Crowd.Names, Densities: make([]kde.Density, len(crowds)), Labels: d.Labels}
	for c, crowd := range crowds {
		m.Densities[c].Features = d.Features
		if crowd.Tally != nil {
			m.Densities[c].Sums, m.Densities[c].Respondents = d.Estimate(crowd), crowd.Respondents
		}
	}
	return m, nil
}

// Vector returns the features in a symbol.
func Vector(s question.Symbol) []float32 { return s.(featured).vector }
