package analyzer

import (
	"bytes"
	"fmt"
	"hash/maphash"
	"runtime"
	"sync"

	"github.com/confetti-dp/confetti/dp/tally"
	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/protocol"
)

// Counter opens the batches of one plan and counts what is in them. It keeps
// nothing of a batch and is safe for concurrent use.
type Counter struct {
	protocol *protocol.Protocol
	openers  []*envelope.Opener // per instance
}

// NewCounter makes a counter for the plan with its analyzer's private key.
func NewCounter(p *protocol.Protocol, key envelope.PrivateKey) (*Counter, error) {
	if got, want := key.Public().String(), p.Plan.Analyzer.Key; got != want {
		return nil, fmt.Errorf("analyzer: the private key (%s) is not that of the plan's analyzer", key.Public().ID())
	}
	c := &Counter{protocol: p}
	size := key.Suite().Size(1, p.Plan.Envelopes.PayloadBytes)
	for i, in := range p.Plan.Route.Mix.Instances {
		o, err := envelope.NewOpener(key, p.Hash, uint16(i), uint8(len(in.Hops)), size)
		if err != nil {
			return nil, err
		}
		c.openers = append(c.openers, o)
	}
	return c, nil
}

// Count opens one batch, on all cores, and returns its tally and how many of its
// envelopes are not in it: those that did not open, said what no client says, or
// came twice. A batch that does not belong to the plan, or in which too few of the
// guarantee's honest respondents can be, is refused whole.
func (c *Counter) Count(b envelope.Batch) (*tally.Counts, int, error) {
	if err := c.accepts(b); err != nil {
		return nil, 0, err
	}
	envelopes := distinct(b.Envelopes)
	parts := make([]part, runtime.GOMAXPROCS(0))
	var wg sync.WaitGroup
	for w := range parts {
		wg.Go(func() { parts[w] = c.count(b, envelopes, w, len(parts)) })
	}
	wg.Wait()
	t, dropped := parts[0].counts, len(b.Envelopes)-len(envelopes)+parts[0].dropped
	for _, p := range parts[1:] {
		if err := t.Merge(p.counts); err != nil {
			return nil, 0, err
		}
		dropped += p.dropped
	}
	// A hop that claims n_min respondents and forwards only a few of them would
	// leave those without the others' noise.
	p := c.protocol.Plan
	counted := len(b.Envelopes) - dropped
	if counted < p.HonestMinimum()*p.Envelopes.PerDevice {
		return nil, 0, fmt.Errorf("analyzer: fewer envelopes of the batch open than %d respondents send, the plan's honest minimum: it is withheld", p.HonestMinimum())
	}
	t.Respondents = int(b.Respondents)
	t.Smallest = counted / p.Envelopes.PerDevice
	return t, dropped, nil
}

func (c *Counter) accepts(b envelope.Batch) error {
	p := c.protocol.Plan
	switch {
	case b.Plan != c.protocol.Hash:
		return fmt.Errorf("analyzer: the batch belongs to another plan (%x...)", b.Plan[:6])
	case int(b.Instance) >= len(c.openers):
		return fmt.Errorf("analyzer: the batch names instance %d; the plan has %d", int(b.Instance)+1, len(c.openers))
	case int(b.Crowd) >= p.Crowds():
		return fmt.Errorf("analyzer: the batch names crowd %d; the plan has %d", int64(b.Crowd)+1, p.Crowds())
	case int(b.Hop) != len(p.Route.Mix.Instances[b.Instance].Hops):
		return fmt.Errorf("analyzer: the batch comes from hop %d of %d: it must pass the whole cascade", b.Hop, len(p.Route.Mix.Instances[b.Instance].Hops))
	case int(b.Respondents) < p.Crowd.Minimum:
		return fmt.Errorf("analyzer: the batch holds fewer respondents than the plan's minimum of %d", p.Crowd.Minimum)
	case p.Crowd.Maximum > 0 && int64(b.Respondents) > int64(p.Crowd.Maximum):
		return fmt.Errorf("analyzer: the batch holds more respondents than the plan's maximum of %d", p.Crowd.Maximum)
	case len(b.Envelopes) > int(b.Respondents)*p.Envelopes.PerDevice:
		return fmt.Errorf("analyzer: the batch holds more envelopes than its respondents may send")
	}
	return nil
}

// distinct leaves out exact copies: a hop that sent one respondent's envelopes
// twice would weigh them double. It cannot alter a copy, which is sealed. Two
// envelopes of one hash, which nobody can bring about who does not know the seed,
// both stay.
func distinct(envelopes [][]byte) [][]byte {
	seed := maphash.MakeSeed()
	seen := make(map[uint64][]byte, len(envelopes))
	kept := make([][]byte, 0, len(envelopes))
	for _, e := range envelopes {
		hash := maphash.Bytes(seed, e)
		first, again := seen[hash]
		if again && bytes.Equal(first, e) {
			continue
		}
		seen[hash] = e
		kept = append(kept, e)
	}
	return kept
}

type part struct {
	counts  *tally.Counts
	dropped int
}

// count opens every of-th envelope from the w-th on.
func (c *Counter) count(b envelope.Batch, envelopes [][]byte, w, of int) part {
	p := part{counts: c.protocol.NewTally()}
	for i := w; i < len(envelopes); i += of {
		payload, err := c.openers[b.Instance].Open(b.Crowd, envelopes[i])
		if err == nil {
			err = c.protocol.Count(p.counts, payload)
		}
		if err != nil {
			p.dropped++
		}
	}
	return p
}
