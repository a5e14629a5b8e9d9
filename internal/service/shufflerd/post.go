package shufflerd

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/internal/service/inbox"
	"github.com/confetti-dp/confetti/internal/service/registry"
	"github.com/confetti-dp/confetti/internal/wire/relay"
	"github.com/confetti-dp/confetti/party/shuffler"
	"github.com/confetti-dp/confetti/plan"
)

// Failpoints are the steps that Options.Failpoint is called at, each before the
// next thing that lasts. Between "X" and its mark a crash must lose nothing and
// let nothing leave twice. Withdraw calls it at "withdrawn", when that is on disk and
// nothing is destroyed yet.
var Failpoints = []string{
	"contribution-kept", // on disk, not acknowledged
	"epoch-marked",      // closed for good, contributions may still be on their way in
	"epoch-sealed",      // no more can come in
	"batch-chunks-kept", // of a batch that comes in; not yet marked as here
	"batch-kept",        // marked, not acknowledged
	"outbox-written",    // mixed and on disk, not yet marked
	"mixed",             // marked, what came in still there
	"epoch-mixed",       // every crowd is mixed or destroyed; what came in still there
	"inbox-purged",      // what came in is gone
	"next-acknowledged", // the next hop has it, not yet marked
	"forwarded",         // marked, the outbox still there
	"outbox-purged",
}

// Failpoint is called at "marked PHASE" too, when a crowd's mark is on disk and nobody has
// heard of it.

// partFailpoints are those of crowds that are laid out in parts.
var partFailpoints = []string{
	"parts-written", // not yet marked
	"parts-marked",  // what came in still there
	"step-done",     // each time
	"parts-purged",
	"manifest-kept", // of a batch that comes in parts
	"part-kept",     // each time, not acknowledged
	"part-sent",     // each time, and acknowledged
}

// post is one hop of one instance of a plan, with the entry before it if it is the first.
// One goroutine at a time carries it on, the holder of working; batches come in and pages
// are shown beside that.
type post struct {
	// Set by newPost, and not changed after it.
	s             *Service
	name          string // unique, in boxes and records
	plan          plan.Plan
	hash          [32]byte
	instance, hop int
	key           envelope.PrivateKey
	before        *registry.Neighbour // nil: respondents
	behind        *registry.Neighbour
	sign          relay.SignKey
	receiptKeys   []relay.VerifyKey // of all hops of the instance
	entry         *inbox.Epoch      // has locks of its own; nil at later hops
	woken         chan struct{}     // a word for run, from anybody

	working sync.Mutex
	untidy  bool // under working: boxes may be there that nobody needs

	mu        sync.Mutex                    // over all below
	changed   map[uint32]time.Time          // when crowds got the mark that they have, or this process found it
	crowds    []crowd                       // marks as they are on disk; written by the holder of working, and of received ones by the holder of busy
	spent     map[uint32][]shuffler.TokenID // by the holder of working
	unsure    map[uint32]bool               // crowds of whose mark a write was not answered
	busy      map[uint32]bool               // crowds whose batch somebody takes in, or tidies
	refusals  map[uint32]refusal            // by the holder of working: of crowds' batches, by the next one
	forgotten string                        // what the next one acknowledged and does not know any more
	failed    string                        // by run: what went wrong last, for the operator
	ended     bool                          // the plan is withdrawn: nothing more comes in
	erased    bool                          // nothing is left, after the retention or a withdrawal
}

func (s *Service) newPost(ctx context.Context, p plan.Plan, instance, hop int, key envelope.PrivateKey, keys keys) (*post, error) {
	hops := p.Route.Instances()[instance].Hops
	hash := p.Hash()
	t := &post{
		s: s, name: postName(hash, instance, hop), plan: p, hash: hash, instance: instance, hop: hop, key: key,
		woken: make(chan struct{}, 1), untidy: true, crowds: make([]crowd, p.Crowds()), changed: map[uint32]time.Time{},
		spent: map[uint32][]shuffler.TokenID{}, unsure: map[uint32]bool{}, busy: map[uint32]bool{}, refusals: map[uint32]refusal{},
	}
	for h, party := range hops {
		// Without receipts anybody could take a crowd's place with a batch of nothing.
		k, err := relay.ParseVerifyKey(party.Receipts)
		if err != nil {
			return nil, registry.Refused(fmt.Sprintf("hop %d of instance %d needs a key for its receipts", h+1, instance+1))
		}
		t.receiptKeys = append(t.receiptKeys, k)
	}
	sign, ok := keys.sign[hops[hop].Receipts]
	if !ok {
		return nil, registry.Refused(fmt.Sprintf("the private key of the receipts of hop %d of instance %d is not here", hop+1, instance+1))
	}
	t.sign = sign
	t.meet()
	if t.next().URL == "" {
		return nil, registry.Refused("it does not say where " + t.next().Operator + " listens")
	}
	if err := t.form().Validate(); err != nil && p.SealedOnce() {
		return nil, registry.Refused(err.Error())
	}
	earlier := hop == 0 && !p.SealedOnce()
	if _, err := t.mixer(); err != nil && !earlier {
		return nil, err
	}
	if err := t.restore(ctx); err != nil {
		return nil, err
	}
	if err := t.compare(ctx); err != nil {
		return nil, err
	}
	if hop > 0 {
		return t, nil
	}
	if err := t.openEntry(ctx); err != nil || !earlier || t.allMixed() {
		return t, err
	}
	return nil, fmt.Errorf("shuffler: plan %s is of version %d and not ended at this entry, whose contributions this build does not open: let the build that began it end it, or withdraw the plan there", p.Name(), p.Version)
}

// allMixed reports whether the crowds of an entry are all mixed, and nothing more comes.
func (t *post) allMixed() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.entry.Mark().Purged && !slices.ContainsFunc(t.crowds, func(c crowd) bool { return c.Phase == laidOut })
}

// form returns that of contributions to the entry of this instance.
func (t *post) form() envelope.Form {
	e := t.plan.Envelopes
	return envelope.NewForm(t.hash, uint16(t.instance), envelope.Suite(e.Suite), e.PerDevice, e.PayloadBytes, t.plan.Slots(t.instance))
}

// next returns the party that gets what this hop has mixed.
func (t *post) next() plan.Party {
	hops := t.plan.Route.Instances()[t.instance].Hops
	if t.hop+1 < len(hops) {
		return hops[t.hop+1]
	}
	return t.plan.Analyzer
}

// mixer returns a hop that knows what has left. One serves for one crowd: after a
// failure to write it would take the crowd for one that has left.
func (t *post) mixer() (*shuffler.Hop, error) {
	h, err := shuffler.NewHop(t.plan, t.instance, t.hop, t.key)
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for c, state := range t.crowds {
		if state.Phase == mixed || state.Phase == forwarded {
			h.Restore(uint32(c), t.spent[uint32(c)])
		}
	}
	return h, nil
}
