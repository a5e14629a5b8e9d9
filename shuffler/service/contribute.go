package service

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/internal/intake"
	"github.com/confetti-dp/confetti/internal/queue"
	"github.com/confetti-dp/confetti/internal/serve"
	"github.com/confetti-dp/confetti/internal/token"
	"github.com/confetti-dp/confetti/internal/wire"
)

// openEntry makes or finds the inbox of an epoch and the secret that its
// respondents are known by.
func (t *post) openEntry(ctx context.Context) error {
	var err error
	if t.entry, err = intake.NewRules(t.plan, t.instance); err != nil {
		return err
	}
	if size, most := t.entry.ContributionSize(), t.s.o.Queue.MaxContent(); size > most {
		return refused(fmt.Sprintf("a contribution has %d bytes: the limit here is %d", size, most))
	}
	if text := t.plan.Route.Mix.Instances[t.instance].Hops[0].Tokens; text != "" {
		if t.tokens, err = token.ParsePublicKey(text); err != nil {
			return err
		}
	}
	value, revision, err := t.s.records.Get(ctx, t.epochKey())
	if err != nil {
		return err
	}
	if revision != 0 {
		if t.epoch, err = parseEpoch(value); err != nil {
			return fmt.Errorf("service: the record %s is damaged: %w", t.epochKey(), err)
		}
		t.epoch.revision = revision
	}
	if t.epoch.Purged {
		return nil
	}
	if t.inbox, err = t.s.o.Queue.Inbox(ctx, t.inName(), t.s.o.Damage); err != nil {
		return damaged(err)
	}
	// Respondents are known by hashes that nobody can make any more when the inbox
	// is dropped.
	t.secret = serve.NewSecret(t.inbox.Secret("respondents"))
	return nil
}

// damaged says what can be done about what a disk does not give back.
func damaged(err error) error {
	if errors.Is(err, queue.ErrDamaged) {
		err = fmt.Errorf("%w: mend the disk, or go on without what is damaged: --set-aside (docs/operating.md, When a disk is damaged)", err)
	}
	return err
}

// coverLabel is the label of cover in an inbox; those of contributions are the
// numbers of their crowds, which are fewer.
const coverLabel = 1<<32 - 1

// maxCovers is how many covers of one respondent an epoch keeps, in one run of the
// service: they take as much disk as answers.
const maxCovers = 16

// respondentKey is where a respondent's contribution lies. Its 128 bits: among 2^32
// respondents two share a key with probability 2^-65.
func respondentKey(r serve.Respondent) [16]byte { return [16]byte(r[:16]) }

// coverKey is where a respondent's cover lies: like no respondent's key.
func coverKey(r serve.Respondent, id [32]byte) [16]byte {
	sum := sha256.Sum256(append(append([]byte("confetti/cover key"), r[:]...), id[:]...))
	return [16]byte(sum[:16])
}

// contribute takes a contribution: authenticated, of the plan's one length, on
// disk before it is acknowledged, and once for a respondent.
func (s *Service) contribute(w http.ResponseWriter, r *http.Request) error {
	hash, err := wire.PathPlan(r)
	if err != nil {
		return err
	}
	instance, err := wire.PathInstance(r)
	if err != nil {
		return err
	}
	id, err := wire.PathID(r)
	if err != nil {
		return err
	}
	t, err := s.post(hash, instance, 0)
	if err != nil {
		return err
	}
	if err := wire.CheckType(r, wire.ContributionType); err != nil {
		return err
	}
	if err := t.isOpen(); err != nil {
		return err
	}
	respondent, err := t.authenticate(r)
	if err != nil {
		return err
	}
	if err := s.rates.Allow(respondent); err != nil {
		return err
	}
	if s.total != nil {
		if err := s.total.Allow(struct{}{}); err != nil {
			return err
		}
	}
	if err := serve.Enter(r, respondent); err != nil {
		return err
	}
	size := t.entry.ContributionSize()
	if err := s.o.Queue.Room(r.Context(), int64(size)); err != nil {
		return storage(err)
	}
	body, err := serve.ReadBody(w, r, int64(size))
	if err != nil {
		return err
	}
	if len(body) != size {
		return wire.Problemf(wire.ContributionRefused, "the body has %d bytes: the plan wants %d from everybody", len(body), size)
	}
	sum, cover := wire.ContributionID(body), id == wire.CoverID(body)
	if id != sum && !cover {
		return wire.Problemf(wire.BadRequest, "{id} in the path is not the SHA-256 of the body")
	}
	again, err := t.keep(r.Context(), respondent, id, sum, body)
	if err != nil {
		return err
	}
	if again {
		w.WriteHeader(http.StatusOK)
	} else {
		w.WriteHeader(http.StatusCreated)
	}
	return nil
}

