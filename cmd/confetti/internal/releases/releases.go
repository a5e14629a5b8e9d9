// Package releases is how commands save releases.
package releases

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/confetti-dp/confetti/cmd/confetti/internal/terminal"
	"github.com/confetti-dp/confetti/internal/durable"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/plan/author"
	"github.com/confetti-dp/confetti/question"
	"github.com/confetti-dp/confetti/release"
	"github.com/confetti-dp/confetti/release/findings"
	"github.com/confetti-dp/confetti/release/page"
)

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

// Sheet is the table that stands beside a release; what its readers must know of it is
// added to the notes.
func Sheet(m question.Model, public findings.Public, r *release.Release) (findings.Sheet, error) {
	s, err := findings.Beside(m, public)
	if err == nil && s.Note != "" {
		r.Notes = append(r.Notes, s.Note)
	}
	return s, err
}

// Save writes a release, its table and, since its page names the plan by its hash
// for anybody to check, the plan.
func Save(std terminal.Streams, dir string, r release.Release, p plan.Plan, sheet findings.Sheet) error {
	announceReplaced(std.Err, dir)
	return terminal.Uninterrupted(func() error {
		if err := page.Save(dir, r); err != nil {
			return err
		}
		for _, file := range []string{release.CountsFile, release.DensitiesFile, release.SumsFile, release.AuditFile} {
			if file == sheet.File {
				if err := durable.Replace(filepath.Join(dir, file), sheet.Text, 0o644); err != nil {
					return err
				}
			} else if err := os.Remove(filepath.Join(dir, file)); err != nil && !errors.Is(err, fs.ErrNotExist) { // of another release
				return err
			}
		}
		return durable.Replace(filepath.Join(dir, "plan.toml"), author.TOML(p), 0o644)
	})
}
