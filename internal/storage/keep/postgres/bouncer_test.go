package postgres

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/internal/storage/keep/keeptest"
	"github.com/confetti-dp/confetti/internal/storage/keep/postgres/postgrestest"
)

// bouncer starts pgbouncer before a server and returns the address of the database behind it.
func bouncer(t *testing.T, server postgrestest.Server, mode string) string {
	program, err := exec.LookPath("pgbouncer")
	if err != nil {
		t.Skip("pgbouncer is not installed")
	}
	_, port, _ := net.SplitHostPort(free(t))
	config := filepath.Join(server.Folder(), mode+".ini")
	if err := os.Chmod(server.Folder(), 0o755); err != nil { // for another user than the server's
		t.Fatal(err)
	}
	err = os.WriteFile(config, fmt.Appendf(nil, "[databases]\npostgres = host=%s user=postgres\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = %s\nunix_socket_dir =\nauth_type = any\npool_mode = %s\ndefault_pool_size = 6\nmax_client_conn = 200\n", server.Folder(), port, mode), 0o644)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, config)
	if os.Getuid() == 0 { // which it refuses to be
		cmd = exec.Command(program, "-u", "nobody", config)
	}
	said := new(bytes.Buffer)
	cmd.Stderr = said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if c, err := net.Dial("tcp", "127.0.0.1:"+port); err == nil {
			c.Close()
			return "postgres://postgres@127.0.0.1:" + port + "/postgres?sslmode=disable"
		}
		if time.Now().After(deadline) {
			cmd.Process.Kill()
			cmd.Wait()
			t.Fatalf("pgbouncer does not answer: %s", said)
		}
	}
}

// A pooler of transactions stands between, and hands each transaction to another connection: all
// promises hold. One of statements is refused.
func TestThroughPgbouncer(t *testing.T) {
	server := postgrestest.NewServer(t, "fsync=on")
	url := bouncer(t, server, "transaction")
	keeptest.Run(t, keeptest.Engine{Shared: true, New: func(t testing.TB) keeptest.Disk {
		execute(t, server.DSN(), "DROP SCHEMA IF EXISTS public CASCADE; CREATE SCHEMA public")
		d, _ := disk(t, Config{URL: url, Keys: folder(t)})
		d.Kill, d.Spoil = nil, spoil(server.DSN()) // past the pooler, which hands on what pgx prepares
		return d
	}})
	err := Make(t.Context(), Config{URL: bouncer(t, server, "statement")})
	if err == nil || !strings.Contains(err.Error(), "PostgreSQL refuses") {
		t.Errorf("a pooler of statements: %v", err)
	}
}
