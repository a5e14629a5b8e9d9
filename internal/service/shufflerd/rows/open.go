package rows

import (
	"context"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/service/shelves"
	"github.com/confetti-dp/confetti/internal/storage/blob"
	"github.com/confetti-dp/confetti/internal/storage/keep"
)

// BlobsFolder is where blobs lie in the folder of a hop without a database.
const BlobsFolder = "blobs"

// OpenFolder opens the shelves in a hop's folder. What guards privacy is on main, whose check is
// always prompt.
func OpenFolder(dir string, c serve.Common) (keep.Store, error) {
	if err := refuseEarlier(dir); err != nil {
		return nil, err
	}
	s, err := shelves.Folder(filepath.Join(dir, shelves.InFolder), c, false)
	if err != nil {
		return nil, fmt.Errorf("shuffler: %w", err)
	}
	return s, nil
}

// Make makes the shelves in the folder of a hop whose keys were just made.
func Make(dir string) error { return shelves.Make(filepath.Join(dir, shelves.InFolder)) }

// earlier is the way out of what another version has kept.
const earlier = "was kept by an earlier version, which this one does not read: let that version end its plans, then start with an empty"

// refuseEarlier refuses a folder in which an earlier version kept its queue.
func refuseEarlier(dir string) error {
	for _, pattern := range []string{"jetstream", "inboxes", "parts"} {
		path := filepath.Join(dir, pattern)
		if _, err := os.Stat(path); err == nil {
			return fmt.Errorf("shuffler: %s %s folder", path, earlier)
		}
	}
	return nil
}

// CheckBlobs refuses blobs of a plan that was never here: their keys are not here either.
func (s *Store) CheckBlobs(ctx context.Context, blobs blob.Store) error {
	names, err := blobs.List(ctx, "")
	if err != nil {
		return err
	}
	known := map[string]bool{}
	for _, name := range names {
		post, _, _ := strings.Cut(name, "/")
		hash, _, of := strings.Cut(post, "_")
		if raw, err := hex.DecodeString(hash); !of || err != nil || len(raw) != 32 || known[hash] {
			continue
		}
		for _, t := range []keep.Table{Plans, Gone} {
			_, there, err := s.Get(ctx, t, hash)
			if err != nil {
				return err
			}
			known[hash] = known[hash] || there
		}
		if !known[hash] {
			return fmt.Errorf("shuffler: the blob %s is of a plan that was never served here: it %s folder or bucket, or name the one that is this hop's", name, earlier)
		}
	}
	return nil
}
