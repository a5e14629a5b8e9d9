package experiments

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// CellsFile holds every measured cell, a line each, so that a measurement that
// was stopped goes on where it was, and others take what they share.
const CellsFile = "cells.jsonl"

// store keeps measured cells on the disk.
type store struct {
	file *os.File
	done map[string]Measured
}

// openStore reads what earlier runs measured in the folder, beside what is known from elsewhere. A last line that was
// not written to its end is dropped.
func openStore(dir string, known []Measured) (*store, error) {
	path := filepath.Join(dir, CellsFile)
	b, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	whole := b[:bytes.LastIndexByte(b, '\n')+1]
	s := &store{done: map[string]Measured{}}
	for _, m := range known {
		s.done[m.Cell.Key()] = m
	}
	for i, line := range bytes.Split(whole, []byte{'\n'}) {
		if len(line) == 0 {
			continue
		}
		var m Measured
		if err := json.Unmarshal(line, &m); err != nil {
			return nil, fmt.Errorf("%s, line %d is no measured cell: %w: remove the line, or choose another folder", path, i+1, err)
		}
		s.done[m.Cell.Key()] = m
	}
	if s.file, err = os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o644); err != nil {
		return nil, err
	}
	if err = s.file.Truncate(int64(len(whole))); err == nil {
		_, err = s.file.Seek(0, 2)
	}
	if err != nil {
		return nil, errors.Join(err, s.file.Close())
	}
	return s, nil
}

// has says whether the cell need not be measured. One that could not be is tried
// again: that costs nothing, and a newer program may be able to.
func (s *store) has(c Cell) bool { return s.done[c.Key()].Result != nil }

// put keeps a measured cell, on the disk before it returns.
func (s *store) put(m Measured) error {
	if old, ok := s.done[m.Cell.Key()]; ok && m.Result == nil && old.Reason == m.Reason {
		return nil
	}
	line, err := json.Marshal(m)
	if err != nil {
		return err
	}
	if _, err := s.file.Write(append(line, '\n')); err != nil {
		return err
	}
	s.done[m.Cell.Key()] = m
	return s.file.Sync()
}

func (s *store) close() error { return s.file.Close() }
