package service

import (
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/confetti-dp/confetti/internal/clock"
	"github.com/confetti-dp/confetti/plan"
)

const (
	peers   = 3               // that are asked for their time
	askTime = 5 * time.Second // for each of them
)

// settled says why the time of day is not reason enough to end an epoch or to
// delete what is left of a plan: nobody can take either back.
func (t *post) settled(ctx context.Context) error {
	c := t.s.o.Clock
	if err := c.Settled(); err != nil || c == nil {
		return err
	}
	return clock.Asked(t.s.o.Now(), t.s.ask(ctx, addresses(t.plan, t.next())))
}

// addresses are services of the plan whose clocks are not ours, the next one first.
func addresses(p plan.Plan, next plan.Party) []string {
	all := []string{next.URL, p.Analyzer.URL}
	if issuer := p.Route.Mix.Issuer; issuer != nil {
		all = append(all, issuer.URL)
	}
	var some []string
	for _, url := range all {
		if url != "" && !slices.Contains(some, url) && len(some) < peers {
			some = append(some, url)
		}
	}
	return some
}

// ask is what those services answer that can be reached.
func (s *Service) ask(ctx context.Context, urls []string) []*http.Response {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	var answers []*http.Response
	for _, url := range urls {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(url, "/")+"/healthz", nil)
		if err != nil {
			continue
		}
		res, err := s.o.Client.Do(req)
		if err != nil {
			continue
		}
		io.Copy(io.Discard, io.LimitReader(res.Body, 1<<10))
		res.Body.Close()
		answers = append(answers, res)
	}
	return answers
}
