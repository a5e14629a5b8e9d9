package analyzerd

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/service/serve"
)

// What a configuration sets reaches the service.
func TestConfigReachesTheService(t *testing.T) {
	path := filepath.Join(t.TempDir(), "analyzer.toml")
	text := `keys = "keys"
database = "shelves"
grace = "2h"
retention = "3h"
batch_size = 4
[[publishers]]
name = "team"
key = "ed25519:3q2-796tvu_erb7v3q2-796tvu_erb7v3q2-796tvu8"
population = "staff"
[populations.staff]
epsilon = 5.0
delta = 1e-6
adjacency = "removal"
[http]
listen = ":8443"
stop = "1m"
`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var c Config
	if err := serve.ReadConfig(path, &c); err != nil {
		t.Fatal(err)
	}
	http, o, err := c.open(slog.New(slog.DiscardHandler))
	if err == nil {
		t.Error("no key, certificate and operator is there, and nobody says so")
	}
	if o.Keys != filepath.Join(filepath.Dir(path), "keys") || o.Grace != 2*time.Hour || o.Retention != 3*time.Hour || o.BatchSize != 4 {
		t.Errorf("%+v", o)
	}
	if len(o.Publishers) != 1 || o.Publishers[0] != (Publisher{"team", "ed25519:3q2-796tvu_erb7v3q2-796tvu_erb7v3q2-796tvu8", "staff"}) {
		t.Errorf("%+v", o.Publishers)
	}
	if o.Populations["staff"] != (Population{5, 1e-6, account.Removal}) {
		t.Errorf("%+v", o.Populations)
	}
	if dsn, err := c.DSN(); err != nil || dsn != filepath.Join(filepath.Dir(path), "shelves") {
		t.Errorf("%s, %v", dsn, err)
	}
	if http.Limits.Stop != time.Minute || http.Metrics != o.Metrics {
		t.Errorf("%+v", http)
	}
	c.URL = "postgres://user@host/database"
	if _, err := c.DSN(); err == nil {
		t.Error("two databases")
	}
}
