// Package shelves opens what a service must not lose, as its configuration says, in a folder or in a PostgreSQL
// database, and shares work among processes on one. Used by internal/service/aggregated, internal/service/issuer
// and internal/service/shufflerd.
package shelves

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/storage/atomicfile"
	"github.com/confetti-dp/confetti/internal/storage/blob"
	"github.com/confetti-dp/confetti/internal/storage/keep"
	"github.com/confetti-dp/confetti/internal/wire"
)

// Place is the settings of a service whose data rest on shelves.
type Place struct {
	Database serve.Path `toml:"database" eg:"/var/lib/confetti-ROLE/shelves" help:"A folder on a local disk of which fsync can be trusted."`
	Server
}

// Server is the settings of a PostgreSQL database, which any number of processes share.
type Server struct {
	URL          string     `toml:"url" or:"postgres://confetti@database.example/confetti?sslmode=verify-full&sslrootcert=/etc/confetti-ROLE/database.crt" help:"Instead of the folder: a PostgreSQL database, which any number of processes share."`
	PasswordFile serve.Path `toml:"password_file" or:"database.password" help:"The database's password, one line in a file that nobody else may read."`
	ShelfKeys    serve.Path `toml:"shelf_keys" or:"/var/lib/confetti-ROLE/keys" help:"With url: a folder without versions and backups, where keys lie of what is to be forgotten. Without it what is deleted is forgotten when the database's archive and backups are."`

	// Connect opens a database. A program without it has no PostgreSQL.
	Connect Connect `toml:"-"`
}

// InFolder is where shelves lie in the folder of a service that keeps more in it.
const InFolder = "shelves"

// In returns where the shelves of a service are that has such a folder: in it, or in the database.
func (s Server) In(folder serve.Path) Place {
	p := Place{Server: s}
	if s.URL == "" {
		p.Database = serve.Path(filepath.Join(string(folder), InFolder))
	}
	return p
}

// Tables of every service's main shelf that no service gives another meaning.
const ownerTable keep.Table = 15

const ownerKey = "owner" // -> whose shelves they are

// Main opens the main shelf of a store for a role, and refuses one of another role.
func Main(ctx context.Context, store keep.Store, role string) (keep.Shelf, error) {
	main, err := store.Open(ctx, keep.Main)
	if err != nil {
		return nil, err
	}
	return main, main.Update(ctx, func(tx keep.Tx) error {
		is, err := First(tx, ownerTable, ownerKey, []byte(role))
		if err == nil && string(is) != role {
			err = fmt.Errorf("the database is that of a %s, and this is a %s: give each its own", is, role)
		}
		return err
	})
}

// Connect opens the store in a PostgreSQL database, and makes it in one that has none. Keys of
// shelves lie in keys, if it is not nil.
type Connect func(ctx context.Context, url string, keys blob.Store) (keep.Store, error)

// Check says what is wrong with the settings.
func (s Place) Check() error {
	_, err := s.address()
	if err == nil && s.Database != "" {
		if err = Earlier(string(s.Database)); err == nil {
			err = serve.Writable(s.Database)
		}
	}
	if err == nil && s.ShelfKeys != "" {
		if s.Database != "" {
			err = serve.Fault("shelf_keys", errors.New("keys of a folder's shelves lie beside them: leave it out"))
		} else {
			err = serve.Fault("shelf_keys", serve.Writable(s.ShelfKeys))
		}
	}
	if err == nil && s.URL != "" && s.Connect == nil {
		err = serve.Fault("url", errors.New("this program has no PostgreSQL in it: take the one whose name ends in -postgres"))
	}
	return serve.Fault("database", err)
}

func (s Place) address() (string, error) {
	return serve.Rows{Database: s.Database, URL: s.URL, PasswordFile: s.PasswordFile}.DSN()
}

// SQLite is what a file of an earlier version begins with.
const SQLite = "SQLite format 3\x00"

// Earlier refuses a file where a folder is to be, by name where an earlier version kept it.
func Earlier(path string) error {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	if status, err := f.Stat(); err != nil || status.IsDir() {
		return err
	}
	head := make([]byte, len(SQLite))
	if _, err := io.ReadFull(f, head); err == nil && string(head) == SQLite {
		return fmt.Errorf("%s is a file of SQLite, which was kept by an earlier version and which this one does not read: let that version end its plans, then name an empty folder", path)
	}
	return fmt.Errorf("%s is a file: name a folder", path)
}

// Open opens the store, as Folder does where it lies in a folder.
func (s Place) Open(ctx context.Context, c serve.Common) (keep.Store, error) {
	if s.Database != "" {
		if err := Earlier(string(s.Database)); err != nil {
			return nil, err
		}
		return Folder(string(s.Database), c, true)
	}
	address, err := s.address()
	if err != nil {
		return nil, err
	}
	if s.ShelfKeys == "" {
		return s.Connect(ctx, address, nil)
	}
	keys, err := blob.OpenFolder(string(s.ShelfKeys))
	if err != nil {
		return nil, err
	}
	return s.Connect(ctx, address, keys)
}

// Copy returns settings of a copy of the folder, for who reads it as a start does; of a database
// the same. done removes the copy.
func (s Place) Copy() (copied Place, done func(), err error) {
	if s.Database == "" {
		return s, func() {}, nil
	}
	if err := Earlier(string(s.Database)); err != nil {
		return s, nil, err
	}
	path, done, err := atomicfile.Copy(string(s.Database))
	s.Database = serve.Path(path)
	return s, done, err
}

// Answer returns what to answer where a store refuses, and any other error as it is.
func Answer(err error) error {
	switch {
	case errors.Is(err, keep.ErrFull):
		return wire.Problemf(wire.StorageFull, "nothing was kept")
	case errors.Is(err, keep.ErrUnavailable):
		p := wire.Problemf(wire.Overloaded, "it is not known whether it was kept: the store does not answer")
		p.RetryAfter = 5 * time.Second
		return p
	}
	return err
}
