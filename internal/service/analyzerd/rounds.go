package analyzerd

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/confetti-dp/confetti/internal/release/results"
	"github.com/confetti-dp/confetti/internal/service/analyzerd/rows"
	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/internal/wire/web"
	"github.com/confetti-dp/confetti/plan"
)

// A study goes on by four steps, each of which leaves its mark before the next one:
//
//	concluded -> what follows is written, with its state -> registered here -> brought to
//	every hop and the issuer -> announced
//
// Each may be taken again: the next round is written once, and a service that has it
// says so.

// follow takes what steps are left for a round that was decided on.
func (s *Service) follow(ctx context.Context, p rows.Plan) error {
	s.mu.Lock()
	settled := s.settled[p.Name]
	s.mu.Unlock()
	if settled || s.o.Coordinator == nil {
		return nil
	}
	o, err := s.outline(ctx, p.Name)
	if err != nil {
		return err
	}
	if o.round.Study == "" || !s.coordinates(ctx, p.Name) {
		s.settle(p.Name)
		return nil
	}
	next, err := s.o.Store.Following(ctx, p.Name)
	if errors.Is(err, rows.ErrUnknown) {
		next, err = s.write(ctx, p)
	}
	if err != nil || !next.Announced.IsZero() {
		if err == nil {
			s.settle(p.Name)
		}
		return err
	}
	if err := s.o.Failpoint("round-written"); err != nil {
		return err
	}
	if len(next.Signed) > 0 {
		if err := s.spread(ctx, next.Signed); err != nil {
			return err
		}
	}
	if err := s.o.Failpoint("round-announced"); err != nil {
		return err
	}
	if err := s.o.Store.Announced(ctx, p.Name, s.o.Now()); err != nil {
		return err
	}
	s.o.Log.Info("a round of a study is over", "plan", p.Name, "study", o.round.Study, "round", o.round.Number, "end", next.Reason)
	s.settle(p.Name)
	return nil
}

func (s *Service) settle(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settled[name] = true
}

// coordinates reports whether the key of the round's coordinator is here.
func (s *Service) coordinates(ctx context.Context, name string) bool {
	study, _, err := s.study(ctx, name)
	return err == nil && study.Study.Coordinator == plan.Publisher(s.o.Coordinator.Public().(ed25519.PublicKey))
}

// study returns the study of a registered round, and the round.
func (s *Service) study(ctx context.Context, name string) (plan.SignedStudy, plan.Plan, error) {
	text, err := s.o.Store.Signed(ctx, name)
	if err != nil {
		return plan.SignedStudy{}, plan.Plan{}, err
	}
	signed, err := registered(name, text)
	if err != nil {
		return plan.SignedStudy{}, plan.Plan{}, err
	}
	study, ok := signed.InStudy()
	if !ok {
		return plan.SignedStudy{}, plan.Plan{}, errors.New("analyzer: the plan is no round of a study")
	}
	return study, signed.Plan, nil
}

// write decides what follows a round and makes it last.
func (s *Service) write(ctx context.Context, p rows.Plan) (rows.Next, error) {
	study, round, err := s.study(ctx, p.Name)
	if err != nil {
		return rows.Next{}, err
	}
	next := rows.Next{Written: s.o.Now()}
	state, name, end, err := s.state(ctx, p, study.Study, round)
	if err != nil {
		return rows.Next{}, err
	}
	now := s.o.Now().UTC().Truncate(time.Second)
	// A clock that is somewhat wrong costs a round, which nobody could answer; one that is
	// out of the study's time ends the study only if it may be believed.
	if now.Before(round.Times.Opens) || !now.Before(study.Study.Times.Closes) {
		if err := s.o.Clock.Settled(); err != nil {
			return rows.Next{}, err
		}
	}
	rounds, err := s.o.Store.Rounds(ctx, round.Round.Study)
	if err != nil {
		return rows.Next{}, err
	}
	there, here := rounds[round.Round.Number+1]
	switch {
	case here: // somebody with the coordinator's key was quicker, and a number is one plan
		if next.Signed, err = s.o.Store.Signed(ctx, there); err != nil {
			return rows.Next{}, err
		}
	case end != "":
		next.Reason = end
	case round.Round.Number == study.Study.Rounds:
		next.Reason = "it had as many rounds as it may have"
	case !now.Before(study.Study.Times.Closes):
		next.Reason = "its time is over"
	default:
		_, first, err := s.study(ctx, rounds[slices.Min(slices.Collect(maps.Keys(rounds)))])
		if err != nil {
			return rows.Next{}, err
		}
		times := following(first.Times, now)
		if times.Closes.After(study.Study.Times.Closes) {
			times.Closes = study.Study.Times.Closes
		}
		signed, err := study.Round(round.Round.Number+1, name, times, s.o.Coordinator)
		if err != nil {
			return rows.Next{}, err
		}
		next.Signed = signed.Marshal()
	}
	if err := s.o.Failpoint("round-made"); err != nil {
		return rows.Next{}, err
	}
	outcome, err := s.o.Store.Follow(ctx, p.Name, next, state)
	if err == nil && outcome == rows.Again { // another process was quicker
		return s.o.Store.Following(ctx, p.Name)
	}
	return next, err
}

