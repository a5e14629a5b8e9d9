package analyzer

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/internal/dp/fragment"
	"github.com/confetti-dp/confetti/internal/dp/tally"
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
	for i, in := range p.Plan.Route.Instances() {
		o, err := envelope.NewOpener(key, p.Hash, uint16(i), uint8(len(in.Hops)), size)
		if err != nil {
			return nil, err
		}
		c.openers = append(c.openers, o)
	}
	return c, nil
}

// Counted is what was counted of some envelopes of a batch.
type Counted struct {
	Tally   tally.Tally
	Opened  int // envelopes that are in the tally, dummies included
	Dropped int // that are not: they did not open, said what no client says, or came twice
}

// Shard returns which of so many shards of its batch an envelope belongs to. Copies of an
// envelope fall together, so that whoever counts a shard finds them.
func Shard(e []byte, of int) int {
	return int(binary.BigEndian.Uint64(e[len(e)-8:]) % uint64(of)) // of the tag, which is as good as uniform
}

// Count opens a whole batch and returns what is in it, and how many of its envelopes
// are not.
func (c *Counter) Count(b envelope.Batch) (tally.Crowd, int, error) {
	h := b.Head()
	counted, err := c.Some(h, b.Envelopes)
	if err != nil {
		return tally.Crowd{}, 0, err
	}
	crowd, err := Whole(c.protocol, h, counted)
	return crowd, counted.Dropped, err
}

// Some opens and counts whole shards of a batch, on all cores: any worker may, in any
// order. A batch that does not belong to the plan is refused.
func (c *Counter) Some(h envelope.Head, envelopes [][]byte) (Counted, error) {
	if err := accepts(c.protocol, h); err != nil {
		return Counted{}, err
	}
	kept := distinct(envelopes)
	t := c.protocol.NewTally()
	// Opening takes a thousand times as long as counting: one tally, which may be
	// large, serves all cores.
	var counting sync.Mutex
	var next, opened atomic.Int64
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for {
				to := int(next.Add(portion))
				from := to - portion
				if from >= len(kept) {
					return
				}
				payloads := c.open(h, kept[from:min(to, len(kept))])
				counting.Lock()
				n := c.count(t, payloads)
				counting.Unlock()
				opened.Add(int64(n))
			}
		})
	}
	wg.Wait()
	n := int(opened.Load())
	return Counted{Tally: t, Opened: n, Dropped: len(envelopes) - n}, nil
}

// portion is how many envelopes a core opens before it counts them.
const portion = 256

// open returns the payloads of those envelopes that open.
func (c *Counter) open(h envelope.Head, envelopes [][]byte) [][]byte {
	payloads := c.openers[h.Instance].OpenAll(h.Crowd, envelopes)
	return slices.DeleteFunc(payloads, func(p []byte) bool { return p == nil })
}

// count returns how many payloads it could count.
func (c *Counter) count(t tally.Tally, payloads [][]byte) (n int) {
	for _, payload := range payloads {
		if fragment.Count(t, payload) == nil {
			n++
		}
	}
	return n
}

// Whole returns what all shards of a batch of a plan together hold. It takes over their
// tallies. A batch of which shards are missing, or in which too few of the guarantee's
// honest respondents can be, is refused.
func Whole(from *protocol.Protocol, h envelope.Head, all ...Counted) (tally.Crowd, error) {
	if err := accepts(from, h); err != nil {
		return tally.Crowd{}, err
	}
	whole := Counted{Tally: from.NewTally()}
	for i, s := range all {
		if i == 0 {
			whole = s
			continue
		}
		if err := whole.Tally.Merge(s.Tally); err != nil {
			return tally.Crowd{}, err
		}
		whole.Opened, whole.Dropped = whole.Opened+s.Opened, whole.Dropped+s.Dropped
	}
	if n := whole.Opened + whole.Dropped; int64(n) != int64(h.Envelopes) {
		return tally.Crowd{}, fmt.Errorf("analyzer: %d envelopes of the batch's %d were seen: count each shard once", n, h.Envelopes)
	}
	// A hop that claims n_min respondents and forwards only a few of them would
	// leave those without the others' noise.
	p := from.Plan
	if whole.Opened < p.MinHonest()*p.Envelopes.PerDevice {
		return tally.Crowd{}, fmt.Errorf("analyzer: fewer envelopes of the batch open than %d respondents send, the plan's honest minimum: it is withheld", p.MinHonest())
	}
	return tally.Crowd{Tally: whole.Tally, Respondents: int(h.Respondents), Smallest: whole.Opened / p.Envelopes.PerDevice}, nil
}

// accepts refuses a batch that does not belong to the plan.
func accepts(from *protocol.Protocol, h envelope.Head) error {
	p := from.Plan
	switch {
	case h.Plan != from.Hash:
		return fmt.Errorf("analyzer: the batch belongs to another plan (%x...)", h.Plan[:6])
	case int(h.Instance) >= len(p.Route.Instances()):
		return fmt.Errorf("analyzer: the batch names instance %d; the plan has %d", int(h.Instance)+1, len(p.Route.Instances()))
	case int64(h.Crowd) >= int64(p.Crowds()):
		return fmt.Errorf("analyzer: the batch names crowd %d; the plan has %d", int64(h.Crowd)+1, p.Crowds())
	case int(h.Hop) != len(p.Route.Instances()[h.Instance].Hops):
		return fmt.Errorf("analyzer: the batch comes from hop %d of %d: it must pass the whole cascade", h.Hop, len(p.Route.Instances()[h.Instance].Hops))
	case int64(h.Respondents) < int64(p.Crowd.Minimum):
		return fmt.Errorf("analyzer: the batch holds fewer respondents than the plan's minimum of %d", p.Crowd.Minimum)
	case p.Crowd.Maximum > 0 && int64(h.Respondents) > int64(p.Crowd.Maximum):
		return fmt.Errorf("analyzer: the batch holds more respondents than the plan's maximum of %d", p.Crowd.Maximum)
	case int64(h.Envelopes) > int64(h.Respondents)*int64(p.Envelopes.PerDevice):
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
