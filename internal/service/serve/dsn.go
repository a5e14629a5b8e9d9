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

// DSN returns where a service's data rest, as of store.Config: in a file of SQLite, or at the
// URL of a PostgreSQL database, whose password may be in a file.
func DSN(database Path, address string, passwordFile Path) (string, error) {
	if (database == "") == (address == "") {
		return "", errors.New("set either database, a file, or url, of a PostgreSQL database")
	}
	if database != "" {
		if strings.Contains(string(database), "://") || parameters.MatchString(string(database)) {
			return "", errors.New("database is a file of SQLite: set the address of a PostgreSQL database as url")
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

// MakeFolders makes the folders of files that a service keeps, which Writable has found that can be
// made; of a name that is empty none.
func MakeFolders(files ...Path) error {
	for _, file := range files {
		if file == "" {
			continue
		}
		if err := os.MkdirAll(filepath.Dir(string(file)), 0o700); err != nil {
			return err
		}
	}
	return nil
}

// CopyDatabase copies a SQLite file, and what lies beside it under its name, into the
// temporary folder, for who reads it as a start does. done removes the copy.
func CopyDatabase(database Path) (copied string, done func(), err error) {
	folder, base := filepath.Split(string(database))
	if _, err := os.Stat(string(database)); err != nil {
		return "", nil, err // or an empty one would be made, which is whole
	}
	copied, done, err = atomicfile.Copy(filepath.Clean(folder), func(name string) bool { return strings.HasPrefix(name, base) })
	return filepath.Join(copied, base), done, err
}
