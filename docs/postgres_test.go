//go:build unix

package docs_test

import (
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/internal/storage/keep/postgres/postgrestest"
	"github.com/confetti-dp/confetti/internal/tools/doctest"
)

// operating are the pages of operators, whose commands follow each other.
var operating = []string{"docs/operating.md", "docs/operating-roles.md", "docs/operating-day2.md", "docs/damaged-disks.md"}

// The printed commands that are not typed where roles have a database, and why.
var (
	exemptOnPostgres = map[string]string{
		"confetti-shuffler --config shuffler.toml --set-aside": "it is for a stopped service with a damaged disk, which its own tests make",
	}
	exemptIncidents = map[string]string{
		"! confetti-shuffler --config drill/instance-1-hop-1/shuffler.toml": "it fails for a damaged contribution; with a database a start reads none",
	}
)

// Printed commands that change or lose what is in a folder. Here it is in a database.
const (
	rotting = `printf '\377' | dd of="$(ls drill/instance-1-hop-1/queue/shelves/in-*.rows)" bs=1 seek=2000 conv=notrunc`
	losing  = "mkdir drill/analyzer/lost && mv drill/analyzer/shelves* drill/analyzer/lost/"
)

// Every command of the operators' pages and of their playbook works where each role has a PostgreSQL
// database instead of a folder, reached with a password, as operating-day2.md says.
func TestTheOperatingCommandsWorkOnPostgres(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the programs and runs collections")
	}
	b := newBase(t)
	t.Run("pages", func(t *testing.T) {
		reader(t, b.root, exemptOnPostgres, 85, operating...).typed(t, b.as)
		if err := b.used(2); err != nil {
			t.Error(err)
		}
	})
	t.Run("playbook", func(t *testing.T) {
		if err := os.RemoveAll(filepath.Join(b.root, "answers.csv")); err != nil { // it makes another one
			t.Fatal(err)
		}
		drill(t, b.root, exemptIncidents, b.as)
		if err := b.used(2); err != nil {
			t.Error(err)
		}
		if !b.lost || !b.rotten {
			t.Errorf("%q or %q is not printed", losing, rotting)
		}
	})
	t.Run("twins", func(t *testing.T) {
		s := doctest.NewSession(t, b.root, doctest.Patience(t))
		if _, err := s.Run(`go build -o . ./cmd/... && export PATH="$PWD:$PATH"`); err != nil {
			t.Fatal(err)
		}
		nowhere, stranger := *b, *b
		nowhere.database = "nowhere"
		stranger.password += ".wrong"
		if err := os.WriteFile(stranger.password, []byte("correct pony\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		for says, b := range map[string]base{"no database of this name": nowhere, "look at the user, the password": stranger} {
			text, err := b.as(s, "confetti up twin-"+b.database+" --devices 3")
			if err != nil {
				t.Fatal(err)
			}
			if out, err := s.Run("timeout 60 " + text); err == nil || !strings.Contains(out, says) || strings.Contains(out, "correct") {
				t.Errorf("a trial does not fail saying %q: %v", says, err)
			}
			if b.used(1) == nil {
				t.Error("a database without a table is taken for one that was used")
			}
		}
		if _, err := onPostgres([]byte("queue.folder = 'elsewhere'\n"), "shuffler", "postgres:///", "password"); err == nil {
			t.Error("a configuration whose folder is not found stays on it")
		}
	})
}

// base is a PostgreSQL server on which the roles of trials stand, as a user with a password.
type base struct {
	postgrestest.Server
	root     string   // of the clone
	database string   // of the server
	password string   // file
	settled  []string // configurations that have a database
	lost     bool     // that of the playbook's analyzer, in between
	rotten   bool     // one of its contributions
}

func newBase(t *testing.T) *base {
	t.Helper()
	b := &base{Server: postgrestest.NewServer(t, "fsync=on", "max_connections=300"), root: cloned(t), database: "postgres", password: filepath.Join(t.TempDir(), "database.password")}
	rules := "local all postgres trust\nlocal all all scram-sha-256\n"
	if err := errors.Join(
		os.WriteFile(b.password, []byte("correct horse\n"), 0o600),
		b.execute("CREATE ROLE confetti LOGIN PASSWORD 'correct horse'"),
		os.WriteFile(filepath.Join(b.Folder(), "data", "pg_hba.conf"), []byte(rules), 0o600),
		b.execute("SELECT pg_reload_conf()"),
	); err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *base) execute(statement string) error {
	db, err := sql.Open("pgx", b.DSN())
	if err != nil {
		return err
	}
	defer db.Close()
	_, err = db.Exec(statement)
	return err
}

// up is the beginning of the command that makes a trial and starts it.
var up = regexp.MustCompile(`^confetti up (\S+)[^>&]*`)

// as returns how a command is typed: before a trial is started it is made, and its roles get a
// database. The hop that can reach one is another program.
func (b *base) as(s *doctest.Session, text string) (string, error) {
	if m := up.FindStringSubmatch(text); m != nil {
		made := filepath.Join(m[1], "plan.signed.json")
		_, err := s.Run(fmt.Sprintf("%s >/dev/null & until [ -e %s ] || ! kill -0 $!; do sleep 0.1; done; kill $!; wait $!; [ -e %s ]", m[0], made, made))
		if err == nil {
			err = b.settle(filepath.Join(b.root, m[1]))
		}
		if err != nil {
			return "", err
		}
	}
	switch text {
	case rotting:
		b.rotten = true
		return "true", b.rot(b.schema(filepath.Join(b.root, "drill/instance-1-hop-1/shuffler.toml")))
	case losing:
		schema := b.schema(filepath.Join(b.root, "drill/analyzer/analyzer.toml"))
		b.lost = true
		if err := b.execute("DROP SCHEMA " + schema + " CASCADE; CREATE SCHEMA " + schema + " AUTHORIZATION confetti"); err != nil {
			return "", err
		}
	}
	return strings.ReplaceAll(text, "confetti-shuffler --config", "confetti-shuffler-postgres --config"), nil
}

