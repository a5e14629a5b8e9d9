// Package table reads a user's own files: tables of text, Parquet and arrays, as rows of numbers with a label,
// columns of text, or lists of names. Used by cmd/confetti/internal, internal/dataset and internal/studio.
//
// Every reader checks what a file claims against what it holds before it allocates, and says the row and column of
// what is wrong, never what is there.
package table

import (
	"fmt"
	"os"
)

// Open opens a file to read; a folder is none.
func Open(path string) (*os.File, error) {
	f, _, err := open(path)
	return f, err
}

// open opens a file and reports its size; a missing file says what to do.
func open(path string) (*os.File, int64, error) {
	f, err := os.Open(path)
	if err != nil {
		if os.IsNotExist(err) {
			return nil, 0, fmt.Errorf("%s does not exist: check the path", path)
		}
		return nil, 0, err
	}
	info, err := f.Stat()
	if err == nil && info.IsDir() {
		err = fmt.Errorf("%s is a folder, not a file", path)
	}
	if err != nil {
		f.Close()
		return nil, 0, err
	}
	return f, info.Size(), nil
}
