package metrics_test

import (
	"context"
	"errors"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/internal/service/serve"
)

// What there is to do is shown as whoever asks is told; where nobody can be asked, the rest is.
func TestSharedWorkIsShown(t *testing.T) {
	m := serve.NewMetrics()
	since, fault := time.Now().Add(-time.Hour), error(nil)
	done := m.Meter.Backlog("things", func(context.Context) (int, int, time.Time, error) { return 7, 3, since, fault })
	done(2 * time.Second)
	server, err := serve.New(serve.Config{Name: "test", Metrics: m})
	if err != nil {
		t.Fatal(err)
	}
	page := func() string {
		out := httptest.NewRecorder()
		server.ServeHTTP(out, httptest.NewRequest("GET", "/metrics", nil))
		return out.Body.String()
	}
	for _, want := range []string{
		`(?m)^confetti_things_ready 7$`, `(?m)^confetti_things_leased 3$`, `(?m)^confetti_things_oldest_seconds 36[0-9][0-9](\.|$)`,
		`(?m)^confetti_things_duration_seconds_count 1$`, `(?m)^confetti_things_duration_seconds_sum 2$`,
	} {
		if text := page(); !regexp.MustCompile(want).MatchString(text) {
			t.Errorf("%s is not in\n%s", want, text)
		}
	}
	since = time.Time{}
	if !strings.Contains(page(), "confetti_things_oldest_seconds 0\n") {
		t.Error("nothing is there, and has an age")
	}
	fault = errors.New("nobody answers")
	if text := page(); strings.Contains(text, "things_ready") || !strings.Contains(text, "confetti_things_duration_seconds_count 1") {
		t.Errorf("nobody knows, and this is shown:\n%s", text)
	}
}
