package console

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/internal/wire"
)

// foreign answers as services of several organisations do.
type foreign struct{ *services }

func (f foreign) Get(ctx context.Context, url string) ([]byte, error) {
	switch url {
	case "https://theirs/status.json", "https://waits/status.json":
		return nil, wire.Problemf(wire.Unauthenticated, "this path needs an operator's bearer token")
	case "https://theirs/readyz":
		return []byte("ready"), nil
	case "https://waits/readyz", "https://broken/status.json":
		return nil, wire.Problemf(wire.Internal, "no")
	case "https://gone/status.json":
		return nil, errors.New("connection refused")
	}
	return f.services.Get(ctx, url)
}

// A service of others is theirs, and says to everybody whether it is ready; one alone that cannot be
// reached is down, and never beside "nothing".
func TestServicesOfOthersAreNotDown(t *testing.T) {
	c, s, _, _ := operated(t)
	c.o.Operator, c.o.Public = foreign{s}, foreign{s}
	urls := []string{"https://theirs", "https://waits", "https://broken", "https://gone"}
	want := map[string]struct {
		state, fact string
		alarms      int
	}{"https://theirs": {"not ours", "ready", 0}, "https://waits": {"not ours", "not ready", 1}, "https://broken": {"failing", "", 1}, "https://gone": {"down", "", 1}}
	for _, p := range c.parties(t.Context(), urls, nil) {
		fact := ""
		if len(p.Facts) > 0 {
			fact = p.Facts[0].Value
		}
		if w := want[p.URL]; p.State != w.state || fact != w.fact || len(p.Alarms) != w.alarms || p.Up {
			t.Errorf("%s: %q %q %v, want %v", p.URL, p.State, fact, p.Alarms, w)
		}
	}
	c.o.Operator = gone{s}
	cookie, _ := login(t, c)
	_, page := get(t, c, "/operator", "Cookie", cookie.String())
	if !strings.Contains(page, ">down<") || strings.Contains(page, ">Nothing.<") || !strings.Contains(page, "cannot be reached") {
		t.Errorf("a service that is down stands beside nothing:\n%s", page)
	}
	c.o.Operator = closed{s}
	if _, page = get(t, c, "/operator", "Cookie", cookie.String()); strings.Contains(page, ">down<") || !strings.Contains(page, ">not ours<") {
		t.Errorf("services of others are down:\n%s", page)
	}
}

// gone reaches no service's status, and closed is shown none.
type (
	gone   struct{ *services }
	closed struct{ *services }
)

func (g gone) Get(ctx context.Context, url string) ([]byte, error) {
	if strings.HasSuffix(url, "/status.json") {
		return nil, errors.New("connection refused")
	}
	return g.services.Get(ctx, url)
}

func (g closed) Get(ctx context.Context, url string) ([]byte, error) {
	if strings.HasSuffix(url, "/status.json") {
		return nil, wire.Problemf(wire.Unauthenticated, "%s", http.StatusText(http.StatusUnauthorized))
	}
	return g.services.Get(ctx, url)
}
