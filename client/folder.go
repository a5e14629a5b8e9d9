package client

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/confetti-dp/confetti/internal/durable"
	"github.com/confetti-dp/confetti/internal/rng"
)

// Names in a device's folder.
const (
	ledgerFile  = "ledger"
	secretFile  = "secret"
	lockFile    = "lock"
	spoolFolder = "spool"
)

const secretBytes = 32

// folder is what a device keeps, and how it survives a crash: every file is
// written whole beside its place, down to the disk, and then renamed; only the
// ledger grows in place, by records that carry their checksum.
type folder string

// openFolder makes the folder if need be. It holds what a person's device has
// said, so that others must not be able to look in.
func openFolder(dir string) (folder, error) {
	if dir == "" {
		return "", errors.New("client: no folder to keep the ledger in: name one that outlives the program")
	}
	if err := os.MkdirAll(filepath.Join(dir, spoolFolder), 0o700); err != nil {
		return "", fmt.Errorf("client: make the device's folder: %w", err)
	}
	status, err := os.Stat(dir)
	if err != nil {
		return "", fmt.Errorf("client: look at the device's folder: %w", err)
	}
	if mode := status.Mode().Perm(); mode&0o077 != 0 && runtime.GOOS != "windows" {
		return "", fmt.Errorf("client: %s is open to others (mode %04o): make it private with chmod 700", dir, mode)
	}
	return folder(dir), nil
}

func (f folder) path(elements ...string) string {
	return filepath.Join(append([]string{string(f)}, elements...)...)
}

// write puts a file in its place whole or not at all.
func (f folder) write(data []byte, elements ...string) error {
	if err := durable.Replace(f.path(elements...), data, 0o600); err != nil {
		return fmt.Errorf("client: %w", err)
	}
	return nil
}

// remove takes a file away for good; one that is gone already is no error.
func (f folder) remove(elements ...string) error {
	path := f.path(elements...)
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("client: %w", err)
	}
	if err := durable.SyncFolder(filepath.Dir(path)); err != nil {
		return fmt.Errorf("client: %w", err)
	}
	return nil
}

// secret keys what a device keeps of its values: whoever finds the ledger without it
// cannot try values out. It is made before the first answer and never changes.
type secret [secretBytes]byte

// secret reads the device's secret: from the folder, or from a file elsewhere where one
// is named (Options.Secret). It is made where it is missing and nothing was answered
// yet; a ledger of answers without its secret is damage.
func (f folder) secret(elsewhere string, l *Ledger) (s secret, err error) {
	path := f.path(secretFile)
	if elsewhere != "" {
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			return s, fmt.Errorf("client: the device's secret is in its folder, %s, and is to be in %s: move it there", path, elsewhere)
		}
		path = elsewhere
	}
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) && len(l.Entries) == 0 {
		b = make([]byte, secretBytes)
		rng.Reader(rng.New()).Read(b)
		b = binary.BigEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
		err = durable.Replace(path, b, 0o600)
	}
	if err != nil {
		return s, fmt.Errorf("client: the device's secret is missing or cannot be read, and without it its ledger is of no use: %w", err)
	}
	if status, err := os.Stat(path); err != nil || status.Mode().Perm()&0o077 != 0 && runtime.GOOS != "windows" {
		return s, fmt.Errorf("client: %s is open to others: make it private with chmod 600", path)
	}
	// Those of an earlier version have no checksum.
	if len(b) != secretBytes && (len(b) != secretBytes+4 || crc32.Checksum(b[:secretBytes], castagnoli) != binary.BigEndian.Uint32(b[secretBytes:])) {
		return s, fmt.Errorf("client: %s is damaged: restore it, or remove it and the device's folder and with them the record of what was spent", path)
	}
	return secret(b[:secretBytes]), nil
}

// derive is a key of its own for each purpose and name.
func (s secret) derive(purpose string, name []byte) [32]byte {
	mac := hmac.New(sha256.New, s[:])
	mac.Write([]byte(purpose + "\n"))
	mac.Write(name)
	return [32]byte(mac.Sum(nil))
}