// rot changes a bit of one contribution that a hop has in a schema: many may have come in one group.
func (b *base) rot(schema string) error {
	db, err := sql.Open("pgx", b.In(schema))
	if err != nil {
		return err
	}
	defer db.Close()
	var table string
	if err := db.QueryRow("SELECT 'confetti_s' || number FROM confetti_shelves WHERE shelf LIKE 'in-%'").Scan(&table); err != nil {
		return err
	}
	changed, err := db.Exec("UPDATE " + table + " SET v = set_bit(v, 2000, 1 - get_bit(v, 2000)) WHERE ctid = (SELECT ctid FROM " + table + " WHERE n > 0 ORDER BY n DESC, i LIMIT 1)")
	if err != nil {
		return err
	}
	if n, err := changed.RowsAffected(); err != nil || n != 1 {
		return fmt.Errorf("%d contributions are changed (%v)", n, err)
	}
	return nil
}

// settle gives each role of a trial a schema in the place of its folder.
func (b *base) settle(trial string) error {
	configs, err := filepath.Glob(filepath.Join(trial, "*", "*.toml"))
	if err != nil || len(configs) < 3 {
		return errors.Join(err, fmt.Errorf("%s has %d configurations", trial, len(configs)))
	}
	for _, config := range configs {
		text, err := os.ReadFile(config)
		if err != nil {
			return err
		}
		schema := b.schema(config)
		if text, err = onPostgres(text, strings.TrimSuffix(filepath.Base(config), ".toml"), b.address(schema), b.password); err != nil {
			return fmt.Errorf("%s: %w", config, err)
		}
		for _, kept := range append(folders, "shelves.ledger") {
			err = errors.Join(err, os.RemoveAll(filepath.Join(filepath.Dir(config), kept)))
		}
		if err := errors.Join(
			err,
			os.WriteFile(config, text, 0o600),
			b.Schema(schema+" AUTHORIZATION confetti"),
			b.Schema(strings.Replace(schema, "shelves", "restored", 1)+" AUTHORIZATION confetti"), // an empty one, for a backup
		); err != nil {
			return err
		}
		b.settled = append(b.settled, config)
	}
	return nil
}

// folders are where roles keep their data without a database.
var folders = []string{"queue", "shelves", filepath.Join("marks", "shelves")}

// schema names that of a configuration. The name has the word that a printed command changes.
func (*base) schema(config string) string {
	folder := filepath.Dir(config)
	return strings.ReplaceAll("shelves_"+filepath.Base(filepath.Dir(folder))+"_"+filepath.Base(folder), "-", "_")
}

// address is that of a schema, for the user with a password.
func (b *base) address(schema string) string {
	return "postgres://confetti@/" + b.database + "?" + url.Values{"host": {b.Folder()}, "search_path": {schema}}.Encode()
}

// settings are the line of a role's configuration that names its folder, and what stands in its
// place. An issuer keeps the line, as its folder has more.
var settings = map[string]struct{ folder, database string }{
	"shuffler": {"queue.folder = 'queue'\n", "queue.url = '%s'\nqueue.password_file = '%s'\nqueue.keys_folder = 'forgotten'\nmix.folder = 'parts'\n"},
	"issuer":   {"folder = 'marks'\n", "folder = 'marks'\nurl = '%s'\npassword_file = '%s'\nshelf_keys = 'forgotten'\n"},
	"analyzer": {"database = 'shelves'\n", "url = '%s'\npassword_file = '%s'\nledger = 'shelves.ledger'\ncount.folder = 'parts'\n"},
}

// onPostgres returns a role's configuration with a database.
func onPostgres(config []byte, role, address, password string) ([]byte, error) {
	lines, known := settings[role]
	if !known || strings.Count(string(config), lines.folder) != 1 {
		return nil, fmt.Errorf("the configuration of this %s does not say once %q", role, lines.folder)
	}
	return []byte(strings.Replace(string(config), lines.folder, fmt.Sprintf(lines.database, address, password), 1)), nil
}

// used refuses what the roles of so many trials have not kept in databases, or have in folders.
func (b *base) used(trials int) error {
	db, err := sql.Open("pgx", b.DSN())
	if err != nil {
		return err
	}
	defer db.Close()
	settled := b.settled
	if b.settled = nil; len(settled) != trials*4 { // two hops, an issuer and an analyzer
		return fmt.Errorf("these roles of %d trials have a database: %v", trials, settled)
	}
	for _, config := range settled {
		var tables int
		if err := db.QueryRow("SELECT count(*) FROM pg_tables WHERE schemaname = $1", b.schema(config)).Scan(&tables); err != nil || tables == 0 {
			return fmt.Errorf("the database of %s has %d tables (%v)", config, tables, err)
		}
		for _, folder := range folders {
			if _, err := os.Stat(filepath.Join(filepath.Dir(config), folder)); !errors.Is(err, os.ErrNotExist) {
				return fmt.Errorf("%s: there is a folder %s too (%v)", config, folder, err)
			}
		}
	}
	return nil
}
