package releases

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"

	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/internal/release/page"
	"github.com/confetti-dp/confetti/internal/storage/atomicfile"
	"github.com/confetti-dp/confetti/internal/wire/relay"
	"github.com/confetti-dp/confetti/release/verify"
)

// Keep writes what was fetched of a release to a folder, and removes what is there of
// another one.
func Keep(std terminal.Streams, dir string, files map[string][]byte) error {
	if before, err := atomicfile.Read(filepath.Join(dir, page.JSONFile)); err == nil && !bytes.Equal(before, files[page.JSONFile]) {
		announceReplaced(std.Err, dir)
	}
	return terminal.Uninterrupted(func() error {
		errs := []error{os.MkdirAll(dir, 0o755)}
		for _, name := range append(slices.Clone(verify.Published), verify.SignedFile, verify.PlanFile, verify.StateFile, relay.WithdrawalFile) {
			text, there := files[name]
			errs = append(errs, put(std.Err, dir, name, text, there))
		}
		return errors.Join(errs...)
	})
}
