// Package client encodes, randomizes, fragments, seals and sends a respondent's answer, in a constant number of
// envelopes whatever the data. Used by apps, by cmd/confetti/internal/device, and by simulate, which makes every
// device the real one.
//
// Open takes a plan only if a trusted publisher signed it, if its promise follows from its numbers, and if the
// device's administrator allows it. Report answers it if the respondent has opted in (Consent) and the answer stays
// within what may be spent, and sends the answer:
//
//	signed, err := plan.ParseSigned(text)
//	c, err := client.Open(signed, client.Options{
//		Store: native.Folder{Path: dir}, Transport: &native.Transport{}, Publishers: plan.Trust(key), Bearer: credential,
//	})
//	err = c.Report(ctx, density.Labelled{Features: x, Class: 2})
//
// Fetch gets a signed plan from a service. An administrator's policy file and the environment variable CONFETTI_OFF
// can forbid what the respondent allows. Cover sends what looks like an answer, to hide who answers from a network
// that watches.
//
// What the device keeps is in one Store, a folder natively: the ledger of what was spent and said (ReadLedger;
// "confetti ledger show" prints it), and the spool of what has not been sent yet. The order is: the report
// is drawn, written into the ledger, which spends for it, sealed, spooled, sent. A crash anywhere leaves either
// nothing spent and nothing said, or one report that is sent to the end, always the same one. A report waits
// (WaitingError) while it cannot be sent, or its random delay is not over. It goes with a later Report or Deliver of
// the same plan, until it expires.
//
// Pipeline encodes, randomizes, fragments and seals, without ledger, consent and caps. Client uses it, and so do simulations.
package client

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/confetti-dp/confetti/client/internal/journal"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/rng"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
)

// Client answers one plan on one device. It is safe for concurrent use, and so
// are several of one folder, in one process or many.
type Client struct {
	options    Options
	signed     plan.Signed
	hash       [32]byte
	name       string
	cost       cost
	affords    func(*Ledger, time.Time, []Caps, cost) (*Backed, error) // Ledger.afford, but in tests of other rules
	statements []stated                                                // of the plan, and of all rounds of its study
	store      Store
	secret     secret
	sender     *sender

	now  func() time.Time
	wait func(context.Context, time.Duration) error

	reading sync.Mutex // of ledger, with the store's lock
	ledger  *Ledger    // as it was read last; nil: to be read again

	mu       sync.Mutex // of what follows, which is not safe for concurrent use
	pipeline *Pipeline
	rand     *rand.Rand
	unfit    error      // of the last Answer
	taken    [][][]byte // tokens that were asked for before the answer was drawn; nil: to be asked for
}

// Open checks a plan and prepares to answer it. It refuses a plan that no trusted
// publisher signed, whose promise does not follow from its numbers, or that the
// policy does not allow, and says why.
func Open(signed plan.Signed, o Options) (*Client, error) {
	o = o.withDefaults()
	if err := errors.Join(o.Caps.Validate(), o.stores()); err != nil {
		return nil, as("bad-options", fmt.Errorf("client: %w", err))
	}
	if o.Delay < NoDelay || o.Wait < 0 || o.SpoolBytes < 0 || o.SpoolAge < 0 || o.LedgerBytes < 0 || o.LedgerAge < 0 {
		return nil, as("bad-options", errors.New("client: an option is negative"))
	}
	if err := signed.Verify(o.Publishers); err != nil {
		return nil, err
	}
	if _, _, err := o.permits(signed); err != nil {
		return nil, err
	}
	proto, err := protocol.New(signed.Plan)
	if err != nil {
		return nil, as("promise", err)
	}
	found, err := o.check(proto, signed.Study)
	if err != nil {
		return nil, as("promise", err)
	}
	c := &Client{options: o, cost: costs(found.Charge, found.Question), affords: (*Ledger).afford, statements: found.Statements, signed: signed, hash: proto.Hash, name: hex.EncodeToString(proto.Hash[:]), rand: rng.New(), now: o.Now, wait: wait}
	if signed.Study != nil && signed.Study.Takes == plan.TakesAll {
		if err := c.cost.study(proto, *signed.Study); err != nil {
			return nil, as("promise", err)
		}
	}
	if needsState(signed.Plan) {
		if proto, err = protocol.WithState(signed.Plan, o.State); err != nil {
			return nil, err
		}
		if b, ok := proto.Backstop(); ok { // a backstop answers in the words of one state
			c.cost.question = b.Question[:]
		}
	}
	if c.sender, err = newSender(signed.Plan, o); err != nil {
		return nil, err
	}
	if c.pipeline, err = New(proto, rng.New()); err != nil {
		return nil, err
	}
	c.store = o.Store
	unlock, err := c.store.Lock()
	if err != nil {
		return nil, err
	}
	defer unlock()
	if err := journal.Make(c.store); err != nil {
		return nil, err
	}
	l, err := ReadLedger(c.store)
	if err == nil {
		c.secret, err = readSecret(c.store, l)
	}
	if err == nil {
		_, err = l.sweep(c.store, c.now())
	}
	if err == nil && l.entry(c.name) == nil { // what was answered goes on its way
		err = signed.Plan.Collected()
	}
	if err != nil {
		return nil, err
	}
	if err := l.compact(c.now(), o); err != nil {
		return nil, err
	}
	l.journal.Reached() // where that was lost
	return c, c.keep(l)
}

