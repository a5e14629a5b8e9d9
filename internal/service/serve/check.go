package serve

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/confetti-dp/confetti/internal/storage/atomicfile"
)

// Closed refuses a file or a folder of keys that everybody on the machine can write. The
// reader reports one that is not there.
func Closed(path Path) error {
	status, err := os.Stat(string(path))
	if err != nil || runtime.GOOS == "windows" {
		return nil
	}
	if mode := status.Mode().Perm(); mode&0o002 != 0 {
		return fmt.Errorf("%s can be written by everybody on the machine (mode %04o): take that away with chmod o-w", path, mode)
	}
	return nil
}

// secretFile refuses a private key that everybody on the machine can read.
func secretFile(path Path) error {
	status, err := os.Stat(string(path))
	if err != nil || runtime.GOOS == "windows" {
		return nil // whoever reads it says so
	}
	if mode := status.Mode().Perm(); mode&0o007 != 0 {
		return fmt.Errorf("%s is open to everybody on the machine (mode %04o): make it private with chmod 600", path, mode)
	}
	return nil
}

// Writable refuses a folder into which nothing can be written, or which cannot be
// made where it stands.
func Writable(folder Path) error {
	at := string(folder)
	for {
		status, err := os.Stat(at)
		if err == nil && !status.IsDir() {
			return fmt.Errorf("%s is no folder", at)
		}
		if err == nil {
			break
		}
		if !errors.Is(err, fs.ErrNotExist) || filepath.Dir(at) == at {
			return fmt.Errorf("%w", err)
		}
		at = filepath.Dir(at) // it is made when the service starts
	}
	if err := atomicfile.Writable(at); err != nil {
		return fmt.Errorf("nothing can be written into %s: %w", at, err)
	}
	return nil
}

// ReadSecretFile reads a password or another secret from a file of one line, which nobody
// else may read.
func ReadSecretFile(path Path) (string, error) {
	text, err := readPrivate(string(path))
	if err != nil {
		return "", err
	}
	line := strings.TrimRight(string(text), "\r\n")
	if line == "" || strings.ContainsAny(line, "\r\n") || len(line) > 1<<10 {
		return "", fmt.Errorf("serve: %s is not one line with a secret", path)
	}
	return line, nil
}

// Local says whether a host of a URL is this machine: a loopback address, or a
// socket in a folder.
func Local(host string) bool {
	if host == "" || strings.HasPrefix(host, "/") || host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// verifiedDatabase refuses the URL of a PostgreSQL database on another machine that
// nobody could tell from an impostor: the driver would take any certificate, and
// none. What is no such URL is refused, too: another form of it would be the name of a file.
// An error shows nothing of it, whatever stands where: it may be the password.
func verifiedDatabase(text string) error {
	u, err := url.Parse(text)
	if err != nil || !strings.HasPrefix(text, "postgres://") && !strings.HasPrefix(text, "postgresql://") {
		return errors.New("is no address of a PostgreSQL database: write postgres://user@host/database?sslmode=verify-full, in small letters; a folder is set as database")
	}
	hosts := []string{u.Query().Get("host")}
	if hosts[0] == "" {
		hosts = hosts[:0]
		for _, h := range strings.Split(u.Host, ",") {
			hosts = append(hosts, (&url.URL{Host: h}).Hostname())
		}
	}
	for _, h := range hosts {
		if mode := u.Query().Get("sslmode"); !Local(h) && mode != "verify-full" {
			return errors.New("sslmode is not verify-full for a database on another machine, so that anybody on the way could be it: write ?sslmode=verify-full, with sslrootcert=FILE for an authority of your own")
		}
	}
	return nil
}
