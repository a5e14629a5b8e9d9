package draft

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/confetti-dp/confetti/internal/plan/author"
	"github.com/confetti-dp/confetti/internal/storage/atomicfile"
	"github.com/confetti-dp/confetti/plan"
)

// save writes the keys, where there are any, and then the plan. After an error nothing that it wrote
// remains.
func (c parties) save(p plan.Plan, keys map[string]func(path string) error) (err error) {
	var made []string
	defer func() {
		if err != nil {
			for i := len(made) - 1; i >= 0; i-- {
				err = errors.Join(err, os.Remove(made[i]))
			}
		}
	}()
	if len(keys) == 0 {
		// The parties have theirs.
	} else if err := os.Mkdir(c.Keys, 0o700); err == nil {
		made = append(made, c.Keys)
	} else if !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("--keys: %w: name a folder that is there, or can be made", err)
	}
	for name, write := range keys {
		path := filepath.Join(c.Keys, name)
		if err := write(path); err != nil {
			return fmt.Errorf("--keys: %w: choose another folder", err)
		}
		made = append(made, path)
	}
	if err := atomicfile.Create(c.File, author.TOML(p), 0o644); err != nil {
		if errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("%s exists: a plan is immutable; choose another name", c.File)
		}
		return err
	}
	return nil
}
