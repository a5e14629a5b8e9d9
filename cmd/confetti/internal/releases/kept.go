package releases

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"

	"github.com/confetti-dp/confetti/cmd/confetti/internal/terminal"
	"github.com/confetti-dp/confetti/internal/durable"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/release"
	"github.com/confetti-dp/confetti/release/page"
)

// Names of files beside a release that was fetched: of the plan, signed and for people, and
// of the public state that it names.
const (
	SignedFile = "plan.signed.json"
	PlanFile   = "plan.toml"
	StateFile  = "state"
)

// StudyFile is the release of all rounds so far, where a study merges them.
const StudyFile = "study.json"

// Published are the files that an analyzer publishes of a plan; counts only of questions
// that count, of all rounds so far
// only where a study merges them, an audit only where it attacks plans, and evidence only
// where a public log has them.
var Published = []string{page.JSONFile, page.PageFile, release.CountsFile, StudyFile, "study.html", release.AuditFile, wire.ReceiptsFile, wire.EvidenceFile}

// Format is the end of a published file's name at the analyzer.
func Format(file string) string {
	switch file {
	case page.JSONFile:
		return "json"
	case page.PageFile:
		return "html"
	}
	return file
}

// Keep writes what was fetched of a release to a folder, and removes what is there of
// another one.
func Keep(std terminal.Streams, dir string, files map[string][]byte) error {
	if before, err := os.ReadFile(filepath.Join(dir, page.JSONFile)); err == nil && !bytes.Equal(before, files[page.JSONFile]) {
		announceReplaced(std.Err, dir)
	}
	return terminal.Uninterrupted(func() error {
		errs := []error{os.MkdirAll(dir, 0o755)}
		for _, name := range append(Published, SignedFile, PlanFile, StateFile) {
			if text, there := files[name]; there {
				errs = append(errs, durable.Replace(filepath.Join(dir, name), text, 0o644))
			} else if err := os.Remove(filepath.Join(dir, name)); err != nil && !errors.Is(err, os.ErrNotExist) {
				errs = append(errs, err)
			}
		}
		return errors.Join(errs...)
	})
}
