package planlog

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"os"

	"github.com/transparency-dev/tessera"

	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/plan"
)

// shown is how many releases of one plan the log takes. There is one: a second is there
// for everybody to see that an analyzer has published two.
const shown = 2

// addRelease answers PUT /v1/log/releases/{plan}, which has no body, with the evidence that
// the plan's release stands in the log. The log fetches its receipts, which have the
// digests of its files, from the analyzer that the plan names: nobody else could say what
// the release is, so that it matters little who asks.
func (s *Service) addRelease(w http.ResponseWriter, r *http.Request) error {
	name, err := wire.PathPlan(r)
	if err != nil {
		return err
	}
	text, there := s.planText(name)
	if !there {
		return wire.Problemf(wire.NotFound, "the log does not have the plan")
	}
	ctx, cancel := context.WithTimeout(r.Context(), patience)
	defer cancel()
	receipts, err := s.receipts(ctx, text)
	if err != nil {
		return err
	}
	e, err := s.AddRelease(ctx, name, receipts)
	return s.answer(w, e, err)
}

// planText is where the signed plan of that name lies, one of them where several have it.
func (s *Service) planText(name [32]byte) (digest [32]byte, there bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.plans[name]
	return p.text, p.text != [32]byte{}
}

// receipts are those of the release of a plan, as its analyzer publishes them.
func (s *Service) receipts(ctx context.Context, digest [32]byte) ([]byte, error) {
	text, err := os.ReadFile(s.text(digest))
	if err != nil {
		return nil, err
	}
	signed, err := plan.ParseSigned(text)
	if err != nil {
		return nil, err
	}
	p := signed.Plan
	if p.Analyzer.URL == "" {
		return nil, wire.Problemf(wire.NotFound, "the plan names no address of its analyzer")
	}
	s.fetching.Lock() // so that no more than one is in memory
	defer s.fetching.Unlock()
	text, err = get(ctx, s.o.Client, p.Analyzer.URL+wire.ReleasePath(p.Hash(), wire.ReceiptsFile), wire.MaxReceiptsBytes)
	if err != nil {
		return nil, away(err)
	}
	return text, checkReceipts(text, p)
}

// away is the problem of an analyzer that shows the log no release now. Unlike a plan that
// is not in the log that may change: whoever asked should come again.
func away(err error) error {
	p := wire.Problemf(wire.Overloaded, "the plan's analyzer shows the log no release: %w", err)
	p.RetryAfter = patience
	return p
}

// checkReceipts reports that a text is not the receipts of a release of a plan.
func checkReceipts(text []byte, p plan.Plan) error {
	receipts, err := wire.ParseReceipts(text)
	if err == nil {
		_, err = receipts.Check(p)
	}
	if err != nil {
		return wire.Problemf(wire.BadRequest, "what the plan's analyzer shows is no release: %w", err)
	}
	return nil
}

// AddRelease has the receipts of a plan's release stand in the log, once. It waits until
// the witnesses have signed.
func (s *Service) AddRelease(ctx context.Context, name [32]byte, receipts []byte) (plan.Evidence, error) {
	e := plan.Entry{Release: true, Plan: name, Digest: sha256.Sum256(receipts)}
	at, err := s.enterRelease(ctx, e, receipts)
	if err != nil {
		return plan.Evidence{}, err
	}
	return s.stands(ctx, at)
}

// enterRelease is enter where there is room for one more: no other release comes between.
func (s *Service) enterRelease(ctx context.Context, e plan.Entry, receipts []byte) (tessera.IndexFuture, error) {
	s.releasing.Lock()
	defer s.releasing.Unlock()
	if !s.room(e) {
		return nil, wire.Problemf(wire.PlanRefused, "the log has %d releases of the plan already", shown)
	}
	return s.enter(ctx, e, receipts)
}

// room reports whether the log has the release, or may take it. The caller holds
// releasing.
func (s *Service) room(e plan.Entry) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, there := s.indexes[e.Digest]
	return there || s.plans[e.Plan].releases < shown
}

// logged is what the log has of a plan.
type logged struct {
	text     [32]byte // digest of the signed plan
	releases int
}

// count remembers an entry, by 1, or forgets one that was not written, by -1. The caller
// holds mu, or is alone.
func (s *Service) count(e plan.Entry, by int) {
	p := s.plans[e.Plan]
	switch {
	case e.Release:
		p.releases += by
	case by > 0:
		p.text = e.Digest
	case p.text == e.Digest:
		p.text = [32]byte{}
	}
	s.plans[e.Plan] = p
}

// checkRelease reports that a text is not the receipts that an entry is of.
func checkRelease(text []byte, e plan.Entry) error {
	receipts, err := wire.ParseReceipts(text)
	if err != nil {
		return err
	}
	if receipts.Plan != fmt.Sprintf("%x", e.Plan) {
		return errors.New("it is the release of another plan")
	}
	return nil
}
