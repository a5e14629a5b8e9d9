// Package bearer shows each service the bearer token that is for its address, and nothing to any other. Used by
// cmd/internal/services and internal/service/analyzerd.
//
// A file of tokens has a line for each service, the address and the token:
//
//	https://analyzer.example:8443 cft_...
//
// Empty lines, and lines that begin with #, say nothing.
package bearer

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"runtime"
	"strings"
)

// Tokens are bearer tokens by the service that each is for. The zero value has none.
type Tokens struct{ hosts map[string]string } // by host and port

// maxFile bounds a file of tokens, in bytes.
const maxFile = 1 << 20

// Read reads a file of addresses and tokens that nobody else may read.
func Read(path string) (Tokens, error) { return read(path, parse) }

// ReadOne reads the token of the service at an address from a file that has nothing else, and that
// nobody else may read.
func ReadOne(path, address string) (Tokens, error) {
	return read(path, func(text []byte) (Tokens, error) {
		words := strings.Fields(string(text))
		if len(words) != 1 || !token(words[0]) {
			return Tokens{}, errors.New("it is not one token: see confetti token add")
		}
		at, ok := origin(address)
		if !ok {
			return Tokens{}, errors.New("the token is for a service whose address is https://host:port, and nothing more")
		}
		return Tokens{map[string]string{at: words[0]}}, nil
	})
}

func read(path string, parse func(text []byte) (Tokens, error)) (t Tokens, err error) {
	text, err := private(path)
	if err == nil && len(text) > maxFile {
		err = fmt.Errorf("it is larger than %d bytes, and no file of tokens", maxFile)
	}
	if err == nil {
		t, err = parse(text)
	}
	if err != nil {
		return Tokens{}, fmt.Errorf("%s: %w", path, err)
	}
	return t, nil
}

// private reads the beginning of a file, and refuses one that others may read.
func private(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, errors.Unwrap(err) // which names the file again
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 && !info.IsDir() && runtime.GOOS != "windows" {
		return nil, fmt.Errorf("it is open to others (mode %04o): make it private with chmod 600", mode)
	}
	return io.ReadAll(io.LimitReader(f, maxFile+1))
}

// parse reads addresses and tokens. Its errors have the number of a line, and nothing that stands there.
func parse(text []byte) (Tokens, error) {
	t, lines, n := Tokens{map[string]string{}}, map[string]int{}, 0
	for line := range bytes.Lines(text) {
		n++
		words := strings.Fields(string(line))
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		if len(words) != 2 {
			return Tokens{}, fmt.Errorf("line %d: give the address of a service and its token, and nothing else", n)
		}
		at, ok := origin(words[0])
		switch {
		case !ok:
			return Tokens{}, fmt.Errorf("line %d: an address of a service is https://host:port, and nothing more", n)
		case !token(words[1]):
			return Tokens{}, fmt.Errorf("line %d: no token stands behind the address: see confetti token add", n)
		case lines[at] != 0:
			return Tokens{}, fmt.Errorf("line %d: the service of line %d again: leave out one of them", n, lines[at])
		}
		t.hosts[at], lines[at] = words[1], n
	}
	if len(t.hosts) == 0 {
		return Tokens{}, errors.New("no line has an address and a token")
	}
	return t, nil
}

// origin returns the host and port of a service's address, which has nothing else; false for what is none.
func origin(address string) (string, bool) {
	u, err := url.Parse(address)
	if err != nil || u.User != nil || u.RawQuery != "" || u.ForceQuery || strings.Contains(address, "#") || u.Path != "" && u.Path != "/" {
		return "", false
	}
	return host(u)
}

// host returns the host and port that a URL leads to, over TLS.
func host(u *url.URL) (string, bool) {
	name := strings.ToLower(u.Hostname())
	if u.Scheme != "https" || name == "" || !of(name, "abcdefghijklmnopqrstuvwxyz0123456789-._:") {
		return "", false
	}
	return net.JoinHostPort(name, cmp.Or(u.Port(), "443")), true
}

// token reports whether a text has the form of a bearer token (RFC 6750).
func token(text string) bool {
	return text != "" && of(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~+/=")
}

// of reports whether a text has these characters alone.
func of(text, alphabet string) bool {
	return strings.IndexFunc(text, func(r rune) bool { return !strings.ContainsRune(alphabet, r) }) < 0
}

// None reports whether there is no token at all.
func (t Tokens) None() bool { return len(t.hosts) == 0 }

// Opens reports whether there is a token for the service that a URL leads to.
func (t Tokens) Opens(address string) bool {
	u, err := url.Parse(address)
	return err == nil && t.at(u) != ""
}

// Show has a request show the token that is for the service that it goes to, if there is one.
func (t Tokens) Show(r *http.Request) {
	if shown := t.at(r.URL); shown != "" {
		r.Header.Set("Authorization", "Bearer "+shown)
	}
}

func (t Tokens) at(u *url.URL) string {
	at, ok := host(u)
	if !ok {
		return ""
	}
	return t.hosts[at]
}
