package serve

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/confetti-dp/confetti/internal/wire"
)

// AskHeld asks the service at a URL what it knows of the batch of a leg.
func AskHeld(ctx context.Context, client *http.Client, url string, leg wire.Leg) (wire.Held, error) {
	url = strings.TrimSuffix(url, "/") + wire.BatchPath(leg.Plan, leg.Instance, leg.Hop, leg.Crowd)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return wire.Held{}, fmt.Errorf("serve: %w", err)
	}
	res, err := client.Do(req)
	if err != nil {
		return wire.Held{}, fmt.Errorf("serve: %w", err)
	}
	defer res.Body.Close()
	if p := wire.ReadProblem(res); p != nil {
		return wire.Held{}, p
	}
	text, err := io.ReadAll(io.LimitReader(res.Body, wire.MaxHeld+1))
	if err != nil {
		return wire.Held{}, fmt.Errorf("serve: %w", err)
	}
	if res.StatusCode != http.StatusOK { // a proxy on the way, or a version that knows no such question
		return wire.Held{}, fmt.Errorf("serve: the answer is %d", res.StatusCode)
	}
	return wire.ParseHeld(text)
}
