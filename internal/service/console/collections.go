package console

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/release/results"
	"github.com/confetti-dp/confetti/internal/release/statement"
	"github.com/confetti-dp/confetti/internal/service/analyzerd"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/release"
)

// entryCard is a collection in the list.
type entryCard struct {
	analyzerd.Plan
	Closing  string
	Progress *progress
	Answer   string // of one that is published
	Rounds   int    // of a study, whose newest round this is
}

// collections shows the list.
func (c *Console) collections(w http.ResponseWriter, r *http.Request) error {
	all, err := c.analyzer.list(r.Context())
	if err != nil {
		return err
	}
	var body struct {
		Open, Done []entryCard
		Analyzer   string
	}
	body.Analyzer = c.o.Analyzer
	rounds := map[string]int{}
	for _, p := range all {
		if p.Study != "" {
			rounds[p.Study]++
		}
	}
	trial := false
	seen := map[string]bool{}
	for _, p := range all {
		if p.Study != "" {
			if seen[p.Study] {
				continue // the newest round stands for all
			}
			seen[p.Study] = true
		}
		card := entryCard{Plan: p, Closing: closing(p, c.o.Now()), Rounds: rounds[p.Study]}
		one, err := c.analyzer.plan(r.Context(), p.Plan)
		if err == nil {
			trial = trial || oneOperator(one.signed.Plan)
			if p.Status == analyzerd.Open {
				card.Progress = c.progress(r.Context(), one.signed.Plan)
			}
			if p.Standing() == analyzerd.Released {
				if out, err := c.analyzer.release(r.Context(), one); err == nil {
					card.Answer = out.answer()
				}
			}
		}
		if p.Status == analyzerd.Open || p.Status == analyzerd.Closed || p.Status == analyzerd.Failed {
			body.Open = append(body.Open, card)
		} else {
			body.Done = append(body.Done, card)
		}
	}
	return c.render(w, r, http.StatusOK, "collections", sheet{Title: "Collections", At: "collections", Trial: trial}, body)
}

// trial reports whether the analyzer's newest plan is one of which one operator has every key, for
// pages that are of no plan; false where nobody answers.
func (c *Console) trial(ctx context.Context) bool {
	all, err := c.analyzer.list(ctx)
	if err != nil || len(all) == 0 {
		return false
	}
	newest, err := c.analyzer.plan(ctx, all[0].Plan)
	return err == nil && oneOperator(newest.signed.Plan)
}

// oneOperator reports whether one operator has every key of a plan.
func oneOperator(p plan.Plan) bool {
	for _, way := range p.Route.Ways() {
		for _, party := range way {
			if party.Operator != p.Analyzer.Operator {
				return false
			}
		}
	}
	return true
}

// progress is how far a collection has come, as roughly as anybody may know it.
type progress struct {
	Crowds  []crowdProgress
	Minimum int
	Private bool // the sizes of crowds are
}

// crowdProgress is that of one crowd.
type crowdProgress struct {
	Name  string
	Words string  // "fewer than 100", "at least 128"
	Share float64 // of the bar, which ends at four times the minimum
	Full  bool    // there are enough
}

// hopStatus is what a hop, or an aggregator, tells of a plan, for programs.
type hopStatus struct {
	Plan     string `json:"plan"`
	Role     string `json:"role"` // of an aggregator: "leader" or "helper"
	Hop      int    `json:"hop"`
	Instance int    `json:"instance"`
	Phase    string `json:"phase"`
	Crowds   []struct {
		Crowd       int    `json:"crowd"`
		Phase       string `json:"phase"`
		About       string `json:"about"`
		Respondents int    `json:"respondents"`
		Dropped     int    `json:"dropped"`
		Duplicates  int    `json:"duplicates"`
		Tokens      int    `json:"tokens"`
		Reports     int    `json:"reports"` // of an aggregator: that are in the sum
		Refused     int    `json:"refused"` // likewise: that were not valid
	} `json:"crowds"`
}

// hopStatuses reads what a hop tells of its plans.
func (c *Console) hopStatuses(ctx context.Context, url string) ([]hopStatus, error) {
	text, err := c.o.Operator.Get(ctx, url+"/status.json")
	if err != nil {
		return nil, err
	}
	var st struct {
		Tables []struct {
			Data json.RawMessage `json:"data"`
		} `json:"tables"`
	}
	if err := json.Unmarshal(text, &st); err != nil {
		return nil, err
	}
	var all []hopStatus
	for _, t := range st.Tables {
		var one hopStatus
		if json.Unmarshal(t.Data, &one) == nil && one.Plan != "" {
			all = append(all, one)
		}
	}
	return all, nil
}

