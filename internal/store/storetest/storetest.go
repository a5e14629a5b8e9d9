// Package storetest runs a real PostgreSQL server for tests, one a test process,
// on a Unix socket in a folder of its own.
package storetest

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"sync/atomic"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib"
)

var schemas atomic.Int64

// Postgres returns the URL of an empty schema, which goes with the test. Without
// a server on this machine the test is skipped, unless CONFETTI_POSTGRES=require.
func Postgres(t testing.TB) string {
	t.Helper()
	folder, err := server()
	if err != nil {
		if os.Getenv("CONFETTI_POSTGRES") == "require" {
			t.Fatalf("no PostgreSQL server: %v", err)
		}
		t.Skipf("no PostgreSQL server: %v", err)
	}
	dsn := func(schema string) string {
		return "postgres:///postgres?" + url.Values{"host": {folder}, "user": {"postgres"}, "search_path": {schema}}.Encode()
	}
	schema := fmt.Sprintf("test%d", schemas.Add(1))
	run := func(statement string) {
		db, err := sql.Open("pgx", dsn("public"))
		if err == nil {
			defer db.Close()
			_, err = db.ExecContext(context.Background(), statement)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	run("CREATE SCHEMA " + schema)
	t.Cleanup(func() { run("DROP SCHEMA " + schema + " CASCADE") })
	return dsn(schema)
}

// Main runs a package's tests and stops the server, if there was one. It returns
// the code to exit with.
func Main(m *testing.M) int {
	code := m.Run()
	stop()
	return code
}
