// Package postgrestest runs a real PostgreSQL server, one a test process, on a Unix socket in a folder of its own. Used
// by tests of internal/storage/keep, internal/service and internal/testkit/chaos.
package postgrestest

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"sync"
	"sync/atomic"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib"
)

var schemas atomic.Int64

// shared is the server of the whole test process.
var shared struct {
	sync.Once
	*cluster
	db       *sql.DB // makes schemas: a connection of its own for each would be a process each
	settings []string
	err      error
}

// Postgres returns the URL of an empty schema, which goes with the test. Without
// a server on this machine the test is skipped, unless CONFETTI_POSTGRES=require.
func Postgres(t testing.TB) string {
	t.Helper()
	shared.Do(func() {
		if shared.cluster, shared.err = running(shared.settings...); shared.err == nil {
			shared.db, shared.err = sql.Open("pgx", dsn(shared.folder, "public"))
		}
	})
	if shared.err != nil {
		without(t, shared.err)
	}
	schema := fmt.Sprintf("test%d", schemas.Add(1))
	run := func(statement string) {
		if _, err := shared.db.Exec(statement); err != nil {
			t.Fatal(err)
		}
	}
	run("CREATE SCHEMA " + schema)
	t.Cleanup(func() { run("DROP SCHEMA " + schema + " CASCADE") })
	return dsn(shared.folder, schema)
}

// running makes a server and starts it.
func running(settings ...string) (*cluster, error) {
	c, err := newCluster(settings...)
	if err != nil {
		return nil, err
	}
	if err := c.start(); err != nil {
		c.remove()
		return nil, err
	}
	return c, nil
}

func without(t testing.TB, why error) {
	t.Helper()
	if os.Getenv("CONFETTI_POSTGRES") == "require" {
		t.Fatalf("no PostgreSQL server: %v", why)
	}
	t.Skipf("no PostgreSQL server: %v", why)
}

func dsn(folder, schema string) string {
	return "postgres:///postgres?" + url.Values{"host": {folder}, "user": {"postgres"}, "search_path": {schema}}.Encode()
}

func execute(dsn, statement string) error {
	db, err := sql.Open("pgx", dsn)
	if err != nil {
		return err
	}
	defer db.Close()
	_, err = db.ExecContext(context.Background(), statement)
	return err
}

// Server is one of a test's own, which it can stop and start.
type Server struct{ *cluster }

// NewServer starts one for as long as the test lasts, with settings as name=value. Without
// PostgreSQL on this machine the test is skipped, as by Postgres.
func NewServer(t testing.TB, settings ...string) Server {
	t.Helper()
	c, err := running(settings...)
	if err != nil {
		without(t, err)
	}
	t.Cleanup(c.remove)
	return Server{c}
}

// DSN returns the URL of the server's database.
func (s Server) DSN() string { return dsn(s.folder, "public") }

// Schema makes a schema in the server's database.
func (s Server) Schema(name string) error { return execute(s.DSN(), "CREATE SCHEMA "+name) }

// In returns the URL of a schema of the server's database.
func (s Server) In(schema string) string { return dsn(s.folder, schema) }

// Folder returns where the server's socket is.
func (s Server) Folder() string { return s.folder }

// Standby starts a copy of the server that follows it under a name.
func (s Server) Standby(t testing.TB, name string) Server {
	t.Helper()
	c, err := s.standby(name)
	if err == nil {
		t.Cleanup(c.remove)
		err = c.start()
	}
	if err != nil {
		t.Fatal(err)
	}
	return Server{c}
}

// Promote lets a standby go on alone.
func (s Server) Promote() error { return s.promote() }

// Stop stops the server, at once as a loss of power does or cutting all connections first.
func (s Server) Stop(atOnce bool) { s.stop(atOnce) }

// Terminate cuts all connections.
func (s Server) Terminate() error {
	return execute(s.DSN(), "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'")
}

// OwnDisk, among the settings of NewServer, puts the server on a disk of its own, which Fill fills. Who may not mount
// one gets a folder, and an error of Fill.
const OwnDisk = "own disk"

// Fill takes all room from the server's disk, or what has come free of it since, and returns what gives it back.
func (s Server) Fill() (empty func() error, err error) { return s.fill() }

// Alone cuts all connections and returns an error while one is still there: what it asked for may still be done.
func (s Server) Alone() error {
	if err := s.Terminate(); err != nil {
		return err
	}
	db, err := sql.Open("pgx", s.DSN())
	if err != nil {
		return err
	}
	defer db.Close()
	var others int
	err = db.QueryRow("SELECT count(*) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'").Scan(&others)
	if err == nil && others > 0 {
		err = fmt.Errorf("%d other connections are still there", others)
	}
	return err
}

// Restart stops the server, at once as a loss of power does or cutting all connections first,
// and starts it again after meanwhile has returned.
func (s Server) Restart(atOnce bool, meanwhile func()) error {
	s.stop(atOnce)
	meanwhile()
	return s.start()
}

// Main runs a package's tests and stops the server, if there was one, which has the settings.
// It returns the code to exit with.
func Main(m *testing.M, settings ...string) int {
	shared.settings = settings
	code := m.Run()
	if shared.db != nil {
		shared.db.Close()
	}
	if shared.cluster != nil {
		shared.remove()
	}
	return code
}
