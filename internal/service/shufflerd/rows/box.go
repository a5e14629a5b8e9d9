package rows

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io/fs"

	"github.com/confetti-dp/confetti/internal/rng"
	"github.com/confetti-dp/confetti/internal/storage/blob"
	"github.com/confetti-dp/confetti/internal/storage/keep"
	"github.com/confetti-dp/confetti/party/shuffler"
)

// ChunkBody is how many bytes of a box are in each of its blobs but the last.
const ChunkBody = 1 << 20

// Box is a body of many bytes in blobs that are sealed under a key, each with its name. Whoever
// reads it knows how long it is, and its digest, from elsewhere.
type Box struct {
	Blobs blob.Store
	Key   shuffler.Key
	Under string // what the names of its blobs begin with
}

// Attempt returns a name for a box that nobody else writes.
func Attempt() string { return fmt.Sprintf("%016x", rng.New().Uint64()) }

func (b Box) name(n int) string { return fmt.Sprintf("%s/%d", b.Under, n) }

// Chunk returns the body of a blob. keep.ErrDamaged: it is not there, or not as it was written.
func (b Box) Chunk(ctx context.Context, n int) ([]byte, error) {
	name := b.name(n)
	sealed, err := b.Blobs.Get(ctx, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: the blob %s is missing", keep.ErrDamaged, name)
	}
	if err != nil {
		return nil, err
	}
	body, err := b.Key.Open(name, sealed)
	if err != nil {
		return nil, fmt.Errorf("%w: the blob %s is not as it was written", keep.ErrDamaged, name)
	}
	return body, nil
}

// Each calls fn for the chunks of a box of so many bytes, in order.
func (b Box) Each(ctx context.Context, size int64, fn func(body []byte) error) error {
	for n := 0; size > 0; n++ {
		body, err := b.Chunk(ctx, n)
		if err != nil {
			return err
		}
		if int64(len(body)) != min(size, ChunkBody) {
			return fmt.Errorf("%w: the blob %s has another length than was written", keep.ErrDamaged, b.name(n))
		}
		if err := fn(body); err != nil {
			return err
		}
		size -= int64(len(body))
	}
	return nil
}

// Stretch returns so many bytes of a box, from one on.
func (b Box) Stretch(ctx context.Context, from, length int64) ([]byte, error) {
	out := make([]byte, 0, length)
	for length > int64(len(out)) {
		at := from + int64(len(out))
		body, err := b.Chunk(ctx, int(at/ChunkBody))
		if err != nil {
			return nil, err
		}
		skip := at % ChunkBody
		if skip >= int64(len(body)) {
			return nil, fmt.Errorf("%w: the blob %s is shorter than it was", keep.ErrDamaged, b.name(int(at/ChunkBody)))
		}
		body = body[skip:]
		out = append(out, body[:min(int64(len(body)), length-int64(len(out)))]...)
	}
	return out, nil
}

// Drop deletes the blobs of a box.
func (b Box) Drop(ctx context.Context) error { return b.Blobs.Delete(ctx, b.Under) }

// Chunks writes a box from its beginning. The last chunk is there when Flush has returned.
type Chunks struct {
	ctx  context.Context
	box  Box
	buf  []byte
	n    int
	size int64
	sum  hash.Hash
}

// Chunks begins to write the box.
func (b Box) Chunks(ctx context.Context) *Chunks {
	return &Chunks{ctx: ctx, box: b, sum: sha256.New()}
}

// Write implements io.Writer.
func (c *Chunks) Write(p []byte) (int, error) {
	written := len(p)
	c.sum.Write(p)
	c.size += int64(len(p))
	for len(p) > 0 {
		n := min(len(p), ChunkBody-len(c.buf))
		c.buf = append(c.buf, p[:n]...)
		p = p[n:]
		if len(c.buf) == ChunkBody {
			if err := c.Flush(); err != nil {
				return 0, err
			}
		}
	}
	return written, nil
}

// Flush writes what is left.
func (c *Chunks) Flush() error {
	if len(c.buf) == 0 {
		return nil
	}
	name := c.box.name(c.n)
	if err := c.box.Blobs.Put(c.ctx, name, c.box.Key.Seal(name, c.buf)); err != nil {
		return err
	}
	c.n++
	c.buf = c.buf[:0]
	return nil
}

// Size returns how many bytes were written.
func (c *Chunks) Size() int64 { return c.size }

// Sum returns the SHA-256 of all that was written.
func (c *Chunks) Sum() [32]byte { return [32]byte(c.sum.Sum(nil)) }
