package console

import (
	"errors"
	"path/filepath"
	"slices"

	"github.com/confetti-dp/confetti/internal/service/session"
	"github.com/confetti-dp/confetti/internal/storage/atomicfile"
)

// Files of the console's folder.
const (
	sessionsFile = "sessions.json"
	deedsFile    = "deeds.jsonl"

	olderDeedsFile = "deeds-older.jsonl"
)

// remember takes up the sessions and deeds of the folder, and keeps them there.
func (c *Console) remember() error {
	held, err := atomicfile.Lock(c.o.Folder)
	if err != nil {
		return err
	}
	c.held = held
	c.sessions, err = session.Open(linkTime, c.o.Now, filepath.Join(c.o.Folder, sessionsFile), func(name string) bool { return slices.Contains(c.o.Names, name) })
	if err != nil {
		return err
	}
	return c.deeds.keep(c.o.Folder)
}

// Close gives the folder back. What operators do from then on is in the log alone.
func (c *Console) Close() error {
	err := c.deeds.close()
	if c.held != nil {
		err = errors.Join(err, c.held.Close())
		c.held = nil
	}
	return err
}
