package analyzerd

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/internal/service/serve"
)

// A database's password comes from a file, and a database on another machine shows
// a certificate that is looked at.
func TestDSN(t *testing.T) {
	path := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(path, []byte("a/b:c@d\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const url = "postgres://confetti@db.example/confetti?sslmode=verify-full"
	for _, c := range []struct {
		config    Config
		dsn, want string
	}{
		{Config{Database: "a.db"}, "a.db", ""},
		{Config{URL: url}, url, ""},
		{Config{URL: url, PasswordFile: serve.Path(path)}, "postgres://confetti:a%2Fb%3Ac%40d@db.example/confetti?sslmode=verify-full", ""},
		{Config{}, "", "either database"},
		{Config{Database: "a.db", URL: url}, "", "either database"},
		{Config{Database: "a.db", PasswordFile: serve.Path(path)}, "", "password_file"},
		{Config{Database: "postgres://u:geheim@localhost/c"}, "", "database is a file"},
		{Config{Database: "/var/lib/confetti/host=localhost user=u password=geheim"}, "", "database is a file"},
		{Config{Database: "dbname = geheim"}, "", "database is a file"},
		{Config{Database: "ghost.db"}, "ghost.db", ""},
		{Config{URL: "Postgres://u:geheim@localhost/c"}, "", "no address"},
		{Config{URL: "host=localhost password=geheim"}, "", "no address"},
		{Config{URL: "postgres://confetti@db.example/confetti"}, "", "verify-full"},
		{Config{URL: strings.Replace(url, "confetti@", "confetti:x@", 1), PasswordFile: serve.Path(path)}, "", "leave it out of url"},
		{Config{URL: url, PasswordFile: serve.Path(path + "2")}, "", "password_file"},
	} {
		dsn, err := c.config.DSN()
		if dsn != c.dsn || (c.want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %q, %v; want %q, %q", c.config, dsn, err, c.dsn, c.want)
		}
		if err != nil && strings.Contains(err.Error(), "geheim") {
			t.Errorf("the error shows the password: %v", err)
		}
	}
}
