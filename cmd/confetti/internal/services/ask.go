package services

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	analyzer "github.com/confetti-dp/confetti/analyzer/service"
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

// Progress asks the analyzer how a plan is getting on.
func (s *Services) Progress(ctx context.Context, signed plan.Signed) (state analyzer.Progress, err error) {
	text, err := s.Get(ctx, signed.Plan.Analyzer.URL+wire.StatusPath(signed.Plan.Hash()))
	if err == nil {
		err = json.Unmarshal(text, &state)
	}
	return state, err
}
