package shelves

import (
	"errors"
	"fmt"
	"time"

	"github.com/confetti-dp/confetti/internal/keyfile"
	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/storage/keep"
	"github.com/confetti-dp/confetti/internal/storage/keep/journal"
)

// youth is how long after its keys were made a service has an empty folder by itself.
const youth = 24 * time.Hour

// Folder opens the store in a folder. Where there is none it makes one if the operator says so
// (Begin.New), or if every key of the service was made within a day: then nothing can have been
// kept before. Elsewhere an empty folder is refused, since what was in it is lost. prompt is
// journal.Options.Prompt, for shelves on which nothing may be lost with the last second.
func Folder(folder string, c serve.Common, prompt bool) (keep.Store, error) {
	o := journal.Options{Log: c.Log, Prompt: prompt, Alone: c.Begin.Alone}
	store, err := journal.Open(folder, o)
	switch {
	case err == nil && c.Begin.New:
		return nil, errors.Join(fmt.Errorf("--new: %w: start without it", keep.ErrExists), store.Close())
	case err == nil:
		return store, nil
	case !errors.Is(err, keep.ErrMissing):
		return nil, err
	case !c.Begin.New:
		if old := grown(c.Keys, time.Now()); old != nil {
			return nil, fmt.Errorf("%w; if it was lost, put it back as it was, never as it once was: without it people could count twice; "+
				"if the service begins only now, say --new, once: %w", err, old)
		}
	}
	if err := journal.Create(folder); err != nil {
		return nil, err
	}
	if store, err = journal.Open(folder, o); err != nil {
		return nil, err
	}
	return store, nil
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
