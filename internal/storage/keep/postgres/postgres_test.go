package postgres

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/confetti-dp/confetti/internal/storage/blob"
	"github.com/confetti-dp/confetti/internal/storage/keep"
	"github.com/confetti-dp/confetti/internal/storage/keep/keeptest"
	"github.com/confetti-dp/confetti/internal/storage/keep/postgres/postgrestest"
)

func TestMain(m *testing.M) {
	flag.Parse()
	if f := flag.Lookup("rapid.checks"); f.Value.String() == f.DefValue {
		flag.Set("rapid.checks", "8") // each some 30 round trips and a schema
	}
	// A default that the engine must not be taken in by.
	os.Exit(postgrestest.Main(m, "fsync=on", "default_transaction_isolation=repeatable read", "max_connections=300"))
}

// disk returns a store in a schema of its own, with keys in a folder or, without, in the database.
func disk(t testing.TB, c Config) (keeptest.Disk, Config) {
	t.Helper()
	if c.URL == "" {
		c.URL = postgrestest.Postgres(t)
	}
	if err := Make(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	return keeptest.Disk{
		Open: func(ctx context.Context) (keep.Store, error) { return Open(ctx, c) },
		Kill: func() {
			execute(t, c.URL, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND query LIKE '%confetti%' OR query = 'COMMIT'")
		},
		Spoil: spoil(c.URL),
	}, c
}

// spoil returns what changes a bit of a row in the database of a URL.
func spoil(url string) func(tb testing.TB, shelf string, t keep.Table, key string) {
	return func(tb testing.TB, shelf string, t keep.Table, key string) {
		table := fmt.Sprintf("confetti_s%d", scalar[int](tb, url, "SELECT number FROM confetti_shelves WHERE shelf = $1", shelf))
		execute(tb, url, fmt.Sprintf("UPDATE %s SET v = set_bit(v, 9, 1 - get_bit(v, 9)) WHERE t = %d AND k = '%s'", table, t, key))
	}
}

func folder(t testing.TB) blob.Store {
	t.Helper()
	f, err := blob.OpenFolder(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func execute(t testing.TB, url, statement string) {
	t.Helper()
	conn, err := pgx.Connect(context.Background(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	if _, err := conn.Exec(context.Background(), statement); err != nil {
		t.Fatal(err)
	}
}

// store opens a new store.
func opened(t testing.TB, c Config) (keep.Store, Config) {
	t.Helper()
	d, c := disk(t, c)
	s, err := d.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s, c
}

func created(t testing.TB, s keep.Store, name string) keep.Shelf {
	t.Helper()
	shelf, err := s.Create(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return shelf
}

// The engine keeps all promises: values sealed and their keys in a folder, as a hop has it.
func TestConformance(t *testing.T) {
	keeptest.Run(t, keeptest.Engine{Shared: true, New: func(t testing.TB) keeptest.Disk {
		d, _ := disk(t, Config{Keys: folder(t)})
		return d
	}})
}

// And in the clear with keys in the database, as an analyzer has it. Bounds are looked at before a value is sealed or not.
func TestConformanceInTheClear(t *testing.T) {
	keeptest.Run(t, keeptest.Engine{Shared: true, New: func(t testing.TB) keeptest.Disk {
		d, _ := disk(t, Config{Plain: true})
		return d
	}}, "Bounds")
}

// A store is made once.
func TestMadeOnce(t *testing.T) {
	_, c := opened(t, Config{})
	if err := Make(t.Context(), c); !errors.Is(err, keep.ErrExists) {
		t.Errorf("made twice: %v", err)
	}
}