// Charge returns what an answer to the plan costs; of a study that takes all rounds, all of them.
func (c *Client) Charge() Charge { return c.cost.whole }

// Fields returns what the plan asks by name, as Answers has them; nil where its question does
// not go by names.
func (c *Client) Fields() []question.Field {
	if reads, ok := c.pipeline.protocol.Question.(question.Parser); ok {
		return reads.Fields()
	}
	return nil
}

// Close gives connections back. What waits stays in the store.
func (c *Client) Close() { c.options.idle() }

// Report answers the plan with the value, or with Answers by name, and delivers the answer. If the plan was
// answered before, what was said then is delivered, whatever the value, or
// ErrAnswered tells that it has been. A *WaitingError says that the answer is
// safe on the device and not yet sent; after any other error nothing was said.
//
// A value for which the plan has no room is answered too, with what the plan says,
// and sent like any other: silence would tell of it. Report then returns a
// *OutOfDomainError, beside a *WaitingError if there is one. It is for the
// program alone; what the program does next should not show it to anybody else.
//
// Report makes one attempt: a request for tokens, where the plan's hops demand
// them, and one for each contribution that is due, of at most two minutes each. It
// waits for delays, and between further attempts, no longer than Options.Wait.
// Where the entry hop takes tokens a *WaitingError is the rule, since a
// contribution waits out its delay: call Deliver at its Next.
func (c *Client) Report(ctx context.Context, v question.Value) error {
	v, err := c.value(v)
	if err == nil {
		err = c.granted(ctx)
	}
	if err != nil {
		return err
	}
	err = c.Answer(v)
	if errors.Is(err, ErrAnswered) {
		if waiting, unreadable := c.parts(Waiting); unreadable != nil || len(waiting) == 0 {
			return errors.Join(err, unreadable)
		}
		return c.Deliver(ctx)
	}
	if err != nil {
		return err
	}
	unfit, err := c.Unfit(), c.Deliver(ctx)
	if unfit == nil || err == nil {
		return cmp.Or(unfit, err)
	}
	return errors.Join(unfit, err)
}

// OutOfDomainError reports a value outside the plan's domain. The device said the value that the plan names in its place.
type OutOfDomainError = question.OutOfDomainError

// Unfit returns why the plan has no room for the value of the last Answer, a
// *OutOfDomainError; nil if it has.
func (c *Client) Unfit() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.unfit
}

// Answer draws the report and writes it into the ledger, which spends for it. It
// needs no network; Deliver does the rest. That a value does not fit is no error
// here, after which somebody might not call Deliver: see Unfit.
func (c *Client) Answer(v question.Value) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.unfit = nil
	v, err := c.value(v)
	if err != nil {
		return err
	}
	return c.locked(func(l *Ledger, now time.Time) error {
		policy, instances, err := c.allowed(l, now)
		if err != nil {
			return err
		}
		if err := c.refuses(l, now); err != nil {
			return err
		}
		if err := c.takesRound(l, now); err != nil {
			return err
		}
		stands, err := c.affords(l, now, c.caps(policy), c.cost)
		if err != nil {
			return err
		}
		m := &memory{ledger: l, secret: c.secret}
		if stands != nil {
			m.stands = stands.Key
		}
		a, err := c.pipeline.Answer(v, m, c.options.preferred(policy, c.signed.Plan.Route, instances))
		if err != nil {
			return err
		}
		if stands != nil {
			stands = &Backed{stands.Question, m.used, stands.Term}
		}
		if err := c.options.Failpoint("answer-drawn"); err != nil {
			return err
		}
		if err := l.append(c.spending(a, m, stands, now)); err != nil {
			return err
		}
		c.unfit = a.Unfit
		return c.options.Failpoint("answer-spent")
	})
}

// value returns what is answered, where answers are by name.
func (c *Client) value(v question.Value) (question.Value, error) {
	if named, is := v.(Answers); is {
		v, err := named.value(c.pipeline.protocol.Question)
		return v, as("bad-answers", err)
	}
	return v, nil
}

