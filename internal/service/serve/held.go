package serve

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/confetti-dp/confetti/internal/wire/web"
)

// AskFor is how long neighbours are waited for, in all, by a service that starts or is
// about to do what is for good.
const AskFor = 5 * time.Second

// Get reads what another service answers, of at most so many bytes: one more is given
// where there are more, for a parser to refuse. The error is a *wire.Problem where the
// service tells one.
func Get(ctx context.Context, client *http.Client, url, path string, most int64) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(url, "/")+path, nil)
	if err != nil {
		return nil, fmt.Errorf("serve: %w", err)
	}
	res, err := client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("serve: %w", err)
	}
	defer res.Body.Close()
	if p := web.ReadProblem(res); p != nil {
		return nil, p
	}
	text, err := io.ReadAll(io.LimitReader(res.Body, most+1))
	if err != nil {
		return nil, fmt.Errorf("serve: %w", err)
	}
	if res.StatusCode != http.StatusOK { // a proxy on the way, or a version that knows no such question
		return nil, fmt.Errorf("serve: the answer is %d", res.StatusCode)
	}
	return text, nil
}