// following returns when a round opens and closes that is made now. Rounds close as many lengths of the first after it as
// it takes for half a length to be left: by the calendar, whenever the one before was decided, and after a pause.
func following(first plan.Times, now time.Time) plan.Times {
	length := first.Closes.Sub(first.Opens)
	closes := first.Closes
	if short := now.Add(length / 2).Sub(closes); short > 0 {
		closes = closes.Add((short + length - 1) / length * length)
	}
	opens := closes.Add(-length)
	if opens.After(now) {
		opens = now
	}
	return plan.Times{Opens: opens, Closes: closes}
}

// state returns what the next round asks with: the bytes, where they are new, and their name;
// or why there is none.
func (s *Service) state(ctx context.Context, p rows.Plan, study plan.Study, round plan.Plan) (state []byte, name, end string, err error) {
	switch {
	case p.Withdrawn:
		return nil, "", "a round was withdrawn", nil
	case !p.Released && study.Withheld == plan.WithheldEnds:
		return nil, "", "a round was withheld: " + p.Reason, nil
	}
	if gone, err := s.destroyed(ctx, round); err != nil || gone != 0 {
		if err == nil {
			end = fmt.Sprintf("round %d was withdrawn, of which no later row tells", gone)
		}
		return nil, "", end, err
	}
	if !p.Released {
		run, err := s.run(ctx, p.Name)
		if err != nil {
			return nil, "", "", err
		}
		defer s.forget(p.Name)
		if state, err = results.Missed(run.protocol.Question, p.Missed); err != nil || state == nil {
			return nil, round.State, "", err
		}
		return state, plan.StateName(state), "", nil
	}
	run, err := s.run(ctx, p.Name)
	if err != nil {
		return nil, "", "", err
	}
	defer s.forget(p.Name)
	c, err := s.counted(ctx, p.Name, run.protocol)
	if err != nil {
		return nil, "", "", err
	}
	if len(c.batches) == 0 {
		return nil, "", "its counts were deleted before the next round was made", nil
	}
	model, err := run.protocol.Learn(c.crowds)
	if err != nil {
		return nil, "", "", err
	}
	state, done, err := results.Next(run.protocol.Question, model)
	switch {
	case err != nil:
		return nil, "", "no further round can be made: " + err.Error(), nil
	case done:
		return nil, "", "it has found what it asked for", nil
	case state == nil:
		return nil, round.State, "", nil
	}
	return state, plan.StateName(state), "", nil
}

// destroyed returns a round before this one that was withdrawn, where rounds are correlated; 0: none.
func (s *Service) destroyed(ctx context.Context, round plan.Plan) (number int, err error) {
	if round.Correlated() == nil {
		return 0, nil
	}
	rounds, err := s.o.Store.Rounds(ctx, round.Round.Study)
	if err != nil {
		return 0, err
	}
	for n, name := range rounds {
		if hash, err := wire.ParsePlanName(name); err != nil {
			return 0, err
		} else if _, withdrawn := s.withdrawals.Find(hash); withdrawn {
			return n, nil
		}
	}
	return 0, nil
}

// spread registers a round here and with every other service that it names.
func (s *Service) spread(ctx context.Context, text []byte) error {
	signed, err := plan.ParseSigned(text)
	if err != nil {
		return err
	}
	if s.o.PlanLog != "" {
		e, err := serve.PutIntoLog(ctx, s.o.Client, s.o.PlanLog, signed)
		if err != nil {
			return err
		}
		signed.Evidence = &e
	}
	if _, err := s.enrol(ctx, signed, true); err != nil {
		return err
	}
	if err := s.o.Failpoint("round-registered"); err != nil {
		return err
	}
	if !s.o.Now().Before(signed.Plan.Times.Closes) {
		return nil // too late for it: it will be withheld
	}
	var errs []error
	urls := signed.Plan.HopURLs()
	if issuer := signed.Plan.Route.Issuer(); issuer != nil && issuer.URL != "" {
		urls = append(urls, issuer.URL)
	}
	for _, url := range urls {
		errs = append(errs, s.bring(ctx, url, signed))
	}
	return errors.Join(errs...)
}

