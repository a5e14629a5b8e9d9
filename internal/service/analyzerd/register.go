package analyzerd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/service/analyzerd/progress"
	"github.com/confetti-dp/confetti/internal/service/analyzerd/rows"
	"github.com/confetti-dp/confetti/internal/service/registry"
	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/plan"
)

// Register takes a plan if its publisher is known, its promise holds, it can be
// counted here, and its population can afford it; the last two in one step with
// writing it down. A plan that is there already is Again. The error is a
// *wire.Problem that says what would be taken instead.
func (s *Service) Register(ctx context.Context, signed plan.Signed) (rows.Outcome, error) {
	return s.enrol(ctx, signed, false)
}

// enrol is Register; a round of a study that goes on here is taken though it is too late
// to answer it, to be withheld as the study goes on.
func (s *Service) enrol(ctx context.Context, signed plan.Signed, ours bool) (rows.Outcome, error) {
	publisher, err := s.publisher(signed)
	if err != nil {
		return rows.Failed, wire.Problemf(wire.PlanRefused, "%w", err)
	}
	// What refuses a plan costs less than its price, and is asked again afterwards: others go
	// on meanwhile.
	if outcome, err := s.admit(ctx, signed, ours, nil); err != nil || outcome == rows.Again {
		return outcome, err
	}
	budget := s.o.Populations[publisher.Population]
	asked, err := s.price(ctx, signed, budget.Adjacency)
	if err != nil {
		return rows.Failed, err
	}
	asked.Population, asked.Publisher = publisher.Population, publisher.Name
	outcome, err := s.admit(ctx, signed, ours, func() (rows.Outcome, error) { return s.enter(ctx, signed, asked) })
	if over, ok := errors.AsType[*overspent](err); ok { // now that others go on
		return rows.Failed, wire.Problemf(wire.BudgetExceeded, "%w; %s", over, over.advice(ctx, signed.Plan))
	}
	return outcome, err
}

// admit says why a plan may not be registered, whatever it costs, or does what is left. It is
// Again where this very plan is here. No other plan is taken up or ended meanwhile.
func (s *Service) admit(ctx context.Context, signed plan.Signed, ours bool, then func() (rows.Outcome, error)) (rows.Outcome, error) {
	if err := s.registering.take(ctx); err != nil {
		return rows.Failed, err
	}
	defer s.registering.give()
	if err := s.withdrawals.Admit(ctx, signed.Plan.Hash(), signed.Signers()); err != nil {
		return rows.Failed, err
	}
	if resigned, err := s.resign(ctx, signed); err != nil || resigned {
		return rows.Again, err
	}
	if outcome, here := s.again(ctx, signed); here {
		return outcome, nil
	}
	if closes := signed.Plan.Times.Closes; !ours && !closes.IsZero() && !s.o.Now().Before(closes) {
		return rows.Failed, wire.Problemf(wire.PlanRefused, "the plan closed at %s: nobody could answer it", closes.UTC().Format(time.RFC3339))
	}
	err := s.trusted().Admit(signed, s.o.Now())
	if err == nil {
		_, err = s.signer(signed.Plan)
	}
	if err != nil {
		return rows.Failed, wire.Problemf(wire.PlanRefused, "%w", err)
	}
	if then == nil {
		return rows.New, nil
	}
	return then()
}

// enter writes a plan down with its price. The caller holds registering.
func (s *Service) enter(ctx context.Context, signed plan.Signed, asked rows.Spending) (rows.Outcome, error) {
	name, budget := signed.Plan.Name(), s.o.Populations[asked.Population]
	var round rows.Round
	if r := signed.Plan.Round; r != nil {
		round = rows.Round{Study: r.Study, Number: r.Number}
	}
	p := rows.Plan{Name: name, Registered: s.o.Now(), Spending: asked}
	outcome, err := s.o.Store.Register(ctx, p, round, signed.Marshal(), func(b rows.Before) (rows.Spending, error) {
		cost := asked
		if b.Rounds > 0 {
			cost = later(asked, *signed.Plan.Round)
		}
		f, err := s.outlays.filter(asked.Population, budget, b.Spent)
		if err == nil {
			err = budget.check(asked.Population, cost, b.Spent, f)
		}
		return cost, err
	})
	_, over := errors.AsType[*overspent](err)
	switch {
	case over:
		return rows.Failed, err
	case errors.Is(err, rows.ErrLedger):
		s.o.Log.Error("a plan was refused", "reason", err.Error())
		return rows.Failed, wire.Problemf(wire.PlanRefused, "%w", rows.ErrLedger)
	case errors.Is(err, rows.ErrRound):
		return rows.Failed, registry.RoundTaken(*signed.Plan.Round)
	case errors.Is(err, rows.ErrTaken):
		return rows.Failed, wire.Problemf(wire.PlanRefused, "the plan is registered with another signature")
	case err != nil:
		return rows.Failed, storeProblem(err)
	}
	s.o.Log.Info("plan registered", "plan", name, "publisher", asked.Publisher, "population", asked.Population)
	return outcome, nil
}

