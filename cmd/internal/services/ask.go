package services

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/confetti-dp/confetti/cmd/internal/plans"
	"github.com/confetti-dp/confetti/internal/sanitize"
	"github.com/confetti-dp/confetti/internal/service/analyzerd/progress"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/plan"
)

// WebLink asks a service for a link that opens its page in a browser, once.
func (s *Services) WebLink(ctx context.Context, url string) (string, error) {
	_, text, err := s.Do(ctx, http.MethodPost, url+"/session", "", nil)
	if err != nil {
		return "", err
	}
	var link struct{ Path string }
	if err := json.Unmarshal(text, &link); err != nil || !strings.HasPrefix(link.Path, "/") {
		return "", fmt.Errorf("%s gives no link", url)
	}
	return url + sanitize.Text(link.Path), nil
}

// Await returns when the service answers.
func (s *Services) Await(ctx context.Context, p plans.Party) error {
	for {
		_, err := s.Get(ctx, p.URL+"/readyz")
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// NextRound returns the newest round of the study that a signed round is of, where that is a
// later one; nil where it is not, or the plan is by itself.
func (s *Services) NextRound(ctx context.Context, signed plan.Signed) (*plan.Signed, error) {
	if signed.Study == nil {
		return nil, nil
	}
	next, err := s.round(ctx, signed, wire.StudyPath(signed.Study.Hash()))
	if err != nil || next.Plan.Round.Number <= signed.Plan.Round.Number {
		return nil, err
	}
	return &next, nil
}

// RoundNamed returns the round of that name of the study that a signed round is of.
func (s *Services) RoundNamed(ctx context.Context, signed plan.Signed, name string) (plan.Signed, error) {
	hash, err := wire.ParsePlanName(name)
	if err != nil {
		return plan.Signed{}, fmt.Errorf("a round's name is %w", err)
	}
	round, err := s.round(ctx, signed, wire.PlanPath(hash))
	if err == nil && round.Plan.Name() != name {
		err = errors.New("the analyzer gives another round than was asked for")
	}
	return round, err
}

// round reads a round of the same study, as its publishers and its coordinator signed it.
func (s *Services) round(ctx context.Context, signed plan.Signed, path string) (round plan.Signed, err error) {
	text, err := s.Get(ctx, signed.Plan.Analyzer.URL+path)
	if err != nil {
		return round, err
	}
	u, err := plan.SplitSigned(text)
	if err == nil {
		err = u.Verify(plan.Trust(signed.Signers()...))
	}
	if err == nil {
		round, err = u.Parse()
	}
	if err == nil && (round.Study == nil || round.Plan.Round.Study != signed.Plan.Round.Study) {
		err = errors.New("the analyzer gives a round of another study")
	}
	return round, err
}

// Progress asks the analyzer how a plan is getting on.
func (s *Services) Progress(ctx context.Context, signed plan.Signed) (told progress.Progress, err error) {
	text, err := s.Get(ctx, signed.Plan.Analyzer.URL+wire.StatusPath(signed.Plan.Hash()))
	if err == nil {
		err = json.Unmarshal(text, &told)
	}
	return told, err
}
