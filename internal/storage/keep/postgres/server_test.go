package postgres

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/confetti-dp/confetti/internal/storage/keep"
	"github.com/confetti-dp/confetti/internal/storage/keep/keeptest"
	"github.com/confetti-dp/confetti/internal/storage/keep/postgres/postgrestest"
)

// row1 returns a row of table 1, as an Insert keeps it.
func row1(key string) keep.Row { return keep.Row{Table: 1, Key: key, Tag: 1, Value: []byte("v")} }

// soon returns a context that ends before a commit that waits for ever does.
func soon(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	t.Cleanup(cancel)
	return ctx
}

// The server is stopped and killed while many write, and what it acknowledged is there.
func TestAServerIsStoppedAndKilled(t *testing.T) {
	server := postgrestest.NewServer(t, "fsync=on")
	for _, atOnce := range []bool{true, false} {
		keeptest.Killed(t, keeptest.Engine{New: func(t testing.TB) keeptest.Disk {
			execute(t, server.DSN(), "DROP SCHEMA IF EXISTS public CASCADE; CREATE SCHEMA public")
			d, _ := disk(t, Config{URL: server.DSN(), Keys: folder(t)})
			d.Kill = func() {
				if err := server.Restart(atOnce, func() {}); err != nil {
					t.Error(err)
				}
			}
			return d
		}})
	}
}

