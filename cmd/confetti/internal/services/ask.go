package services

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/confetti-dp/confetti/analyzer/analyzerd"
	"github.com/confetti-dp/confetti/cmd/confetti/internal/plans"
	"github.com/confetti-dp/confetti/internal/plain"
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
	return url + plain.Text(link.Path), nil
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

// NextRound is the newest round of the study that a signed round is of, where that is a
// later one; nil where it is not, or the plan is by itself.
func (s *Services) NextRound(ctx context.Context, signed plan.Signed) (*plan.Signed, error) {
	if signed.Study == nil {
		return nil, nil
	}
	text, err := s.Get(ctx, signed.Plan.Analyzer.URL+wire.StudyPath(signed.Study.Hash()))
	if err != nil {
		return nil, err
	}
	u, err := plan.SplitSigned(text)
	if err == nil {
		err = u.Verify(plan.Trust(signed.Signers()...))
	}
	if err != nil {
		return nil, err
	}
	next, err := u.Parse()
	if err != nil || next.Study == nil || next.Plan.Round.Study != signed.Plan.Round.Study || next.Plan.Round.Number <= signed.Plan.Round.Number {
		return nil, err
	}
	return &next, nil
}

// Progress asks the analyzer how a plan is getting on.
func (s *Services) Progress(ctx context.Context, signed plan.Signed) (state analyzerd.Progress, err error) {
	text, err := s.Get(ctx, signed.Plan.Analyzer.URL+wire.StatusPath(signed.Plan.Hash()))
	if err == nil {
		err = json.Unmarshal(text, &state)
	}
	return state, err
}