// bring gives a service a round; it is no error that it has it.
func (s *Service) bring(ctx context.Context, url string, signed plan.Signed) error {
	if s.o.Client == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPut, url+wire.PlanPath(signed.Plan.Hash()), bytes.NewReader(signed.Marshal()))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", wire.PlanType(signed))
	answer, err := s.o.Client.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode/100 != 2 {
		said, _ := io.ReadAll(io.LimitReader(answer.Body, 1<<10))
		return fmt.Errorf("analyzer: %s does not take the round: status %d, %q", url, answer.StatusCode, said)
	}
	return nil
}

// getState answers GET /v1/states/{state}.
func (s *Service) getState(w http.ResponseWriter, r *http.Request) error {
	hash, err := wire.PathState(r)
	if err != nil {
		return err
	}
	name := nameOf(hash)
	t, done, err := s.texts.read("state "+name, func() ([]byte, [32]byte, error) {
		body, err := s.o.Store.State(r.Context(), name)
		return body, hash, err
	})
	if errors.Is(err, rows.ErrUnknown) {
		return wire.Problemf(wire.NotFound, "there is no state of that name")
	}
	if err != nil {
		return err
	}
	defer done()
	w.Header().Set("Content-Type", wire.StateType)
	w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	_, err = w.Write(t.body)
	return err
}

// putState answers PUT /v1/states/{state}: a study's first state, before its first round.
func (s *Service) putState(w http.ResponseWriter, r *http.Request) error {
	hash, err := wire.PathState(r)
	if err != nil {
		return err
	}
	if err := web.CheckType(r.Header.Get("Content-Type"), wire.StateType); err != nil {
		return err
	}
	body, err := serve.ReadBody(w, r, plan.MaxState)
	if err != nil {
		return err
	}
	if plan.StateName(body) != nameOf(hash) {
		return wire.Problemf(wire.BadRequest, "{state} in the path is not the SHA-256 of the body")
	}
	if err := s.o.Store.KeepState(r.Context(), body); err != nil {
		return storeProblem(err)
	}
	w.WriteHeader(http.StatusCreated)
	return nil
}

// getStudy answers GET /v1/studies/{study} with the newest round that all services have.
func (s *Service) getStudy(w http.ResponseWriter, r *http.Request) error {
	hash, err := wire.PathStudy(r)
	if err != nil {
		return err
	}
	rounds, err := s.o.Store.Rounds(r.Context(), nameOf(hash))
	if err != nil {
		return err
	}
	for _, number := range slices.Backward(slices.Sorted(maps.Keys(rounds))) {
		if waits, err := s.waits(r.Context(), rounds[number-1]); err != nil {
			return err
		} else if waits {
			continue
		}
		name := rounds[number]
		text, err := s.o.Store.Signed(r.Context(), name)
		if err != nil {
			return storeProblem(err)
		}
		kind := wire.SignedRoundType
		if o, err := s.outline(r.Context(), name); err == nil {
			kind = wire.PlanType(o.signed)
		}
		w.Header().Set("Content-Type", kind)
		_, err = w.Write(text)
		return err
	}
	return wire.Problemf(wire.NotFound, "no round of that study is registered here")
}

// coming reports that some service does not have a round yet, which getStudy does not give either.
func (s *Service) coming(ctx context.Context, p Plan) bool {
	rounds, err := s.o.Store.Rounds(ctx, p.Study)
	if err != nil {
		return false
	}
	waits, err := s.waits(ctx, rounds[p.Round-1])
	return err == nil && waits
}

// waits reports that what follows a round was made here, and has not come to all services yet.
// What somebody else registered has been brought to them by whoever did.
func (s *Service) waits(ctx context.Context, before string) (bool, error) {
	next, err := s.o.Store.Following(ctx, before)
	if errors.Is(err, rows.ErrUnknown) {
		return false, nil
	}
	return err == nil && next.Announced.IsZero(), err
}
