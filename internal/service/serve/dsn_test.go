package serve

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
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
		config    Rows
		dsn, want string
	}{
		{Rows{Database: "a.db"}, "a.db", ""},
		{Rows{URL: url}, url, ""},
		{Rows{URL: url, PasswordFile: Path(path)}, "postgres://confetti:a%2Fb%3Ac%40d@db.example/confetti?sslmode=verify-full", ""},
		{Rows{}, "", "either database"},
		{Rows{Database: "a.db", URL: url}, "", "either database"},
		{Rows{Database: "a.db", PasswordFile: Path(path)}, "", "password_file"},
		{Rows{Database: "postgres://u:geheim@localhost/c"}, "", "database is a path"},
		{Rows{Database: "/var/lib/confetti/host=localhost user=u password=geheim"}, "", "database is a path"},
		{Rows{Database: "dbname = geheim"}, "", "database is a path"},
		{Rows{Database: "ghost.db"}, "ghost.db", ""},
		{Rows{URL: "Postgres://u:geheim@localhost/c"}, "", "no address"},
		{Rows{URL: "host=localhost password=geheim"}, "", "no address"},
		{Rows{URL: "postgres://confetti@db.example/confetti"}, "", "verify-full"},
		{Rows{URL: strings.Replace(url, "confetti@", "confetti:x@", 1), PasswordFile: Path(path)}, "", "leave it out of url"},
		{Rows{URL: url, PasswordFile: Path(path + "2")}, "", "password_file"},
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
