// Package analyzer opens what the shufflers have mixed, counts it, and learns.
package analyzer

import (
	"fmt"
	"runtime"
	"sync"

	"github.com/confetti-dp/confetti/dp/tally"
	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/release"
)

// Analyzer counts the batches of one plan. It is not safe for concurrent use;
// it opens envelopes on all cores by itself.
type Analyzer struct {
	protocol *protocol.Protocol
	openers  []*envelope.Opener // per instance
	tallies  []*tally.Counts    // per crowd; nil until a batch has come
	counted  map[origin]bool    // the batches that came
	dropped  int
}

type origin struct {
	instance uint16
	crowd    uint32
}

// New is an analyzer for the plan with its private key.
func New(p *protocol.Protocol, key envelope.PrivateKey) (*Analyzer, error) {
	if got, want := key.Public().String(), p.Plan.Analyzer.Key; got != want {
		return nil, fmt.Errorf("analyzer: the private key (%s) is not that of the plan's analyzer", key.Public().ID())
	}
	a := &Analyzer{protocol: p, tallies: make([]*tally.Counts, p.Plan.Crowds()), counted: map[origin]bool{}}
	size := key.Suite().Size(1, p.Plan.Envelopes.PayloadBytes)
	for i, in := range p.Plan.Route.Mix.Instances {
		o, err := envelope.NewOpener(key, p.Hash, uint16(i), uint8(len(in.Hops)), size)
		if err != nil {
			return nil, err
		}
		a.openers = append(a.openers, o)
	}
	return a, nil
}

// Add opens and counts one batch. A batch that does not belong to the plan, or
// came before, is refused whole; single envelopes that do not open, or say what no client
// says, are dropped and counted.
func (a *Analyzer) Add(b envelope.Batch) error {
	if err := a.accepts(b); err != nil {
		return err
	}
	envelopes := distinct(b.Envelopes)
	parts := make([]part, runtime.GOMAXPROCS(0))
	var wg sync.WaitGroup
	for w := range parts {
		wg.Go(func() { parts[w] = a.count(b, envelopes, w, len(parts)) })
	}
	wg.Wait()
	t := a.protocol.NewTally()
	t.Respondents = int(b.Respondents)
	dropped := len(b.Envelopes) - len(envelopes)
	for _, p := range parts {
		if err := t.Merge(p.counts); err != nil {
			return err
		}
		dropped += p.dropped
	}
	// A hop that claims n_min respondents and forwards only a few of them would
	// leave those without the others' noise.
	if least := a.protocol.Plan.HonestMinimum() * a.protocol.Plan.Envelopes.PerDevice; len(b.Envelopes)-dropped < least {
		return fmt.Errorf("analyzer: fewer envelopes of the batch open than %d respondents send, the plan's honest minimum: it is withheld", a.protocol.Plan.HonestMinimum())
	}
	t.Smallest = (len(b.Envelopes) - dropped) / a.protocol.Plan.Envelopes.PerDevice
	if a.tallies[b.Crowd] == nil {
		a.tallies[b.Crowd] = a.protocol.NewTally()
	}
	a.dropped += dropped
	a.counted[origin{b.Instance, b.Crowd}] = true
	return a.tallies[b.Crowd].Merge(t)
}

// distinct leaves out exact copies: a hop that sent one respondent's envelopes
// twice would weigh them double. It cannot alter a copy, which is sealed.
func distinct(envelopes [][]byte) [][]byte {
	seen := make(map[string]struct{}, len(envelopes))
	kept := make([][]byte, 0, len(envelopes))
	for _, e := range envelopes {
		if _, again := seen[string(e)]; !again {
			seen[string(e)] = struct{}{}
			kept = append(kept, e)
		}
	}
	return kept
}

func (a *Analyzer) accepts(b envelope.Batch) error {
	p := a.protocol.Plan
	switch {
	case b.Plan != a.protocol.Hash:
		return fmt.Errorf("analyzer: the batch belongs to another plan (%x...)", b.Plan[:4])
	case int(b.Instance) >= len(a.openers):
		return fmt.Errorf("analyzer: the batch names instance %d; the plan has %d", b.Instance, len(a.openers))
	case int(b.Crowd) >= len(a.tallies):
		return fmt.Errorf("analyzer: the batch names crowd %d; the plan has %d", b.Crowd, len(a.tallies))
	case int(b.Hop) != len(p.Route.Mix.Instances[b.Instance].Hops):
		return fmt.Errorf("analyzer: the batch comes from hop %d of %d: it must pass the whole cascade", b.Hop, len(p.Route.Mix.Instances[b.Instance].Hops))
	case a.counted[origin{b.Instance, b.Crowd}]:
		return fmt.Errorf("analyzer: the batch of instance %d and crowd %d was counted already: there is one of each", b.Instance, b.Crowd)
	case int(b.Respondents) < p.Crowd.Minimum:
		return fmt.Errorf("analyzer: the batch holds fewer respondents than the plan's minimum of %d", p.Crowd.Minimum)
	case len(b.Envelopes) > int(b.Respondents)*p.Envelopes.PerDevice:
		return fmt.Errorf("analyzer: the batch holds more envelopes than its respondents may send")
	}
	return nil
}

type part struct {
	counts  *tally.Counts
	dropped int
}

// count opens every of-th envelope from the w-th on.
func (a *Analyzer) count(b envelope.Batch, envelopes [][]byte, w, of int) part {
	p := part{counts: a.protocol.NewTally()}
	for i := w; i < len(envelopes); i += of {
		payload, err := a.openers[b.Instance].Open(b.Crowd, envelopes[i])
		if err == nil {
			err = a.protocol.Count(p.counts, payload)
		}
		if err != nil {
			p.dropped++
		}
	}
	return p
}

// Tallies is one tally a crowd; nil where no batch came.
func (a *Analyzer) Tallies() []*tally.Counts { return a.tallies }

// Dropped is the number of envelopes that were not counted.
func (a *Analyzer) Dropped() int { return a.dropped }

// Release estimates, learns, and writes up what was counted.
func (a *Analyzer) Release(public protocol.Public) (release.Release, protocol.Model, error) {
	r, model, err := Publish(a.protocol, a.tallies, public)
	if err == nil && a.dropped > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("%d fragments did not open or came twice, and were not counted: every estimate lacks them.", a.dropped))
	}
	return r, model, err
}

// Publish is the analyzer's work once everything is counted. Tallies are one a
// crowd, nil where a crowd was withheld.
func Publish(p *protocol.Protocol, tallies []*tally.Counts, public protocol.Public) (release.Release, protocol.Model, error) {
	estimates := p.Estimate(tallies)
	model, err := p.Learn(estimates, tallies)
	if err != nil {
		return release.Release{}, nil, err
	}
	headline, sections, err := model.Describe(public)
	if err != nil {
		return release.Release{}, nil, err
	}
	statement, err := p.Statement(tallies)
	if err != nil {
		return release.Release{}, nil, err
	}
	statement.Headline, statement.Sections = headline, append(sections, statement.Sections...)
	return statement, model, nil
}
