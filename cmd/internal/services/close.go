package services

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/confetti-dp/confetti/cmd/internal/plans"
	"github.com/confetti-dp/confetti/internal/service/analyzerd/progress"
	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/plan"
)

// CloseEntries has the entry hops of a plan, or the leader, take no more contributions; told hears of
// each that does not any more. left are those that are open, and for which no token is here.
func (s *Services) CloseEntries(ctx context.Context, p plan.Plan, told func(name string)) (left []plans.Party, err error) {
	for _, party := range plans.Parties(p) {
		if party.Role != "shuffler" && party.Role != "leader" || party.Hop > 0 {
			continue
		}
		_, _, failed := s.Do(ctx, http.MethodPost, party.URL+wire.ClosePath(p.Hash()), "", nil)
		if s.NotOurs(party.URL, failed) {
			var closed bool
			if closed, failed = s.closed(ctx, p, party); failed == nil && !closed {
				left = append(left, party)
				continue
			}
		}
		if failed != nil {
			err = errors.Join(err, failed)
			continue
		}
		told(party.Name)
	}
	return left, err
}

// NotOurs reports whether an error says that a service wants a token, and none is here for it. One that
// refuses the token that is here is ours, and has a fault.
func (s *Services) NotOurs(url string, err error) bool {
	problem, is := errors.AsType[*wire.Problem](err)
	return is && problem.Code == wire.Unauthenticated && !s.Opens(url)
}

// closed reports what an entry says to everybody: that it takes no more contributions.
func (s *Services) closed(ctx context.Context, p plan.Plan, entry plans.Party) (bool, error) {
	text, err := s.Stranger().Get(ctx, entry.URL+wire.StatusPath(p.Hash()))
	if err != nil {
		return false, err
	}
	var all []struct {
		Instance int    `json:"instance"`
		Hop      int    `json:"hop"`
		Phase    string `json:"phase"` // of a hop
		Role     string `json:"role"`  // of an aggregator
		Closed   bool   `json:"closed"`
	}
	if err := json.Unmarshal(text, &all); err != nil {
		return false, fmt.Errorf("%s: %w", entry.URL, err)
	}
	for _, st := range all {
		switch {
		case p.Route.Sum != nil && st.Role == entry.Role:
			return st.Closed, nil
		case p.Route.Sum == nil && st.Instance == entry.Instance && st.Hop == entry.Hop:
			return st.Phase == "closed", nil
		}
	}
	return false, nil
}

// Verdict returns what the analyzer has made of a plan, or ErrNotOurs where others close it there.
// Before it is closed, every crowd must have reached it, or been withheld on its way.
func (s *Services) Verdict(ctx context.Context, p plan.Plan) (now progress.Plan, err error) {
	// A release, and why there is none, are for everybody to read.
	_, err = s.Stranger().Get(ctx, fmt.Sprintf("%s/v1/releases/%s.json", p.Analyzer.URL, p.Name()))
	problem, told := errors.AsType[*wire.Problem](err)
	switch {
	case err == nil:
		now.Status = progress.Released
		return now, nil
	case told && (problem.Code == wire.Withheld || problem.Code == wire.RowLate || problem.Code == wire.RowFailed):
		now.Status, now.Reason = progress.Withheld, problem.Detail
		return now, nil
	case !told || problem.Code != wire.NotClosed && problem.Code != wire.SumFailed:
		return now, err
	}
	text, err := s.CloseAnalyzer(ctx, p)
	if s.NotOurs(p.Analyzer.URL, err) {
		return now, ErrNotOurs
	}
	if err == nil {
		err = json.Unmarshal(text, &now)
	}
	return now, err
}

// ErrNotOurs says that another organisation closes a collection at its analyzer.
var ErrNotOurs = errors.New("the analyzer is closed by its own operator")

// CloseAnalyzer waits until every crowd has reached the analyzer, or was withheld on its way, and
// closes it too: it would withhold what had not arrived. The text is what it answers.
func (s *Services) CloseAnalyzer(ctx context.Context, p plan.Plan) ([]byte, error) {
	if err := s.settled(ctx, p); err != nil {
		return nil, err
	}
	_, text, err := s.Do(ctx, http.MethodPost, p.Analyzer.URL+wire.ClosePath(p.Hash()), "", nil)
	return text, err
}

// Closing is console.Options.Close.
func (s *Services) Closing(ctx context.Context, p plan.Plan) (finish func(context.Context) error, err error) {
	finish = func(ctx context.Context) error {
		_, err := s.CloseAnalyzer(ctx, p)
		return err
	}
	left, err := s.CloseEntries(ctx, p, func(string) {})
	if err == nil && len(left) > 0 {
		names := make([]string, len(left))
		for i, party := range left {
			names[i] = party.Name
		}
		err = fmt.Errorf("not ours: %s must close the collection too", strings.Join(names, " and "))
	}
	return finish, err
}

// stillOpen says why a collection is not closed at the analyzer yet.
func stillOpen(crowds int, err error) error {
	if err != nil {
		return fmt.Errorf("it is not known whether all crowds have arrived, and the analyzer is open: try again, or give a longer --wait: %w", err)
	}
	return fmt.Errorf("%s on the way, and the analyzer is open: try again, or give a longer --wait", serve.Count(crowds, "crowd is still", "crowds are still"))
}

// settled returns once every crowd of every instance was handed to the analyzer or
// withheld on its way.
func (s *Services) settled(ctx context.Context, p plan.Plan) error {
	for {
		left, err := s.underWay(ctx, p)
		if err == nil && left == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return stillOpen(left, err)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// underWay counts crowds of instances on which no hop has the last word yet.
func (s *Services) underWay(ctx context.Context, p plan.Plan) (int, error) {
	if p.Route.Sum != nil {
		return s.adding(ctx, p)
	}
	left := 0
	for i, in := range p.Route.Instances() {
		over := map[uint32]bool{}
		for h, hop := range in.Hops {
			text, err := s.Get(ctx, hop.URL+wire.StatusPath(p.Hash()))
			if err != nil {
				return 0, err
			}
			var all []struct {
				Instance int `json:"instance"`
				Hop      int `json:"hop"`
				Crowds   []struct {
					Crowd uint32 `json:"crowd"`
					Phase string `json:"phase"`
				} `json:"crowds"`
			}
			if err := json.Unmarshal(text, &all); err != nil {
				return 0, fmt.Errorf("%s: %w", hop.URL, err)
			}
			for _, st := range all {
				if st.Instance != i || st.Hop != h {
					continue
				}
				for _, c := range st.Crowds {
					if c.Phase == "withheld" || c.Phase == "forwarded" && h == len(in.Hops)-1 {
						over[c.Crowd] = true
					}
				}
			}
		}
		left += p.Crowds() - len(over)
	}
	return left, nil
}

// adding counts crowds of which the leader has neither both shares nor the last word.
func (s *Services) adding(ctx context.Context, p plan.Plan) (int, error) {
	leader := p.Route.Sum.Leader
	text, err := s.Get(ctx, leader.URL+wire.StatusPath(p.Hash()))
	if err != nil {
		return 0, err
	}
	var all []struct {
		Crowds []struct {
			Phase string `json:"phase"`
		} `json:"crowds"`
	}
	if err := json.Unmarshal(text, &all); err != nil {
		return 0, fmt.Errorf("%s: %w", leader.URL, err)
	}
	left := p.Crowds()
	for _, st := range all {
		for _, c := range st.Crowds {
			if slices.Contains([]string{"handed on", "withheld", "failed"}, c.Phase) {
				left--
			}
		}
	}
	return left, nil
}
