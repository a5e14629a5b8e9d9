package journal

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/confetti-dp/confetti/internal/storage/atomicfile"
	"github.com/confetti-dp/confetti/internal/storage/keep"
)

// mostCopies is how often a store is copied anew whose shelves came or went meanwhile.
const mostCopies = 10

// Copy copies the store in a folder into the system's temporary folder, while another process
// may have it open, for who reads it as Open does. Main is copied last: it knows of every shelf
// in the copy. remove deletes the copy.
func Copy(path string) (copied string, remove func() error, err error) {
	for range mostCopies {
		if copied, err = os.MkdirTemp("", "confetti-copy-"); err != nil {
			return "", nil, fmt.Errorf("journal: %w", err)
		}
		gone := func() error { return os.RemoveAll(copied) }
		before, err := shelfNames(path)
		if err == nil {
			err = copyShelves(path, copied, before)
		}
		after, failed := shelfNames(path)
		if err = errors.Join(err, failed); err == nil && slices.Equal(before, after) {
			return copied, gone, nil
		}
		// One that went meanwhile is no error: the next try does not find it.
		if failed := gone(); failed != nil || err != nil && !errors.Is(err, os.ErrNotExist) {
			return "", nil, fmt.Errorf("journal: %w", errors.Join(err, failed))
		}
	}
	return "", nil, errors.New("journal: shelves come and go, and no copy of them is whole: try again")
}

// shelfNames lists the shelves of a folder, main last.
func shelfNames(path string) (names []string, err error) {
	files, err := os.ReadDir(path)
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		if name, ok := strings.CutSuffix(f.Name(), rowsFile); ok && name != keep.Main {
			names = append(names, name)
		}
	}
	return append(names, keep.Main), nil
}

// copyShelves copies the files of shelves. The check comes first: it must not say more than the
// rows have. What stands behind it a crash might have torn.
func copyShelves(from, to string, names []string) error {
	for _, name := range names {
		for _, ending := range []string{checkEnding, keyFile, rowsFile} {
			if err := atomicfile.CopyFile(filepath.Join(from, name+ending), filepath.Join(to, name+ending)); err != nil {
				return err
			}
		}
	}
	return nil
}
