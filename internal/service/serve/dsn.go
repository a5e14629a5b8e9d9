package serve

import (
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/confetti-dp/confetti/internal/storage/atomicfile"
)

// Rows are the settings of a service whose data rest in a database.
type Rows struct {
	Database     Path   `toml:"database" eg:"/var/lib/confetti-ROLE/ROLE.db" help:"SQLite's file, on a local disk of which fsync can be trusted."`
	URL          string `toml:"url" or:"postgres://confetti@database.example/confetti?sslmode=verify-full&sslrootcert=/etc/confetti-ROLE/database.crt" help:"Instead of the file: a PostgreSQL database."`
	PasswordFile Path   `toml:"password_file" or:"database.password" help:"The database's password, one line in a file that nobody else may read."`
}

// Check says what is wrong with the settings.
func (r Rows) Check() error {
	_, err := r.DSN()
	if err == nil && r.Database != "" {
		err = Writable(Path(filepath.Dir(string(r.Database))))
	}
	return Fault("database", err)
}

// DSN returns where the data rest, as of store.Config.
func (r Rows) DSN() (string, error) {
	database, address, passwordFile := r.Database, r.URL, r.PasswordFile
	if (database == "") == (address == "") {
		return "", errors.New("set either database, a path, or url, of a PostgreSQL database")
	}
	if database != "" {
		if strings.Contains(string(database), "://") || parameters.MatchString(string(database)) {
			return "", errors.New("database is a path: set the address of a PostgreSQL database as url")
		}
		if passwordFile != "" {
			return "", errors.New("password_file is for a PostgreSQL database: leave it out for a file")
		}
		return string(database), nil
	}
	if err := verifiedDatabase(address); err != nil {
		return "", Fault("url", err)
	}
	if passwordFile == "" {
		return address, nil
	}
	u, err := url.Parse(address)
	if err != nil {
		return "", errors.New("url cannot be read") // it may hold a password
	}
	if _, there := u.User.Password(); there {
		return "", errors.New("the password stands in url and in password_file: leave it out of url")
	}
	password, err := ReadSecretFile(passwordFile)
	if err != nil {
		return "", Fault("password_file", err)
	}
	u.User = url.UserPassword(u.User.Username(), password)
	return u.String(), nil
}

// parameters matches what libpq takes for an address of PostgreSQL, and what would be the name of a
// file: it may hold the password.
var parameters = regexp.MustCompile(`\b(host|hostaddr|user|password|dbname|service)\s*=`)

// Make makes the folders of a SQLite file and of other files that a service keeps, which Writable has
// found that can be made, and returns where the data rest.
func (r Rows) Make(others ...Path) (dsn string, err error) {
	for _, file := range append(others, r.Database) {
		if file == "" {
			continue
		}
		if err := os.MkdirAll(filepath.Dir(string(file)), 0o700); err != nil {
			return "", err
		}
	}
	return r.DSN()
}

// Copy copies a SQLite file, and what lies beside it under its name, into the temporary folder,
// for who reads it as a start does, and returns the copy's DSN; of a PostgreSQL database its own.
// done removes the copy.
func (r Rows) Copy() (dsn string, done func(), err error) {
	if dsn, err = r.DSN(); err != nil || r.Database == "" {
		return dsn, func() {}, err
	}
	folder, base := filepath.Split(dsn)
	if _, err := os.Stat(dsn); err != nil {
		return "", nil, err // or an empty one would be made, which is whole
	}
	copied, done, err := atomicfile.Copy(filepath.Clean(folder), func(name string) bool { return strings.HasPrefix(name, base) })
	return filepath.Join(copied, base), done, err
}
