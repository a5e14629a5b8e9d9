package queue

import (
	"context"
	"crypto/sha256"
	"fmt"
	"hash"
)

// A stream lies in a box as chunks of ChunkBody bytes, but for the last, under their numbers
// from 0 on: a chunk is much beside what a message costs, little beside what a process has.

const chunkKind = "chunk"

// Chunks writes a stream into a box.
type Chunks struct {
	ctx    context.Context
	box    *Box
	n      int
	size   int64
	digest hash.Hash
	buf    []byte
}

// Chunks begins a stream in the box.
func (b *Box) Chunks(ctx context.Context) *Chunks {
	return &Chunks{ctx: ctx, box: b, digest: sha256.New(), buf: make([]byte, 0, ChunkBody)}
}

func (c *Chunks) Write(p []byte) (int, error) {
	written := len(p)
	for len(p) > 0 {
		n := min(len(p), cap(c.buf)-len(c.buf))
		c.buf, p = append(c.buf, p[:n]...), p[n:]
		if len(c.buf) == cap(c.buf) {
			if err := c.Flush(); err != nil {
				return 0, err
			}
		}
	}
	return written, nil
}

// Flush ends the stream: what was written is in the box.
func (c *Chunks) Flush() error {
	if len(c.buf) == 0 {
		return nil
	}
	if _, err := c.box.Put(c.ctx, fmt.Sprint(c.n), chunkKind, c.buf); err != nil {
		return err
	}
	c.digest.Write(c.buf)
	c.size += int64(len(c.buf))
	c.n++
	c.buf = c.buf[:0]
	return nil
}

// Size returns how many bytes were flushed.
func (c *Chunks) Size() int64 { return c.size }

// Sum is their SHA-256.
func (c *Chunks) Sum() [32]byte { return [32]byte(c.digest.Sum(nil)) }

// Chunk reads one of a stream, counted from 0.
func (b *Box) Chunk(ctx context.Context, n int) ([]byte, error) {
	return b.Get(ctx, fmt.Sprint(n), chunkKind)
}

// Stretch reads so many bytes of a stream, the first of which is number from.
func (b *Box) Stretch(ctx context.Context, from, bytes int64) ([]byte, error) {
	all := make([]byte, 0, bytes)
	for len(all) < cap(all) {
		at := from + int64(len(all))
		body, err := b.Chunk(ctx, int(at/ChunkBody))
		if err == nil && int64(len(body)) <= at%ChunkBody {
			err = fmt.Errorf("%w: a chunk of a stream is shorter than it was", ErrDamaged)
		}
		if err != nil {
			return nil, err
		}
		body = body[at%ChunkBody:]
		all = append(all, body[:min(len(body), cap(all)-len(all))]...)
	}
	return all, nil
}
