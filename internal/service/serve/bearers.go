package serve

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"os"
	"runtime"
	"strings"

	"github.com/confetti-dp/confetti/internal/rng"
	"github.com/confetti-dp/confetti/internal/storage/atomicfile"
	"github.com/confetti-dp/confetti/internal/wire"
)

// A file of bearer tokens has a first line
//
//	confetti-bearers/v1 SALT
//
// and then a line for each token
//
//	NAME HASH
//
// where SALT is 16 bytes and HASH the SHA-256 of salt and token, in base64url.
// A name has no white space; several tokens may be of one name. The file does
// not give a token away: each has 256 random bits.
const (
	bearersFormat = "confetti-bearers/v1"
	bearerPrefix  = "cft_" // so that one can be recognized where it should not be
	bearerSize    = len(bearerPrefix) + 43
	saltSize      = 16
)

var base64url = base64.RawURLEncoding.Strict()

// Bearers knows the holders of bearer tokens from a file, and reads it again
// when it changes. It is safe for concurrent use.
type Bearers struct{ file *watched[*bearerFile] }

type bearerFile struct {
	salt  []byte
	names map[[sha256.Size]byte]string
}

// ReadBearers reads a file that AddBearer wrote.
func ReadBearers(path string) (*Bearers, error) {
	w, err := watch(func() (*bearerFile, error) { return readBearerFile(path) }, path)
	if err != nil {
		return nil, err
	}
	return &Bearers{w}, nil
}

// Find returns the name of the token's holder. It compares hashes that the sender
// cannot choose, so that the time it takes says nothing of other tokens.
func (b *Bearers) Find(token string) (name string, ok bool) {
	f, _ := b.file.get()
	if len(token) != bearerSize || !strings.HasPrefix(token, bearerPrefix) {
		return "", false
	}
	name, ok = f.names[f.hash(token)]
	return name, ok
}

// Knows reports whether there still is a token of the name.
func (b *Bearers) Knows(name string) bool {
	f, _ := b.file.get()
	for _, n := range f.names {
		if n == name {
			return true
		}
	}
	return false
}

// Err returns why the file cannot be read any more; those read last still count.
func (b *Bearers) Err() error {
	_, err := b.file.get()
	return err
}

func (f *bearerFile) hash(token string) [sha256.Size]byte {
	return sha256.Sum256(append(f.salt[:len(f.salt):len(f.salt)], token...))
}

// AddBearer draws a token for the name, writes its hash to the file, which it
// makes if there is none, and returns the token: it is kept nowhere else.
func AddBearer(r *rand.Rand, path, name string) (string, error) {
	tokens, err := AddBearers(r, path, name)
	if err != nil {
		return "", err
	}
	return tokens[0], nil
}

// AddBearers is AddBearer for many names at once, all or none.
func AddBearers(r *rand.Rand, path string, names ...string) ([]string, error) {
	f, err := readBearerFile(path)
	var text []byte
	switch {
	case errors.Is(err, fs.ErrNotExist):
		f = &bearerFile{salt: make([]byte, saltSize)}
		rng.Reader(r).Read(f.salt)
		text = fmt.Appendf(nil, "%s %s\n", bearersFormat, base64url.EncodeToString(f.salt))
	case err != nil:
		return nil, err
	default:
		if text, err = atomicfile.Read(path); err != nil {
			return nil, fmt.Errorf("serve: %w", err)
		}
	}
	tokens := make([]string, len(names))
	for i, name := range names {
		if name == "" || strings.ContainsAny(name, " \t\r\n") {
			return nil, errors.New("serve: a token needs a name without white space")
		}
		secret := make([]byte, 32)
		rng.Reader(r).Read(secret)
		tokens[i] = bearerPrefix + base64url.EncodeToString(secret)
		hash := f.hash(tokens[i])
		text = fmt.Appendf(text, "%s %s\n", name, base64url.EncodeToString(hash[:]))
	}
	if err := atomicfile.Replace(path, text, 0o600); err != nil {
		return nil, fmt.Errorf("serve: %w", err)
	}
	return tokens, nil
}

func readBearerFile(path string) (*bearerFile, error) {
	text, err := readPrivate(path)
	if err != nil {
		return nil, err
	}
	f, err := parseBearers(text)
	if err != nil {
		return nil, fmt.Errorf("serve: %s: %w", path, err)
	}
	return f, nil
}

// readPrivate refuses a file that others may read.
func readPrivate(path string) ([]byte, error) {
	status, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("serve: %w", err)
	}
	if mode := status.Mode().Perm(); mode&0o077 != 0 && runtime.GOOS != "windows" {
		return nil, fmt.Errorf("serve: %s is open to others (mode %04o): make it private with chmod 600", path, mode)
	}
	text, err := atomicfile.Read(path)
	if err != nil {
		return nil, fmt.Errorf("serve: %w", err)
	}
	return text, nil
}

func parseBearers(text []byte) (*bearerFile, error) {
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Scan()
	format, encoded, _ := strings.Cut(lines.Text(), " ")
	salt, err := base64url.DecodeString(encoded)
	if format != bearersFormat || err != nil || len(salt) != saltSize {
		return nil, fmt.Errorf("the first line is not %q and a salt", bearersFormat)
	}
	f := &bearerFile{salt: salt, names: map[[sha256.Size]byte]string{}}
	for n := 2; lines.Scan(); n++ {
		name, encoded, _ := strings.Cut(lines.Text(), " ")
		hash, err := base64url.DecodeString(encoded)
		if name == "" || err != nil || len(hash) != sha256.Size {
			return nil, fmt.Errorf("line %d is not a name and the hash of a token", n)
		}
		if _, twice := f.names[[sha256.Size]byte(hash)]; twice {
			return nil, fmt.Errorf("line %d has the hash of an earlier one", n)
		}
		f.names[[sha256.Size]byte(hash)] = name
	}
	return f, lines.Err()
}

// Guard lets only requests of the tokens' holders through to the handler.
func (b *Bearers) Guard(h Handler) Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		if _, ok := b.Sender(r); !ok {
			return wire.Problemf(wire.Unauthenticated, "this path needs an operator's bearer token")
		}
		return h(w, r)
	}
}

// Sender returns the holder of the bearer token that a request shows.
func (b *Bearers) Sender(r *http.Request) (name string, ok bool) {
	token, found := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !found {
		return "", false
	}
	return b.Find(token)
}
