package dataset

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Checksum returns the SHA-256 of the names and bytes of a file, or of all files of a folder in the order of their
// names: results say by it which data they are of. A folder may be a link to one.
func Checksum(path string) (string, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		if path, err = filepath.EvalSymlinks(path); err != nil {
			return "", err
		}
	}
	h := sha256.New()
	err := filepath.WalkDir(path, func(file string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		f, err := os.Open(file)
		if err != nil {
			return err
		}
		defer f.Close()
		of := sha256.New()
		if _, err := io.Copy(of, f); err != nil {
			return err
		}
		_, err = fmt.Fprintf(h, "%x  %s\n", of.Sum(nil), filepath.Base(file))
		return err
	})
	return hex.EncodeToString(h.Sum(nil)), err
}
