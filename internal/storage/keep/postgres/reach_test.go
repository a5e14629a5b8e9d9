package postgres

import (
	"fmt"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/internal/loopback"
	"github.com/confetti-dp/confetti/internal/storage/keep/postgres/postgrestest"
)

// Whatever keeps a database from being reached, the error says what to look at and shows nothing of
// its address, which may hold the password in any place.
func TestAnErrorShowsNothingOfTheAddress(t *testing.T) {
	closed := free(t)
	urls := map[string]string{
		"postgres://geheim:geheim@" + closed + "/geheim?sslmode=disable":                                "connection refused",
		"postgres://geheim:geheim@geheim.invalid/geheim?sslmode=disable":                                "look at the host",
		"postgres://geheim:geheim@127.0.0.1:99999999/geheim":                                            "cannot be read",
		"postgres://geheim:geheim@localhost/geheim?sslmode=geheim":                                      "cannot be read",
		"postgres://geheim:geheim@localhost/geheim?sslmode=verify-full&sslrootcert=/nowhere/geheim.crt": "or a file that it names",
	}
	server := postgrestest.Postgres(t)
	urls[strings.Replace(server, "/postgres?", "/geheim?", 1)] = "no database of this name"
	urls[strings.Replace(server, "user=postgres", "user=geheim", 1)] = "let this user in"
	for url, want := range urls {
		_, err := Open(t.Context(), Config{URL: url})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "geheim") {
			t.Errorf("a start is told %v, want %q", err, want)
		}
	}
}

// free returns an address at which nobody listens.
func free(t *testing.T) string {
	port, err := loopback.Port()
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("127.0.0.1:%d", port)
}
