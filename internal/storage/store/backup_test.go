package store

import (
	"database/sql"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/confetti-dp/confetti/internal/storage/store/storetest"
)

// contents is every row of every table.
func contents(t *testing.T, s *Store) map[string][][]any {
	t.Helper()
	all := map[string][][]any{}
	for _, table := range tables {
		err := each(t.Context(), s.reader, func(r *sql.Rows) error {
			row, at := make([]any, len(table.columns)), make([]any, len(table.columns))
			for i := range row {
				at[i] = &row[i]
			}
			all[table.name] = append(all[table.name], row)
			return r.Scan(at...)
		}, "SELECT "+strings.Join(table.columns, ", ")+" FROM "+table.name+" ORDER BY "+strings.Join([]string{"1", "2", "3"}[:min(3, len(table.columns))], ", "))
		if err != nil {
			t.Fatal(err)
		}
	}
	return all
}

func TestABackupOfEitherIsRestoredIntoEither(t *testing.T) {
	both(t, func(t *testing.T, dsn string) {
		from := filled(t, dsn)
		path := filepath.Join(t.TempDir(), "backup.db")
		if err := from.Backup(t.Context(), path); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%v, %v", info.Mode(), err)
		}
		if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), ".*")); len(left) > 0 {
			t.Error("left behind", left)
		}
		if err := from.Backup(t.Context(), path); err == nil {
			t.Error("a backup was written over")
		}
		want := contents(t, from)
		both(t, func(t *testing.T, dsn string) {
			to := open(t, dsn)
			if err := to.Restore(t.Context(), path); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(want, contents(t, to)) { // tens of thousands of bytes a row: not to be printed
				t.Error("other rows came back")
			}
			if err := to.Restore(t.Context(), path); err == nil || !strings.Contains(err.Error(), "empty") {
				t.Error("restored over what was there:", err)
			}
		})
	})
}

func TestRestoreRefusesWhatIsNoBackup(t *testing.T) {
	folder := t.TempDir()
	s := filled(t, filepath.Join(folder, "a.db"))
	good := filepath.Join(folder, "good.db")
	if err := s.Backup(t.Context(), good); err != nil {
		t.Fatal(err)
	}
	body, err := os.ReadFile(good)
	if err != nil {
		t.Fatal(err)
	}
	write := func(name string, body []byte) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, body, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	older := write("older.db", body)
	db, err := sql.Open("sqlite", sqliteURI(older))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec("DELETE FROM goose_db_version WHERE version_id = (SELECT max(version_id) FROM goose_db_version)"); err != nil {
		t.Fatal(err)
	}
	db.Close()
	for name, path := range map[string]string{
		"nothing": filepath.Join(folder, "none.db"), "a text": write("text", []byte("hello")), "an empty file": write("empty", nil),
		"half of one": write("half.db", body[:len(body)/2]), "one of an older build": older,
	} {
		to := open(t, filepath.Join(t.TempDir(), "to.db"))
		if err := to.Restore(t.Context(), path); err == nil {
			t.Errorf("restored %s", name)
		}
		if n := rows(t, to); n["plans"]+n["batches"] != 0 {
			t.Errorf("%s left rows: %v", name, n)
		}
	}
}

// The list of tables is that of the database: a backup forgets nothing.
func TestABackupHasEveryTableAndColumn(t *testing.T) {
	both(t, func(t *testing.T, dsn string) {
		s := open(t, dsn)
		text := "SELECT m.name, c.name FROM sqlite_master m, pragma_table_info(m.name) c WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite%'"
		if s.kind == postgres {
			text = "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = current_schema()"
		}
		found := map[string]bool{}
		err := each(t.Context(), s.reader, func(r *sql.Rows) error {
			var table, column string
			err := r.Scan(&table, &column)
			if table != "goose_db_version" && table != "shards" && table != "attempts" { // of which the hops have the batches
				found[table+"."+column] = true
			}
			return err
		}, text)
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]bool{}
		for _, table := range tables {
			for _, column := range table.columns {
				want[table.name+"."+column] = true
			}
		}
		if diff := cmp.Diff(want, found); diff != "" {
			t.Error(diff)
		}
	})
}

func BenchmarkCount(b *testing.B) {
	n := counted(1 << 50)
	for name, dsn := range map[string]func() string{
		"sqlite":   func() string { return filepath.Join(b.TempDir(), "a.db") },
		"postgres": func() string { return storetest.Postgres(b) },
	} {
		b.Run(name, func(b *testing.B) {
			s := open(b, dsn())
			register(b, s, samplePlan("aa"))
			b.SetBytes(int64(len(n)))
			for i := 0; b.Loop(); i++ {
				if o, err := s.Count(b.Context(), sampleBatch("aa", i, 0), n); o != New {
					b.Fatal(o, err)
				}
			}
		})
	}
}
