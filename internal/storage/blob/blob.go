// Package blob keeps bodies of some megabytes under names, where several processes find them: in a folder, or in a
// bucket of an S3-compatible service. Used by internal/service, internal/analyzer and internal/shuffler/mixer.
package blob

import (
	"context"
	"errors"
	"fmt"
	"math"
	"regexp"
)

// Store is where blobs are. A name is parts of letters, digits, - and _, with slashes
// between them; no blob's name is another's with a slash and more behind it. Other things
// that lie in the store are not seen. All methods are safe for concurrent use, by several
// processes, and see what any Put or Delete before them has done.
//
// Nobody needs a name that only the first to write it gets: who may write one twice writes
// the same bytes, or marks elsewhere which of its attempts counts.
type Store interface {
	// Put keeps a body under a name, over an earlier one, whole or not at all. When it
	// returns nil the body outlives a loss of power. With an error it may be there or not.
	// The same again is no error.
	Put(ctx context.Context, name string, body []byte) error
	// Get returns a body, whole, which is the caller's; the error is fs.ErrNotExist where
	// there is none, and only there.
	Get(ctx context.Context, name string) ([]byte, error)
	// Part returns so many bytes of a body from one on, which are the caller's; the error is fs.ErrNotExist as Get's, and
	// ErrShort where the body ends before.
	Part(ctx context.Context, name string, from int64, length int) ([]byte, error)
	// Has reports whether there is a blob of a name.
	Has(ctx context.Context, name string) (bool, error)
	// List are the names that begin with a name and a slash, or with "" all, in the order of
	// their bytes.
	List(ctx context.Context, under string) ([]string, error)
	// Bytes is how long the bodies of those are together.
	Bytes(ctx context.Context, under string) (int64, error)
	// Delete removes every blob whose name begins with a name and a slash. That there is
	// none is no error. In a folder what is as short as a key is overwritten first, and who
	// reads it meanwhile may read zeros.
	Delete(ctx context.Context, under string) error
}

// ErrShort is the error of a part that reaches beyond its body.
var ErrShort = errors.New("blob: the body is shorter")

var form = regexp.MustCompile(`^[A-Za-z0-9_-]+(/[A-Za-z0-9_-]+)*$`)

// IsName reports whether a text is a name.
func IsName(text string) bool { return form.MatchString(text) }

// Check panics where a text is no name: names are made by programs, never by a peer.
func Check(name string) {
	if !IsName(name) {
		panic(fmt.Sprintf("blob: %q is no name", name))
	}
}

// fragmentBytes is about how long a fragment is at least: of many small ones the names
// would cost more than the bytes.
const fragmentBytes = 128 << 10

// PartBytes returns how long the parts of a total are, bytes, each of which is dealt to as many
// others: at least so long, and longer where fragments, of which there is one for each pair,
// would be small. Of T bytes in parts of P a fragment has P^2/T.
func PartBytes(total int64, least int) int {
	return max(least, int(math.Sqrt(float64(total)*float64(min(fragmentBytes, least)))))
}