// A store goes on when its server has come back, with no error but of the calls that met it down.
func TestAStoreOutlivesItsServer(t *testing.T) {
	server := postgrestest.NewServer(t, "fsync=on")
	s, _ := opened(t, Config{URL: server.DSN()})
	shelf := created(t, s, "a")
	if _, err := shelf.Insert(t.Context(), row1("before")); err != nil {
		t.Fatal(err)
	}
	err := server.Restart(true, func() {
		if _, err := shelf.Insert(t.Context(), row1("down")); !errors.Is(err, keep.ErrUnavailable) {
			t.Errorf("a server that is down: %v", err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"before", "down", "after"} {
		again, err := shelf.Insert(t.Context(), row1(key))
		if err != nil || again != (key == "before") {
			t.Errorf("%s: again %t, %v", key, again, err)
		}
	}
	// All connections are cut, as behind a failover: none that is left fails a call that begins.
	for name, call := range map[string]func() error{
		"Insert": func() error { _, err := shelf.Insert(t.Context(), row1("cut")); return err },
		"Update": func() error {
			return shelf.Update(t.Context(), func(tx keep.Tx) error { tx.Put(2, "k", nil); return nil })
		},
		"Get":  func() error { _, _, err := shelf.Get(t.Context(), 1, "before"); return err },
		"List": func() error { _, err := s.List(t.Context()); return err },
	} {
		if err := call(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := server.Terminate(); err != nil {
			t.Fatal(err)
		}
		if err := call(); err != nil {
			t.Errorf("%s, when connections were cut: %v", name, err)
		}
	}
}

// waiting makes a server wait for a standby that there is not, until free is called.
func waiting(t *testing.T) (server postgrestest.Server, wait, free func()) {
	server = postgrestest.NewServer(t, "fsync=on")
	set := func(names string) func() {
		return func() {
			execute(t, server.DSN(), "ALTER SYSTEM SET synchronous_standby_names = '"+names+"'")
			execute(t, server.DSN(), "SELECT pg_reload_conf()")
			time.Sleep(200 * time.Millisecond) // processes take it in when they see it
		}
	}
	return server, set("nobody"), set("")
}

// commits returns how many commits wait.
func commits(t *testing.T, server postgrestest.Server) (n int) {
	t.Helper()
	s, err := connect(t.Context(), Config{URL: server.DSN()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.pool.QueryRow(t.Context(), "SELECT count(*) FROM pg_stat_activity WHERE query = 'COMMIT' AND wait_event = 'SyncRep'").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// Beside a synchronous standby that does not answer nothing is acknowledged: not when the caller
// gives up, not when the server cuts the commit short, and not when it is asked again of what it
// has by itself. fn does not run again.
func TestNothingIsAcknowledgedThatAStandbyLacks(t *testing.T) {
	server, wait, free := waiting(t)
	s, c := opened(t, Config{URL: server.DSN()})
	shelf := created(t, s, "a")
	if _, err := shelf.Insert(t.Context(), row1("first")); err != nil {
		t.Fatal(err)
	}
	wait()
	unknown := func(what string, err error) {
		t.Helper()
		if !errors.Is(err, keep.ErrUnavailable) {
			t.Errorf("%s: %v", what, err)
		}
	}
	_, err := shelf.Insert(soon(t), row1("x"))
	unknown("an Insert whose caller gives up", err)
	other, err := Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if _, there, err := found(t, other, "a").Get(t.Context(), 1, "x"); there || err != nil {
		t.Errorf("a commit that nobody knows of is seen: %t, %v", there, err)
	}
	// The operator, or a timeout of the server's own, cuts the commit short: the row is there.
	cut := make(chan error, 1)
	go func() { _, err := shelf.Insert(t.Context(), row1("y")); cut <- err }()
	for commits(t, server) == 0 {
		time.Sleep(10 * time.Millisecond)
	}
	for ended := false; !ended; {
		execute(t, server.DSN(), "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE query = 'COMMIT' AND wait_event = 'SyncRep'")
		select {
		case err := <-cut:
			unknown("a commit that ended with a warning", err)
			ended = true
		case <-time.After(50 * time.Millisecond):
		}
	}
	if _, there, err := shelf.Get(t.Context(), 1, "y"); !there || err != nil {
		t.Fatalf("a commit that was cut short is not seen: %t, %v", there, err)
	}
	again, err := shelf.Insert(soon(t), row1("y"))
	if again {
		t.Error("what no standby has is acknowledged, again")
	}
	unknown("an Insert of what is there by itself", err)
	runs := 0
	err = found(t, other, "a").Update(soon(t), func(tx keep.Tx) error {
		runs++
		_, there, err := tx.Get(1, "y")
		if !there {
			t.Error("an Update does not see what is there")
		}
		return err
	})
	unknown("an Update that has only read", err)
	unknown("Seal", found(t, other, "a").Seal(soon(t)))
	if runs != 1 {
		t.Errorf("fn ran %d times", runs)
	}
	free()
	other.Close()
	for _, key := range []string{"x", "y"} {
		if again, err := shelf.Insert(t.Context(), row1(key)); err != nil || !again { // Seal stood behind them
			t.Errorf("%s, when the standby is let go: again %t, %v", key, again, err)
		}
		if _, there, err := shelf.Get(t.Context(), 1, key); !there || err != nil {
			t.Errorf("%s is there: %t, %v", key, there, err)
		}
	}
}

// found opens a shelf.
func found(t *testing.T, s keep.Store, name string) keep.Shelf {
	t.Helper()
	shelf, err := s.Open(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return shelf
}

// door stands before a server's socket and can be shut.
type door struct {
	net.Listener
	mu    sync.Mutex
	conns []net.Conn
}

func newDoor(t *testing.T, server postgrestest.Server) *door {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	d := &door{Listener: l}
	t.Cleanup(func() { l.Close(); d.cut() })
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("unix", server.Folder()+"/.s.PGSQL.5432")
			if err != nil {
				in.Close()
				continue
			}
			d.mu.Lock()
			d.conns = append(d.conns, in, out)
			d.mu.Unlock()
			pass := func(to, from net.Conn) {
				buf := make([]byte, 1<<16)
				for {
					n, err := from.Read(buf)
					if _, failed := to.Write(buf[:n]); err != nil || failed != nil {
						to.Close()
						return
					}
				}
			}
			go pass(in, out)
			go pass(out, in)
		}
	}()
	return d
}

// cut cuts all connections, and takes new ones.
func (d *door) cut() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, c := range d.conns {
		c.Close()
	}
	d.conns = nil
}

// A connection that is lost while it commits is no reason to cancel the commit: it would be there
// without its standby, for everybody to see. The driver does that by itself.
func TestALostConnectionCancelsNoCommit(t *testing.T) {
	server, wait, free := waiting(t)
	d := newDoor(t, server)
	_, port, _ := net.SplitHostPort(d.Addr().String())
	s, _ := opened(t, Config{URL: "postgres://postgres@127.0.0.1:" + port + "/postgres?sslmode=disable"})
	shelf := created(t, s, "a")
	if _, err := shelf.Insert(t.Context(), row1("first")); err != nil {
		t.Fatal(err)
	}
	wait()
	runs := 0
	done := make(chan error, 1)
	go func() {
		done <- shelf.Update(t.Context(), func(tx keep.Tx) error { runs++; tx.Put(1, "x", nil); return nil })
	}()
	for commits(t, server) == 0 {
		time.Sleep(10 * time.Millisecond)
	}
	d.cut()
	if err := <-done; !errors.Is(err, keep.ErrUnavailable) || runs != 1 {
		t.Errorf("an Update whose connection is lost ran %d times: %v", runs, err)
	}
	time.Sleep(300 * time.Millisecond) // in which a cancelling would arrive
	if _, there, err := shelf.Get(t.Context(), 1, "x"); there || err != nil {
		t.Errorf("the commit was cancelled, and its row is seen: %t, %v", there, err)
	}
	if n := commits(t, server); n != 1 {
		t.Errorf("%d commits wait, and one should", n)
	}
	free()
	for there := false; !there; time.Sleep(10 * time.Millisecond) {
		var err error
		if _, there, err = shelf.Get(t.Context(), 1, "x"); err != nil {
			t.Fatal(err)
		}
	}
}

// follows returns when a standby follows the server.
func follows(t *testing.T, server postgrestest.Server) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), server.DSN())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	for there := false; !there; time.Sleep(10 * time.Millisecond) {
		if err := conn.QueryRow(t.Context(), "SELECT EXISTS (SELECT FROM pg_stat_replication WHERE state = 'streaming')").Scan(&there); err != nil {
			t.Fatal(err)
		}
	}
}

// A synchronous standby is promoted: what was acknowledged is there. What timed out may be
// repeated at it, and is acknowledged as what it is there.
func TestAStandbyIsPromoted(t *testing.T) {
	server := postgrestest.NewServer(t, "fsync=on")
	keys := folder(t)
	_, c := disk(t, Config{URL: server.DSN(), Keys: keys})
	standby := server.Standby(t, "s1")
	follows(t, server)
	if _, err := Open(t.Context(), c); err == nil || !strings.Contains(err.Error(), "synchronous_standby_names") {
		t.Errorf("a server whose standby nobody waits for is taken: %v", err)
	}
	if _, err := Open(t.Context(), Config{URL: standby.DSN(), Keys: keys}); err == nil || !strings.Contains(err.Error(), "standby") {
		t.Errorf("a standby is written to: %v", err)
	}
	execute(t, server.DSN(), "ALTER SYSTEM SET synchronous_standby_names = 's1'")
	execute(t, server.DSN(), "SELECT pg_reload_conf()")
	time.Sleep(200 * time.Millisecond)
	s, err := Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	shelf := created(t, s, "a")
	for i := range 20 {
		if _, err := shelf.Insert(t.Context(), row1(fmt.Sprint(i))); err != nil {
			t.Fatal(err)
		}
	}
	if err := shelf.Update(t.Context(), func(tx keep.Tx) error { tx.Put(2, "mark", nil); return nil }); err != nil {
		t.Fatal(err)
	}
	standby.Stop(true) // and what comes now is on one machine
	if _, err := shelf.Insert(soon(t), row1("late")); !errors.Is(err, keep.ErrUnavailable) {
		t.Errorf("an Insert that no standby has: %v", err)
	}
	// The server restarts: its rows are seen, and the standby has none of them.
	if err := server.Restart(true, func() {}); err != nil {
		t.Fatal(err)
	}
	if _, there, err := shelf.Get(t.Context(), 1, "late"); !there || err != nil {
		t.Errorf("behind a restart: %t, %v", there, err)
	}
	if again, err := shelf.Insert(soon(t), row1("late")); again || !errors.Is(err, keep.ErrUnavailable) {
		t.Errorf("asked again, it acknowledges what its standby lacks: %t, %v", again, err)
	}
	server.Stop(true) // for good
	if err := standby.Restart(false, func() {}); err != nil {
		t.Fatal(err)
	}
	if err := standby.Promote(); err != nil {
		t.Fatal(err)
	}
	p, err := Open(t.Context(), Config{URL: standby.DSN(), Keys: keys})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	promoted := found(t, p, "a")
	for i := range 20 {
		if again, err := promoted.Insert(t.Context(), row1(fmt.Sprint(i))); err != nil || !again {
			t.Errorf("row %d was acknowledged: again %t, %v", i, again, err)
		}
	}
	if _, there, err := promoted.Get(t.Context(), 2, "mark"); !there || err != nil {
		t.Errorf("the mark was acknowledged: %t, %v", there, err)
	}
	if again, err := promoted.Insert(t.Context(), row1("late")); again || err != nil {
		t.Errorf("what nobody was told of: again %t, %v", again, err)
	}
	if err := promoted.Check(t.Context()); err != nil {
		t.Error(err)
	}
}

// A server that may lose what it acknowledges is refused by the name of its setting.
func TestServersThatLoseAreRefused(t *testing.T) {
	server := postgrestest.NewServer(t, "fsync=on")
	_, c := disk(t, Config{URL: server.DSN()})
	for _, setting := range []string{"full_page_writes = off", "synchronous_commit = off", "synchronous_commit = local", "synchronous_commit = remote_write"} {
		name, value, _ := strings.Cut(setting, " = ")
		execute(t, server.DSN(), "ALTER SYSTEM SET "+setting)
		execute(t, server.DSN(), "SELECT pg_reload_conf()")
		time.Sleep(200 * time.Millisecond)
		if _, err := Open(t.Context(), c); err == nil || !strings.Contains(err.Error(), name+" "+value) {
			t.Errorf("%s: %v", setting, err)
		}
		execute(t, server.DSN(), "ALTER SYSTEM RESET "+name)
	}
	execute(t, server.DSN(), "SELECT pg_reload_conf()")
	time.Sleep(200 * time.Millisecond)
	execute(t, server.DSN(), "SELECT pg_create_physical_replication_slot('s1')")
	if _, err := Open(t.Context(), c); err == nil || !strings.Contains(err.Error(), "synchronous_standby_names") {
		t.Errorf("a server with a standby's place and no name: %v", err)
	}
	if err := Make(t.Context(), Config{URL: postgrestest.NewServer(t).DSN()}); err == nil || !strings.Contains(err.Error(), "fsync off") {
		t.Errorf("a server without fsync: %v", err)
	}
}
