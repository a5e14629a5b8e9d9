package protocol

import (
	"encoding/hex"
	"fmt"
	"math/rand/v2"

	"github.com/confetti-dp/confetti/dp/account"
	"github.com/confetti-dp/confetti/dp/bitsum"
	"github.com/confetti-dp/confetti/dp/encode"
	"github.com/confetti-dp/confetti/dp/estimate"
	"github.com/confetti-dp/confetti/dp/kde"
	"github.com/confetti-dp/confetti/dp/randomize"
	"github.com/confetti-dp/confetti/dp/tally"
	"github.com/confetti-dp/confetti/learn/hdc"
	"github.com/confetti-dp/confetti/plan"
)

// Labelled is the value of a density question: a feature vector and the index
// of its class. Both are private. Neither has to fit (UnfitError): features may have
// no direction, or another length than the plan's, and the class may be none of its.
type Labelled struct {
	Features []float32
	Class    int
}

// density is the question of KDE, section 3.3: m-ary randomized response on
// the class, which becomes the crowd, and one bit of Algorithm 1 a channel.
type density struct {
	plan     plan.Plan
	features *encode.Features
	bits     BitSummer
	channel  account.Event  // what the accountant is told of one channel
	labels   *randomize.KRR // nil: labels are sent as they are
}

// spec is the plan's feature map.
func spec(q plan.Density) (encode.Spec, error) {
	k := q.Kernel
	s := encode.Spec{
		Kernel: encode.Kernel(k.Name), Dimension: q.Dimension, Repetitions: q.Repetitions,
		Bandwidth: k.Bandwidth, Clip: k.Clip, Radius: k.Radius, Buckets: k.Buckets, Normalize: q.Normalize,
	}
	seed, err := hex.DecodeString(k.Seed)
	if err != nil || len(seed) != len(s.Seed) {
		return s, fmt.Errorf("protocol: the kernel's seed is not %d hex digits", 2*len(s.Seed))
	}
	copy(s.Seed[:], seed)
	return s, nil
}

// Features is the plan's feature map, made ready.
func Features(q plan.Density) (*encode.Features, error) {
	spec, err := spec(q)
	if err != nil {
		return nil, err
	}
	return encode.New(spec)
}

func newDensity(p plan.Plan) (*density, error) {
	q := p.Question.Density
	features, err := Features(*q)
	if err != nil {
		return nil, err
	}
	d := &density{plan: p, features: features}
	if d.bits, d.channel, err = NewBitsum(q.Bitsum, p.HonestMinimum()); err != nil {
		return nil, err
	}
	d.channel = thinnable(p, d.channel)
	if p.Budget.LabelEpsilon != plan.Unprotected && len(q.Classes) > 1 {
		d.labels = &randomize.KRR{K: len(q.Classes), Epsilon: float64(p.Budget.LabelEpsilon)}
		if err := d.labels.Validate(); err != nil {
			return nil, fmt.Errorf("protocol: budget.label_epsilon: %w", err)
		}
	}
	return d, nil
}

func labelled(v Value) (Labelled, error) {
	l, ok := v.(Labelled)
	if !ok {
		return l, fmt.Errorf("protocol: a density question takes Labelled values, not %T", v)
	}
	return l, nil
}

func (d *density) encode(v Value) (Symbol, error) {
	l, err := labelled(v)
	if err != nil {
		return nil, err
	}
	l, unfit := d.standIn(l)
	x, mapped := l.Features, make([]float32, d.features.Channels())
	if x == nil {
		x = d.ordinary()
	}
	if err := d.features.Map(x, mapped); err != nil {
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

// featured is the symbol of a density question.
type featured struct {
	class  int       // or anyClass
	vector []float32 // f(x)/R of Algorithm 1, by channel
}

// Nothing is kept in memory: a density has no backstop.
func (d *density) randomize(r *rand.Rand, symbol Symbol, _ Memory) (Report, error) {
	s := symbol.(featured)
	crowd := d.reportedClass(r, s.class)
	said := tally.NewMessages(len(s.vector))
	send := func(channel int, symbol uint8) { said.Say(uint32(channel), symbol) }
	if rr, ok := d.bits.(bitsum.RR); ok { // one draw a bit does both
		symbols := make([]uint8, len(s.vector))
		rr.RoundAndRandomize(r, s.vector, symbols)
		for channel, symbol := range symbols {
			send(channel, symbol)
		}
	} else {
		bits := make([]bool, len(s.vector))
		bitsum.RoundAll(r, s.vector, bits)
		d.bits.RandomizeAll(r, bits, send)
	}
	return Report{Crowd: crowd, Parts: [][][]byte{said.Bodies}}, nil
}

func (d *density) reportedClass(r *rand.Rand, class int) int {
	if class == anyClass {
		return r.IntN(d.plan.Crowds()) // of which randomized response is the same
	}
	if d.labels == nil {
		return class
	}
	return d.labels.Randomize(r, class)
}

func (d *density) newTally() tally.Tally { return tally.NewCounts(d.features.Channels(), 2) }

func (d *density) estimate(crowd tally.Crowd) []estimate.Value {
	t := crowd.Tally.(*tally.Counts)
	ones := make([]estimate.Value, t.Channels)
	for c := range ones {
		ones[c] = d.bits.Estimate([2]uint64(t.Channel(c)), crowd.Respondents)
	}
	return ones
}

func (d *density) learn(crowds []tally.Crowd) (Model, error) {
	respondents := make([]int, len(crowds))
	densities := make([]kde.Density, len(crowds))
	for c, crowd := range crowds {
		densities[c].Features = d.features
		if crowd.Tally != nil {
			respondents[c] = crowd.Respondents
			densities[c].Sums, densities[c].Respondents = d.estimate(crowd), crowd.Respondents
		}
	}
	model, err := hdc.New(d.plan.Question.Density.Classes, densities)
	if err != nil {
		return nil, err
	}
	return &DensityModel{Model: model, Reported: respondents, labels: d.labels, features: d.features}, nil
}
