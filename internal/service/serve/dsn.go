package serve

import (
	"errors"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
)

// Rows are the settings of a service whose data rest in a database.
type Rows struct {
	Database     Path   `toml:"database" eg:"/var/lib/confetti-ROLE/shelves" help:"A folder on a local disk of which fsync can be trusted."`
	URL          string `toml:"url" or:"postgres://confetti@database.example/confetti?sslmode=verify-full&sslrootcert=/etc/confetti-ROLE/database.crt" help:"Instead of the folder: a PostgreSQL database."`
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

// DSN returns where the data rest, the path of a folder or the address of a PostgreSQL database.
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
			return "", errors.New("password_file is for a PostgreSQL database: leave it out for a folder")
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