// publisher names the signers of the plan, if they are ours. Those of several ask one
// population: their names stand together in the ledger.
func (s *Service) publisher(signed plan.Signed) (Publisher, error) {
	trusted := s.trusted()
	if err := signed.Verify(trusted); err != nil {
		return Publisher{}, err
	}
	var all Publisher
	for _, key := range signed.Signers() {
		p, ours := s.named(key, trusted)
		switch {
		case !ours:
		case all.Name == "":
			all = p
		case all.Population != p.Population:
			return Publisher{}, fmt.Errorf("analyzer: its publishers ask the populations %q and %q: who sign one plan ask one", all.Population, p.Population)
		case all.Name != p.Name:
			all.Name += " and " + p.Name
		}
	}
	if all.Name == "" {
		return Publisher{}, errors.New("analyzer: no such publisher")
	}
	return all, nil
}

// named returns the publisher with that key.
func (s *Service) named(key string, trusted plan.Publishers) (Publisher, bool) {
	if i := slices.Index(s.publishers, key); i >= 0 {
		return s.o.Publishers[i], true
	}
	_, known := trusted.Find(key)
	if i := slices.Index(s.publishers, ""); known && i >= 0 {
		return s.o.Publishers[i], true
	}
	return Publisher{}, false
}

// again reports that this very plan is registered, with whatever evidence.
func (s *Service) again(ctx context.Context, signed plan.Signed) (rows.Outcome, bool) {
	text, err := s.o.Store.Signed(ctx, signed.Plan.Name())
	if err != nil {
		return rows.Again, false
	}
	here, err := plan.ParseSigned(text)
	return rows.Again, err == nil && bytes.Equal(here.Entry(), signed.Entry())
}

// register answers PUT /v1/plans/{plan}: 201 for a new plan, 200 for the same again.
func (s *Service) register(w http.ResponseWriter, r *http.Request) error {
	// Register finds out itself whether the plan is here, with this signature.
	signed, _, err := serve.ReadPlan(w, r, s.trusted(), func([32]byte) bool { return false })
	if err != nil {
		return err
	}
	outcome, err := s.Register(r.Context(), signed)
	if err != nil {
		return err
	}
	w.WriteHeader(status(outcome))
	return nil
}

// status answers what was written now and what was there already.
func status(o rows.Outcome) int {
	if o == rows.Again {
		return http.StatusOK
	}
	return http.StatusCreated
}

// Budget finds a population's ledger.
func (s *Service) Budget(ctx context.Context, population string) (Budget, error) {
	p, known := s.o.Populations[population]
	if !known {
		return Budget{}, wire.Problemf(wire.NotFound, "no population of that name has a budget here")
	}
	spent, err := s.o.Store.Spendings(ctx, population)
	if err != nil {
		return Budget{}, err
	}
	f, err := p.filter()
	if err != nil {
		return Budget{}, fmt.Errorf("analyzer: budget of population %q: %w", population, err)
	}
	all := p.entries(spent)
	b := Budget{Population: population, Allowed: progress.Spent{Epsilon: p.Epsilon, Delta: p.Delta, Adjacency: string(p.Adjacency)}, Shares: f.Shares(all...), More: -1, Plans: []progress.Spent{}}
	// A later round of a study costs nothing: the last plan that did is what others are like.
	if last := slices.DeleteFunc(slices.Clone(all), func(s account.Spending) bool { return s.Epsilon == 0 && s.Delta == 0 }); len(last) > 0 {
		b.More = f.More(progress.MostMore, last[len(last)-1], all...)
	}
	for i, e := range spent {
		b.Plans = append(b.Plans, progress.Spent{Plan: e.Plan, Publisher: e.Publisher, Epsilon: e.Epsilon, Delta: e.Delta, Adjacency: e.Adjacency, Users: e.Users, Method: e.Method, Note: e.Note, At: e.Spent, Counted: &all[i]})
	}
	return b, nil
}

// getBudget answers GET /v1/budgets/{population}.
func (s *Service) getBudget(w http.ResponseWriter, r *http.Request) error {
	b, err := s.Budget(r.Context(), r.PathValue("population"))
	if err != nil {
		return err
	}
	return serve.WriteJSON(w, b)
}
