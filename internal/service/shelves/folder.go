package shelves

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/confetti-dp/confetti/internal/keyfile"
	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/storage/atomicfile"
	"github.com/confetti-dp/confetti/internal/storage/keep"
	"github.com/confetti-dp/confetti/internal/storage/keep/journal"
)

// youth is how long after its keys were made a service has an empty folder by itself.
const youth = 24 * time.Hour

// Folder opens the store in a folder. Where there is none it makes one if the operator says so
// (Begin.New), or if every key of the service was made within a day and no note beside them says
// that there was one: then nothing can have been kept before. Elsewhere an empty folder is refused,
// since what was in it is lost. prompt is journal.Options.Prompt, for shelves on which nothing may
// be lost with the last second.
func Folder(folder string, c serve.Common, prompt bool) (keep.Store, error) {
	o := journal.Options{Log: c.Log, Prompt: prompt, Alone: c.Begin.Alone}
	store, err := journal.Open(folder, o)
	switch {
	case err == nil && c.Begin.New:
		return nil, errors.Join(fmt.Errorf("--new: %w: start without it", keep.ErrExists), store.Close())
	case errors.Is(err, keep.ErrMissing) && !c.Begin.Copy:
		if old := begun(c.Keys, folder); old != nil && !c.Begin.New {
			return nil, fmt.Errorf("%w; if it was lost, put it back as it was, never as it once was: without it what was done once could be done again; "+
				"if the service begins only now, say --new, once: %w", err, old)
		}
		if err = journal.Create(folder); err == nil {
			store, err = journal.Open(folder, o)
		}
	}
	if err != nil {
		return nil, err
	}
	if !c.Begin.Copy && grown(c.Keys, time.Now()) == nil {
		if err := remember(c.Keys, folder); err != nil && c.Log != nil {
			c.Log.Warn("no note can be left beside the keys: for a day after they were made, what the service keeps is made anew if it is lost", "error", err.Error())
		}
	}
	return store, nil
}

// note returns the name of the file beside keys that says that the store in a folder was made.
func note(keys, folder string) string {
	if whole, err := filepath.Abs(folder); err == nil {
		folder = whole
	}
	return filepath.Join(keys, fmt.Sprintf("begun-%.8x", sha256.Sum256([]byte(folder))))
}

// remember leaves the note.
func remember(keys, folder string) error {
	err := atomicfile.Create(note(keys, folder), []byte("What a service keeps was made in "+folder+".\n"), 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

// begun says why a service may have served before.
func begun(keys, folder string) error {
	err := grown(keys, time.Now())
	if err == nil {
		path := note(keys, folder)
		if _, err = os.Stat(path); err == nil {
			return fmt.Errorf("%s says that it was made", path)
		} else if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
	}
	return err
}

// Make makes the store of a service in a folder: whoever makes its keys and its configuration
// calls it.
func Make(folder string) error { return journal.Create(folder) }

// grown says why the keys in a folder may have served before.
func grown(folder string, now time.Time) error {
	keys, err := keyfile.ReadFolder(folder)
	if err != nil {
		return err
	}
	if len(keys) == 0 {
		return fmt.Errorf("no key is in %s", folder)
	}
	for path, key := range keys {
		if now.Sub(key.Made).Abs() > youth {
			return fmt.Errorf("%s was not made within a day", path)
		}
	}
	return nil
}