// progress asks the entry hop, or the leader; nil where nobody tells it.
func (c *Console) progress(ctx context.Context, p plan.Plan) *progress {
	out := &progress{Minimum: p.Crowd.Minimum, Private: p.Crowd.Deletion != nil}
	ways := p.Route.Ways()
	if out.Private {
		return out
	}
	if c.o.Operator == nil || len(ways) != 1 && !p.Route.Spreads() || len(ways) == 0 {
		return nil
	}
	all, err := c.hopStatuses(ctx, ways[0][0].URL)
	if err != nil {
		return nil
	}
	for _, st := range all {
		if st.Plan != p.Name() || st.Hop != 0 || st.Instance != 0 || st.Role == "helper" {
			continue
		}
		for _, crowd := range st.Crowds {
			one := crowdProgress{Words: crowd.About}
			if len(p.Crowd.Names) > crowd.Crowd {
				one.Name = p.Crowd.Names[crowd.Crowd]
			}
			one.Full, one.Share = coarse(crowd.About, p.Crowd.Minimum)
			if one.Words == "" { // mixed: how many they are exactly, the release says
				one.Words = crowd.Phase
			}
			if max(crowd.Respondents, crowd.Reports) >= p.Crowd.Minimum {
				one.Full, one.Share = true, 1
			}
			out.Crowds = append(out.Crowds, one)
		}
		return out
	}
	return nil
}

// coarse turns a hop's rough words into a bar. Below the minimum nothing is known but
// that: the bar then stays where it began.
func coarse(about string, minimum int) (full bool, share float64) {
	n := 0
	if rest, ok := strings.CutPrefix(about, "at least "); ok {
		n, _ = strconv.Atoi(rest) // 0 of what is no number, which is below every minimum
	}
	if n < minimum {
		return false, 0.06
	}
	return true, min(1, float64(n)/float64(4*minimum))
}

// domain is who runs some parties, in the order that an answer passes them.
type domain struct {
	Operator string
	Parties  []string // what they do
}

// domains returns the way of an answer by who runs it: neighbours of one operator are one.
func domains(p plan.Plan) (ways [][]domain, issuer *domain) {
	for _, way := range p.Route.Ways() {
		var all []domain
		add := func(operator, does string) {
			if n := len(all); n > 0 && all[n-1].Operator == operator {
				all[n-1].Parties = append(all[n-1].Parties, does)
				return
			}
			all = append(all, domain{operator, []string{does}})
		}
		for i, party := range way {
			does := fmt.Sprintf("mixes (hop %d)", i+1)
			if p.Route.Sum != nil {
				does = []string{"adds up shares (leader)", "adds up shares (helper)"}[i]
			}
			add(party.Operator, does)
		}
		add(p.Analyzer.Operator, "opens and counts (analyzer)")
		ways = append(ways, all)
	}
	if i := p.Route.Issuer(); i != nil {
		issuer = &domain{i.Operator, []string{"gives each device one token a hop, and sees no answer"}}
	}
	return ways, issuer
}

// collection shows the page of one.
func (c *Console) collection(w http.ResponseWriter, r *http.Request) error {
	p, one, err := c.analyzer.collection(r.Context(), r.PathValue("plan"))
	if err != nil {
		return err
	}
	signed := one.signed
	ways, issuer := domains(signed.Plan)
	body := struct {
		analyzerd.Plan
		Closing     string
		Asked       string
		Offers      []results.Offer
		Crowds      []string
		Minimum     int
		Unfit       string
		Progress    *progress
		Cards       []account.Statement
		Ways        [][]domain
		Issuer      *domain
		Budget      plan.Budget
		Cost        []release.Metric
		Publishers  []string
		Assumptions []string
		Summed      bool
		Analyzer    string
		Rounds      int
	}{
		Plan: p, Closing: closing(p, c.o.Now()), Asked: one.protocol.Words().Asked, Offers: results.Offered(signed.Plan.Question),
		Crowds: signed.Plan.Crowd.Names, Minimum: signed.Plan.Crowd.Minimum, Unfit: one.protocol.Words().Unfit,
		Cards: one.promise.Statements, Ways: ways, Issuer: issuer, Budget: signed.Plan.Budget, Cost: statement.Cost(one.protocol),
		Publishers: signed.Signers(), Assumptions: one.protocol.Words().Assumptions, Summed: signed.Plan.Route.Sum != nil, Analyzer: c.o.Analyzer,
	}
	if signed.Study != nil {
		body.Rounds = signed.Study.Rounds
	}
	if p.Status == analyzerd.Open {
		body.Progress = c.progress(r.Context(), signed.Plan)
	}
	return c.render(w, r, http.StatusOK, "collection", sheet{Title: p.Title, At: "collections", Trial: oneOperator(signed.Plan)}, body)
}

// signedPlan shows the plan as its publisher signed it.
func (c *Console) signedPlan(w http.ResponseWriter, r *http.Request) error {
	one, err := c.analyzer.plan(r.Context(), r.PathValue("plan"))
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", wire.PlanType(one.signed))
	w.Header().Set("Content-Disposition", `attachment; filename="plan.signed.json"`)
	_, err = w.Write(one.text)
	return err
}
