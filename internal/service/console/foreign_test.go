package console

import (
	"context"
	"errors"
	"net/http"
	neturl "net/url"
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
	case "https://ours/status.json", "https://stale/status.json":
		return nil, wire.Problemf(wire.Unauthenticated, "this path needs an operator's bearer token")
	case "https://ours/readyz":
		return []byte("ready"), nil
	case "https://odd/status.json":
		return []byte("<html>"), nil
	case "https://cut/status.json":
		return nil, errors.New("unexpected EOF")
	case "https://slow/status.json":
		return nil, &neturl.Error{Op: "Get", URL: url, Err: context.DeadlineExceeded}
	case "https://gone/status.json", "https://far/readyz":
		return nil, refused(url)
	case "https://far/status.json":
		return nil, wire.Problemf(wire.Unauthenticated, "this path needs an operator's bearer token")
	}
	return f.services.Get(ctx, url)
}

// Opens reports that there are tokens for some services of North, and for no other's.
func (f foreign) Opens(url string) bool { return url == "https://stale" || url == "https://gone" }

// A service of others is theirs, and says to everybody whether it is ready; one alone that cannot be
// reached is down, and never beside "nothing".
func TestServicesOfOthersAreNotDown(t *testing.T) {
	c, s, _, _ := operated(t)
	c.o.Operator, c.o.Public = foreign{s}, foreign{s}
	want := map[string]struct {
		operator, found, fact, alarm, mark string
	}{
		"https://theirs": {"South", "not ours", "ready", "", "good"},
		"https://waits":  {"South", "not ours", "not ready", "another organisation's service is not ready", "look"},
		"https://far":    {"South", "down", "", "another organisation's service cannot be reached", "bad"},
		"https://ours":   {"North", "no token", "ready", "", "look"},
		"https://stale":  {"North", "failing", "", "a service refuses its token", "bad"},
		"https://broken": {"North", "failing", "", "a service does not tell its status", "bad"},
		"https://odd":    {"North", "failing", "", "a service does not tell its status", "bad"},
		"https://cut":    {"North", "failing", "", "a service does not tell its status", "bad"},
		"https://slow":   {"North", "silent", "", "a service does not answer", "bad"},
		"https://gone":   {"North", "down", "", "a service cannot be reached", "bad"},
	}
	var of places
	for at, w := range want {
		of.add(at, w.operator, "hop")
	}
	for _, p := range c.parties(t.Context(), of) {
		fact, alarm := "", ""
		if len(p.Facts) > 0 {
			fact = p.Facts[0].Value
		}
		if len(p.Alarms) > 0 {
			alarm = p.Alarms[0].Text
		}
		if w := want[p.URL]; p.Found != w.found || fact != w.fact || alarm != w.alarm || boxed("Hop", p).Mark != w.mark || p.Up() {
			t.Errorf("%s: %q %q %q %q, want %v", p.URL, p.Found, fact, alarm, boxed("Hop", p).Mark, w)
		}
	}
	c.o.Operator = gone{s}
	cookie, _ := login(t, c)
	_, page := get(t, c, "/operator", "Cookie", cookie.String())
	if !strings.Contains(page, ">down<") || strings.Contains(page, ">Nothing.<") || !strings.Contains(page, "cannot be reached") {
		t.Errorf("a service that is down stands beside nothing:\n%s", page)
	}
	c.o.Operator = closed{s}
	c.o.Public = closed{s}
	s.answers[base+"/readyz"] = []byte("ready")
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
		return nil, refused(url)
	}
	return g.services.Get(ctx, url)
}

// Opens reports that no token is there.
func (closed) Opens(string) bool { return false }

func (g closed) Get(ctx context.Context, url string) ([]byte, error) {
	if strings.HasSuffix(url, "/status.json") {
		return nil, wire.Problemf(wire.Unauthenticated, "%s", http.StatusText(http.StatusUnauthorized))
	}
	return g.services.Get(ctx, url)
}
