package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"unicode"

	"github.com/confetti-dp/confetti/internal/durable"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/plan/author"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/release"
	"github.com/confetti-dp/confetti/release/page"
)

// writeJSON ends with a newline; fields keep their order.
func writeJSON(w io.Writer, v any) error {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	_, err = w.Write(append(b, '\n'))
	return err
}

// writable finds out before long work whether the folder dir, which need not
// exist yet, will take files. It leaves nothing there.
func writable(dir string) error {
	at := dir
	info, err := os.Stat(at)
	for errors.Is(err, fs.ErrNotExist) && filepath.Dir(at) != at {
		at = filepath.Dir(at)
		info, err = os.Stat(at)
	}
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is not a folder", at)
	}
	if err == nil {
		var f *os.File
		if f, err = os.CreateTemp(at, ".confetti-*"); err == nil {
			err = errors.Join(f.Close(), os.Remove(f.Name()))
		}
	}
	if err != nil {
		return fmt.Errorf("nothing can be written to %s: %w: choose another folder", dir, err)
	}
	return nil
}

var errInterrupted = errors.New("interrupted: what was being written is complete, the rest was not done")

// uninterrupted lets a write that takes files from one whole state to another
// come to its end when somebody presses Ctrl-C meanwhile, and then says so.
// Outside of such writes an interrupt ends the process at once: nothing is on
// the disk yet.
func uninterrupted(write func() error) error {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	err := write()
	signal.Stop(signals) // what has arrived is in the channel now
	select {
	case <-signals:
		return errors.Join(err, errInterrupted)
	default:
		return err
	}
}

// typed is a command line as a shell takes it.
func typed(args []string) string {
	line := "confetti"
	for _, a := range args {
		if a == "" || strings.ContainsFunc(a, func(r rune) bool {
			return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-_=./,:+%@", r)
		}) {
			a = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
		}
		line += " " + a
	}
	return line
}

// announceReplaced says which earlier release in the folder is about to be
// replaced, if there is one.
func announceReplaced(w io.Writer, dir string) {
	if _, err := os.Stat(filepath.Join(dir, page.JSONFile)); err != nil {
		return
	}
	r, err := page.Open(dir)
	switch {
	case err != nil: // something else under its name
		fmt.Fprintf(w, "note: the release.json in %s is replaced; it could not be read\n", dir)
	default:
		fmt.Fprintf(w, "note: the earlier release in %s is replaced: %q of %s\n", dir, r.Title, r.Created.UTC().Format("2006-01-02 15:04 UTC"))
	}
}

// spreadsheet is the table that stands beside a release.
type spreadsheet struct {
	file string // its name: release.CountsFile or release.DensitiesFile
	text []byte
}

// countsTable is a histogram's; what its readers must know of it is added to the notes.
func countsTable(m *protocol.HistogramModel, r *release.Release) (spreadsheet, error) {
	counts, note, err := m.Counts()
	if err != nil {
		return spreadsheet{}, err
	}
	var text bytes.Buffer
	err = release.WriteCounts(&text, counts)
	return noted(spreadsheet{release.CountsFile, text.Bytes()}, note, r), err
}

// densitiesTable is a density's, at public points.
func densitiesTable(m *protocol.DensityModel, public protocol.Public, r *release.Release) (spreadsheet, error) {
	all, note, err := m.Densities(public)
	if err != nil {
		return spreadsheet{}, err
	}
	var text bytes.Buffer
	err = release.WriteDensities(&text, all)
	return noted(spreadsheet{release.DensitiesFile, text.Bytes()}, note, r), err
}

func noted(s spreadsheet, note string, r *release.Release) spreadsheet {
	if note != "" {
		r.Notes = append(r.Notes, note)
	}
	return s
}

// saveRelease writes a release, its table and, since its page names the plan by its hash
// for anybody to check, the plan.
func saveRelease(std streams, dir string, r release.Release, p plan.Plan, table spreadsheet) error {
	announceReplaced(std.err, dir)
	return uninterrupted(func() error {
		if err := page.Save(dir, r); err != nil {
			return err
		}
		for _, file := range []string{release.CountsFile, release.DensitiesFile} {
			if file == table.file {
				if err := durable.Replace(filepath.Join(dir, file), table.text, 0o644); err != nil {
					return err
				}
			} else if err := os.Remove(filepath.Join(dir, file)); err != nil && !errors.Is(err, fs.ErrNotExist) { // of another release
				return err
			}
		}
		return durable.Replace(filepath.Join(dir, "plan.toml"), author.TOML(p), 0o644)
	})
}
