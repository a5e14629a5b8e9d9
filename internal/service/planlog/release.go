package planlog

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"

	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/service/shelves"
	"github.com/confetti-dp/confetti/internal/storage/keep"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/internal/wire/relay"
	"github.com/confetti-dp/confetti/internal/wire/web"
	"github.com/confetti-dp/confetti/plan"
)

// most is how many releases of one plan the log takes. The first counts: a second is there
// for everybody to see that an analyzer, or a thief of its key, has signed two.
const most = 2

// addRelease answers PUT /v1/log/releases/{plan}, whose body is the signature of a release
// with its receipts behind it, with the evidence that they stand in the log. The signature is
// the authentication, whoever brings it.
func (s *Service) addRelease(w http.ResponseWriter, r *http.Request) error {
	name, err := wire.PathPlan(r)
	if err != nil {
		return err
	}
	if err := web.CheckType(r.Header.Get("Content-Type"), wire.SignedReleaseType); err != nil {
		return err
	}
	if _, there := s.planText(name); !there {
		return wire.Problemf(wire.NotFound, "the log does not have the plan")
	}
	body, err := serve.ReadBody(w, r, relay.MaxSignatureBytes+relay.MaxReceiptsBytes)
	if err != nil {
		return err
	}
	signature, receipts := relay.SplitSignedRelease(body)
	ctx, cancel := context.WithTimeout(r.Context(), patience)
	defer cancel()
	e, err := s.AddRelease(ctx, name, signature, receipts)
	return s.answer(w, e, err)
}

// planText returns where the signed plan of that name lies, the first where several have it.
func (s *Service) planText(name [32]byte) (digest [32]byte, there bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.plans[name] {
		if e.Kind == "" {
			return e.Digest, true
		}
	}
	return digest, false
}

// signed reads a plan that the log has.
func (s *Service) signed(ctx context.Context, name [32]byte) (plan.Signed, error) {
	digest, there := s.planText(name)
	if !there {
		return plan.Signed{}, wire.Problemf(wire.NotFound, "the log does not have the plan")
	}
	text, there, err := s.main.Get(ctx, textsTable, digestKey(digest))
	if err == nil && !there {
		err = fmt.Errorf("%w: a text is missing", errDamaged)
	}
	if err != nil {
		return plan.Signed{}, shelves.Answer(err)
	}
	return plan.ParseSigned(text)
}

// checkReceipts reports that a text is not the receipts of a release of a plan.
func checkReceipts(text []byte, p plan.Plan) error {
	receipts, err := relay.ParseReceipts(text)
	if err == nil {
		_, err = receipts.Check(p)
	}
	return err
}

// AddRelease has the receipts of a plan's release stand in the log, once, if the analyzer
// that the plan names has signed them. It waits until the witnesses have signed.
func (s *Service) AddRelease(ctx context.Context, name [32]byte, signature, receipts []byte) (plan.Evidence, error) {
	signed, err := s.signed(ctx, name)
	if err != nil {
		return plan.Evidence{}, err
	}
	e := relay.ReleaseOf(name, receipts)
	if err := e.Verify(signed.Plan.Analyzer.Releases, signature); err != nil {
		return plan.Evidence{}, wire.Problemf(wire.PlanRefused, "%w", err)
	}
	if err := checkReceipts(receipts, signed.Plan); err != nil {
		return plan.Evidence{}, wire.Problemf(wire.BadRequest, "what the analyzer has signed is no release: %w", err)
	}
	at, err := s.enterOnce(ctx, e, most, receipts, signature)
	if err != nil {
		return plan.Evidence{}, err
	}
	return s.stands(ctx, at)
}

// addWithdrawal answers PUT /v1/plans/{plan}/withdrawal: the first that comes stands in the
// log, for everybody to see that what was released is withdrawn.
func (s *Service) addWithdrawal(ctx context.Context, w plan.SignedWithdrawal) (again bool, err error) {
	signed, err := s.signed(ctx, w.Plan)
	if err != nil {
		return false, err
	}
	if !w.Of(w.Plan, signed.Signers()) {
		return false, wire.Problemf(wire.WithdrawalRefused, "none of those who signed the plan has signed its withdrawal")
	}
	for _, e := range s.of(w.Plan) {
		if e.Kind == plan.WithdrawalEntry {
			return true, nil // any is as good
		}
	}
	text := w.Marshal()
	e := plan.Entry{Kind: plan.WithdrawalEntry, Plan: w.Plan, Digest: sha256.Sum256(text)}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	at, err := s.enterOnce(ctx, e, 1, text, nil)
	if err != nil {
		return false, err
	}
	_, err = s.stands(ctx, at)
	return false, err
}

// enterOnce does what enter does where there is room for one more of its kind and plan.
func (s *Service) enterOnce(ctx context.Context, e plan.Entry, most int, text, signature []byte) (int64, error) {
	return s.enter(ctx, e, text, signature, func(keep.Tx) error {
		n := 0
		for _, other := range s.of(e.Plan) {
			if other.Kind == e.Kind {
				n++
			}
		}
		if n >= most {
			return wire.Problemf(wire.PlanRefused, "the log has %d entries of this kind of the plan already", n)
		}
		return nil
	})
}

// of returns the log's entries of a plan, in the order in which they came.
func (s *Service) of(name [32]byte) []plan.Entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]plan.Entry(nil), s.plans[name]...)
}

// showPlan answers GET /v1/log/plans/{plan} with the log's entries of a plan.
func (s *Service) showPlan(w http.ResponseWriter, r *http.Request) error {
	name, err := wire.PathPlan(r)
	if err != nil {
		return err
	}
	all := []relay.LogEntry{}
	for _, e := range s.of(name) {
		s.mu.Lock()
		at := s.at[e.Digest]
		s.mu.Unlock()
		all = append(all, relay.LogEntry{Kind: cmp.Or(e.Kind, "plan"), Index: uint64(at), Digest: digestKey(e.Digest)})
	}
	if len(all) == 0 {
		return wire.Problemf(wire.NotFound, "the log does not have the plan")
	}
	return serve.WriteJSON(w, all)
}

// checkRelease reports that a text is not the receipts that an entry is of, or that the
// analyzer whose key the plan names has not signed them.
func checkRelease(text, signature []byte, e plan.Entry, releaser string) error {
	receipts, err := relay.ParseReceipts(text)
	if err != nil {
		return err
	}
	if receipts.Plan != fmt.Sprintf("%x", e.Plan) {
		return errors.New("it is the release of another plan")
	}
	if releaser == "" { // of version 2, whose releases logs fetched from the analyzer
		return nil
	}
	return e.Verify(releaser, signature)
}

// checkWithdrawal reports that a text is not the withdrawal that an entry is of.
func checkWithdrawal(text []byte, e plan.Entry, signers []string) error {
	w, err := plan.ParseWithdrawal(text)
	if err == nil && !w.Of(e.Plan, signers) {
		err = errors.New("it is a withdrawal by nobody who has signed the plan")
	}
	return err
}