// unsure is the problem of a request that comes too late by a clock that is not
// believed yet.
func unsure() error {
	p := wire.Problemf(wire.Overloaded, "the clock of this service is being watched")
	p.RetryAfter = time.Minute
	return p
}

// isOpen says whether the epoch takes contributions now. A clock that jumps back
// does not open again what was closed.
func (t *post) isOpen() error {
	now, times := t.s.o.Now(), t.plan.Times
	switch {
	case !t.epochNow().Closed && !now.Before(times.Closes) && t.s.o.Clock.Settled() != nil:
		// Whoever is told that it is over throws the contribution away.
		return unsure()
	case t.epochNow().Closed || !now.Before(times.Closes):
		return wire.Problemf(wire.EpochOver, "the plan has closed")
	case now.Before(times.Opens):
		p := wire.Problemf(wire.NotOpen, "the plan has not opened")
		p.RetryAfter = times.Opens.Sub(now)
		return p
	}
	return nil
}

// authenticate says who the respondent is: a hash under the epoch's own secret,
// which is deleted with the epoch. Nobody can tell afterwards whether somebody
// was among them, nor compare two plans.
func (t *post) authenticate(r *http.Request) (serve.Respondent, error) {
	if t.plan.Route.Mix.Instances[t.instance].Hops[0].Tokens == "" {
		return serve.Authenticator{Secret: t.secret, Bearers: t.s.o.Bearers, Certificates: t.s.o.Certificates}.Respondent(r)
	}
	presented, ok := wire.ParseTokenAuthorization(r.Header.Get("Authorization"))
	if !ok {
		return serve.Respondent{}, wire.Problemf(wire.Unauthenticated, "the plan demands a single-use token here")
	}
	here := token.Context{Plan: t.hash, Instance: uint16(t.instance), Hop: 0}
	if err := t.tokens.Verify(here, presented); err != nil {
		return serve.Respondent{}, wire.Problemf(wire.TokenRefused, "%w", err)
	}
	id := token.ID(presented)
	return t.secret.Respondent("token", id[:]), nil
}

// keep puts a contribution on disk under the respondent's key. Cover takes the same
// steps in the same order, so that how long they take does not tell it from an
// answer; it has a key and a label of its own, is never read, and goes with the
// inbox when the epoch is over.
func (t *post) keep(ctx context.Context, respondent serve.Respondent, id, sum [32]byte, body []byte) (again bool, err error) {
	c, err := envelope.ParseContribution(body)
	if err == nil {
		err = t.entry.Check(c)
	}
	if err != nil {
		return false, wire.Problemf(wire.ContributionRefused, "%w", err)
	}
	key, label, cover := respondentKey(respondent), c.Crowd, id != sum
	if cover {
		if t.coveredBy(respondent) >= maxCovers {
			return false, wire.Problemf(wire.RateLimited, "%d covers of this respondent are here, the most that are kept", maxCovers)
		}
		key, label = coverKey(respondent, id), coverLabel
	}
	again, err = t.inbox.Put(key, label, sum, body)
	switch {
	case errors.Is(err, queue.ErrTaken):
		return false, wire.Problemf(wire.AlreadyContributed, "another contribution of this respondent is here")
	case errors.Is(err, queue.ErrSealed):
		return false, wire.Problemf(wire.EpochOver, "the plan has closed")
	case err != nil:
		return false, storage(err)
	}
	if !again && cover {
		t.mu.Lock()
		t.covers[respondent]++
		t.mu.Unlock()
	} else if !again && t.plan.Crowd.Deletion == nil {
		t.s.meters.contributions.Add(ctx, 1)
	}
	return again, t.s.o.Failpoint("contribution-kept")
}

// coveredBy is how many covers of a respondent this run has kept.
func (t *post) coveredBy(respondent serve.Respondent) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.covers[respondent]
}

// storage is the problem of a queue that could not keep something.
func storage(err error) error {
	switch {
	case errors.Is(err, queue.ErrFull):
		return wire.Problemf(wire.StorageFull, "nothing was kept%w", quiet{err})
	case errors.Is(err, queue.ErrUnavailable):
		p := wire.Problemf(wire.Overloaded, "the storage does not answer%w", quiet{err})
		p.RetryAfter = time.Second
		return p
	}
	return err
}

// quiet is a cause that does not travel.
type quiet struct{ error }

func (quiet) Error() string   { return "" }
func (q quiet) Unwrap() error { return q.error }
