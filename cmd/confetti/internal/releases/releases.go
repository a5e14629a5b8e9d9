// Package releases saves releases as a folder, with the pages and tables that were asked for. Used by
// cmd/confetti/internal/collect, cmd/confetti/internal/release and cmd/confetti/internal/study.
package releases

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/confetti-dp/confetti/cmd/confetti/internal/beside"
	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/internal/plan/author"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/release/page"
	"github.com/confetti-dp/confetti/internal/release/results"
	"github.com/confetti-dp/confetti/internal/release/sheets"
	"github.com/confetti-dp/confetti/internal/storage/atomicfile"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/release"
)

// announceReplaced says which earlier release in the folder is about to be
// replaced, if there is one.
func announceReplaced(w io.Writer, dir string) {
	if _, err := os.Stat(filepath.Join(dir, page.JSONFile)); err != nil {
		return
	}
	r, err := Open(dir)
	switch {
	case err != nil: // something else under its name
		fmt.Fprintf(w, "note: the release.json in %s is replaced; it could not be read\n", dir)
	default:
		fmt.Fprintf(w, "note: the earlier release in %s is replaced: %q of %s\n", dir, r.Title, r.Created.UTC().Format("2006-01-02 15:04 UTC"))
	}
}

// Sheet returns the table that stands beside a release; what its readers must know of it is
// added to the remarks.
func Sheet(m question.Model, public results.Public, r *release.Release) (results.Sheet, error) {
	s, err := results.Beside(m, public)
	if err == nil && s.Note != "" {
		r.Remarks = append(r.Remarks, s.Note)
	}
	return s, err
}

// Parquet returns the name of the Parquet file beside a table of this name; ok is false of what is no CSV.
func Parquet(file string) (name string, ok bool) {
	base, ok := strings.CutSuffix(file, ".csv")
	return base + ".parquet", ok
}

// put writes a file of a release, and of a table the same as Parquet, where confetti-server is there to do that; what
// is not of this release is of another one, and goes.
func put(to io.Writer, dir, name string, text []byte, there bool) error {
	files := map[string][]byte{name: nil}
	if there {
		files[name] = append([]byte{}, text...)
	}
	if columns, ok := Parquet(name); ok {
		files[columns] = nil
		if there && beside.There() {
			file, err := beside.WriteParquet(name, text)
			if err != nil {
				return err
			}
			files[columns] = file
		} else if there {
			fmt.Fprintf(to, "note: no %s: confetti-server, which writes it, is not beside confetti; %s has the same\n", columns, name)
		}
	}
	for name, text := range files {
		path := filepath.Join(dir, name)
		if text != nil {
			if err := atomicfile.Replace(path, text, 0o644); err != nil {
				return err
			}
		} else if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// Save writes a release, its table (put) and, since its page names the plan by its hash
// for anybody to check, the plan.
func Save(std terminal.Streams, dir string, r release.Release, p plan.Plan, t results.Sheet) error {
	announceReplaced(std.Err, dir)
	return terminal.Uninterrupted(func() error {
		if err := page.Save(dir, r); err != nil {
			return err
		}
		for _, file := range []string{sheets.CountsFile, sheets.DensitiesFile, sheets.SumsFile, release.AuditFile} {
			text, of := []byte(nil), file == t.File
			if of {
				text = t.Text
			}
			if err := put(std.Err, dir, file, text, of); err != nil {
				return err
			}
		}
		return atomicfile.Replace(filepath.Join(dir, "plan.toml"), author.TOML(p), 0o644)
	})
}
