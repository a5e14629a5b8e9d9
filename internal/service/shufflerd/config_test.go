package shufflerd

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/internal/service/serve"
)

// What a configuration sets reaches the service.
func TestConfigReachesTheService(t *testing.T) {
	c := Config{
		Settings: serve.Settings{Keys: "keys", Retention: serve.Duration(time.Hour), HTTP: serve.HTTP{Clients: "clients.crt", Stop: serve.Duration(time.Minute)}},
		Visited:  serve.Visited{Publishers: []string{"ed25519:iojj3XQJ8ZX9UtstPLpdcspnCb8dlBIb83SIAbQPb1w"}},
	}
	c.Limits.Plans, c.Limits.Rate, c.Limits.Burst, c.Limits.Total = 1, 2, 3, 4
	http, o, err := c.open(slog.New(slog.DiscardHandler))
	if err == nil {
		t.Error("nothing that it names is there, and nobody says so")
	}
	if o.Keys != "keys" || len(o.Publishers.Now().Keys) != 1 || o.Retention != time.Hour || !o.Certificates || o.Limits != (Limits{serve.Visits{Plans: 1, Rate: 2, Burst: 3}, 4}) || o.Client == nil {
		t.Errorf("%+v", o)
	}
	if http.Limits.Stop != time.Minute || http.Metrics != o.Metrics {
		t.Errorf("%+v", http)
	}
}

// A respondent with a token and a certificate must not be two.
func TestOneKindOfCredential(t *testing.T) {
	both := Config{Visited: serve.Visited{Bearers: "respondents"}, Settings: serve.Settings{HTTP: serve.HTTP{Clients: "clients.crt"}}}
	if _, err := both.Open(slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), "would count twice") {
		t.Errorf("a configuration with both: %v", err)
	}
	both.HTTP.Clients = ""
	if _, err := both.Open(slog.New(slog.DiscardHandler)); err != nil && strings.Contains(err.Error(), "would count twice") {
		t.Errorf("bearers alone: %v", err)
	}
}
