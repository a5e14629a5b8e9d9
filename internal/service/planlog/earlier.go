package planlog

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/confetti-dp/confetti/internal/service/shelves"
	"github.com/confetti-dp/confetti/internal/storage/keep"
	"github.com/confetti-dp/confetti/plan"
)

// Earlier versions kept a log as files of tiles, with texts beside them. A start carries them over, and leaves a
// note in the name of stateFolder that it has.
const (
	stateFolder   = ".state"
	carriedFolder = ".carried"
)

// earlier is a log as an earlier version kept it.
type earlier struct {
	entries    []kept
	rounds     map[string]string // keys and values of roundsTable
	checkpoint []byte
}

// kept is an entry with what lies beside it.
type kept struct{ entry, text, signature []byte }

// readEarlier reads a log that an earlier version kept in a folder, and checks all of it; nil where there is none.
func readEarlier(folder string, key note.Verifier) (*earlier, error) {
	text, err := os.ReadFile(filepath.Join(folder, stateFolder, "treeState"))
	if errors.Is(err, fs.ErrNotExist) {
		_, shown := os.Stat(filepath.Join(folder, "checkpoint"))
		_, carried := os.Stat(filepath.Join(folder, carriedFolder))
		if shown != nil || carried == nil {
			return nil, nil
		}
	}
	e := &earlier{rounds: map[string]string{}}
	if err == nil {
		err = e.read(folder, text, key)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %s, which an earlier version kept: %w", errDamaged, folder, err)
	}
	return e, nil
}

func (e *earlier) read(folder string, state []byte, key note.Verifier) (err error) {
	var now struct {
		Size int64
		Root []byte
	}
	if err := json.Unmarshal(state, &now); err != nil {
		return err
	}
	if e.checkpoint, err = os.ReadFile(filepath.Join(folder, "checkpoint")); err != nil {
		return err
	}
	shown, err := openCheckpoint(e.checkpoint, key)
	if err != nil {
		return err
	}
	var t tree
	for t.size < now.Size {
		bundle := bundleAt(t.size, now.Size)
		raw, err := os.ReadFile(filepath.Join(folder, filepath.FromSlash(tilePath(bundle))))
		if errors.Is(err, fs.ErrNotExist) && bundle.W < width {
			raw, err = os.ReadFile(filepath.Join(folder, filepath.FromSlash(tilePath(tlog.Tile{H: height, L: bundles, N: bundle.N, W: width}))))
		}
		if err != nil {
			return err
		}
		entries, err := splitBundle(raw, bundle.W, true)
		if err != nil {
			return err
		}
		for _, one := range entries {
			if err := t.add(one); err != nil {
				return err
			}
			e.entries = append(e.entries, kept{entry: one})
		}
	}
	if err := shown.of(&t); err != nil {
		return err
	}
	if err := (checkpoint{size: now.Size, root: now.Root}).of(&t); err != nil {
		return err
	}
	return errors.Join(e.readTexts(folder), e.readRounds(folder))
}

func (e *earlier) readTexts(folder string) error {
	standing := standings{}
	for i := range e.entries {
		k := &e.entries[i]
		entry, err := plan.ParseEntry(k.entry)
		if err != nil {
			return err
		}
		beside := func(what string) ([]byte, error) {
			return os.ReadFile(filepath.Join(folder, what, fmt.Sprintf("%x", entry.Digest)))
		}
		if k.text, err = beside("texts"); err != nil {
			return err
		}
		_, err = standing.check(k.text, entry, func() ([]byte, error) {
			k.signature, err = beside("signatures")
			return k.signature, err
		})
		if err != nil {
			return fmt.Errorf("texts/%x: %w", entry.Digest, err)
		}
	}
	return nil
}

func (e *earlier) readRounds(folder string) error {
	files, err := filepath.Glob(filepath.Join(folder, "rounds", "*.round"))
	for _, path := range files {
		text, failed := os.ReadFile(path)
		study, number, is := strings.Cut(strings.TrimSuffix(filepath.Base(path), ".round"), "-")
		if failed != nil || !is || len(text) != 65 {
			return errors.Join(failed, fmt.Errorf("%s is not the round of a study", path))
		}
		e.rounds[study+"/"+number] = strings.TrimSuffix(string(text), "\n")
	}
	return err
}

// carry writes what an earlier version kept, or what of it a crash has left out.
func (s *Service) carry(ctx context.Context, e *earlier) error {
	if e == nil {
		return nil
	}
	first := func(t keep.Table, key string, value []byte) func(keep.Tx) error {
		return func(tx keep.Tx) error {
			stands, err := shelves.First(tx, t, key, value)
			if err == nil && !bytes.Equal(stands, value) {
				err = fmt.Errorf("log: another log than that of %s is kept already: give each a place of its own", s.o.Folder)
			}
			return err
		}
	}
	all := []func(keep.Tx) error{}
	for key, name := range e.rounds {
		all = append(all, first(roundsTable, key, []byte(name)))
	}
	for i, k := range e.entries {
		entry, err := plan.ParseEntry(k.entry)
		if err != nil {
			return err
		}
		stands := first(entriesTable, numberKey(int64(i)), k.entry)
		all = append(all, func(tx keep.Tx) error {
			err := stands(tx)
			if err == nil {
				put(tx, int64(i), entry, k.text, k.signature)
			}
			return err
		})
	}
	all = append(all, func(tx keep.Tx) error {
		_, err := shelves.First(tx, shownTable, shownKey, e.checkpoint)
		return err
	})
	for _, one := range all {
		if err := s.main.Update(ctx, one); err != nil {
			return err
		}
	}
	s.o.Log.Info("a log that an earlier version kept was carried over; its files are not read any more", "folder", s.o.Folder, "entries", len(e.entries))
	return os.Rename(filepath.Join(s.o.Folder, stateFolder), filepath.Join(s.o.Folder, carriedFolder))
}
