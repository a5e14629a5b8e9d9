package collection

import (
	"context"
	"fmt"
	"time"

	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/release/results"
	"github.com/confetti-dp/confetti/internal/simulate/distribution"
	"github.com/confetti-dp/confetti/party/analyzer"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/release"
	"github.com/confetti-dp/confetti/simulate"
)

// asked is what came of a question that was put to a population.
type asked struct {
	simulate.Collection
	learned question.Model
	truth   *results.Truth
}

// ask puts the question to all values: through sealed envelopes in full, in the folder of work
// if it names one, or by its law.
func ask(proto *protocol.Protocol, keys simulate.Keys, values distribution.Values, full bool, work simulate.Bounded, seed uint64, progress simulate.Progress) (a asked, err error) {
	switch {
	case work.Dir != "":
		a.Collection, err = work.Run(context.Background(), proto, keys, values, seed, progress)
	case full:
		a.Collection, err = simulate.Full(proto, keys, values, seed, progress)
	default:
		a.Collection, err = simulate.Law(proto, values, seed, progress)
	}
	if err == nil {
		a.learned, err = proto.Learn(a.Crowds)
	}
	if err == nil {
		a.truth, err = distribution.Reveal(proto, values)
	}
	return a, err
}

// publish returns the release of what was learned; seed is what people are told of the randomness.
func (a asked) publish(proto *protocol.Protocol, public results.Public, seed uint64) (release.Release, error) {
	r, err := analyzer.Numbers(proto, a.learned, a.Crowds, public)
	if err != nil {
		return r, err
	}
	r.Source, r.Full, r.Created = release.Simulation, a.Fragments > 0, time.Now().UTC()
	r.Provenance.Randomness = fmt.Sprintf("simulated from seed %d", seed)
	r.Remarks = append(r.Remarks, a.Notes()...)
	return r, analyzer.Write(proto, &r)
}