// caps returns those of the program, and the policy's.
func (c *Client) caps(p Policy) []Caps {
	if p.Caps != nil {
		return []Caps{c.options.Caps, *p.Caps}
	}
	return []Caps{c.options.Caps}
}

// spending returns the record of an answer.
func (c *Client) spending(a Answer, m *memory, backed *Backed, now time.Time) record {
	s := &spending{
		Title: c.signed.Plan.Title, Publisher: strings.Join(c.signed.Signers(), " "), Charge: c.cost.first, Reused: m.reused(), Backed: backed, Statements: c.statements,
		Crowd: a.Crowd, CrowdName: c.pipeline.protocol.CrowdName(a.Crowd), Expires: now.Add(c.options.SpoolAge),
	}
	if closes := c.signed.Plan.Times.Closes; !closes.IsZero() && closes.Before(s.Expires) {
		s.Expires = closes
	}
	if round := c.signed.Plan.Round; round != nil {
		s.Study, s.Round = round.Study, round.Number
		if m.ledger.first(c.cost.of) != nil {
			s.Covered, s.Charge = true, c.cost.later
		}
	}
	c.count(s, m.ledger, a)
	for _, part := range a.Parts {
		if part.Vector != nil {
			s.Parts = append(s.Parts, spokenPart{Vector: c.secret.shut(c.hash, part.Vector)})
			continue
		}
		s.Parts = append(s.Parts, spoken(part))
	}
	s.Said = tell(c.pipeline.protocol.Question, s.Parts)
	return record{Kind: kindSpent, At: now, Plan: c.name, Spent: s, Backstops: m.staged}
}

// count writes down how many events an answer says of a study that counts them. In the place of an answer that says
// more than is left the device sends what a day without events sends: sending nothing would tell.
func (c *Client) count(s *spending, l *Ledger, a Answer) {
	counter, ok := c.pipeline.protocol.Question.(question.Counter)
	if !ok || c.signed.Study == nil {
		return
	}
	vector := a.Parts[0].Vector
	events, most, ok := counter.Events(vector)
	if !ok {
		return
	}
	said, last := l.said(s.Study)
	if events > most-said {
		clear(vector)
	}
	counter.Follow(vector, said, last)
	events, _, _ = counter.Events(vector)
	times := c.signed.Study.Times
	s.From, s.Until, s.Events, s.Most = times.Opens.UTC(), times.Closes.Add(plan.LastRow).UTC(), events, most
}

// refuses says why the plan may not be answered now.
func (c *Client) refuses(l *Ledger, now time.Time) error {
	if l.entry(c.name) != nil {
		return ErrAnswered
	}
	size, err := l.sweep(c.store, now)
	if err != nil {
		return err
	}
	if need := c.sender.bytes; size+need > c.options.SpoolBytes {
		return fmt.Errorf("client: refused: %d bytes wait to be sent and this answer has %d, more than the %d that may wait: deliver what waits first", size, need, c.options.SpoolBytes)
	}
	return nil
}

// allowed says why nothing of the plan may be answered or sent now, and what the
// policy is, with the instances that it leaves.
func (c *Client) allowed(l *Ledger, now time.Time) (p Policy, instances []int, err error) {
	if os.Getenv(Off) != "" {
		return p, nil, ErrOff
	}
	if !l.OptedIn {
		return p, nil, ErrNotOptedIn
	}
	t := c.signed.Plan.Times
	if !t.Opens.IsZero() && now.Before(t.Opens) {
		return p, nil, ErrNotOpen
	}
	if !t.Closes.IsZero() && !now.Before(t.Closes) {
		return p, nil, ErrClosed
	}
	return c.options.permits(c.signed)
}

// locked runs f on the ledger as it is on the disk, alone. What f hands out of it
// must be copies. The ledger is read again only if somebody else has written it, or
// f has failed, since.
func (c *Client) locked(f func(l *Ledger, now time.Time) error) error {
	unlock, err := c.store.Lock()
	if err != nil {
		return err
	}
	defer unlock()
	c.reading.Lock()
	defer c.reading.Unlock()
	l := c.ledger
	c.ledger = nil
	if l == nil || !c.unchanged(l) {
		if l, err = ReadLedger(c.store); err != nil {
			return err
		}
	}
	if err := f(l, c.now()); err != nil {
		return err
	}
	return c.keep(l)
}

// keep remembers the ledger as it is on the disk now.
func (c *Client) keep(l *Ledger) (err error) {
	if l.stamp, err = c.store.Stamp(journal.Name); err != nil {
		return fmt.Errorf("client: %w", err)
	}
	c.ledger = l
	return nil
}

// unchanged reports whether nobody has written the ledger since it was kept.
func (c *Client) unchanged(l *Ledger) bool {
	now, err := c.store.Stamp(journal.Name)
	return err == nil && now == l.stamp
}
