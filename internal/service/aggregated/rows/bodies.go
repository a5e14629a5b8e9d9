package rows

import (
	"bytes"
	"cmp"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"

	"github.com/confetti-dp/confetti/internal/rng"
	"github.com/confetti-dp/confetti/internal/storage/blob"
	"github.com/confetti-dp/confetti/internal/storage/keep"
)

// Where a leader has blobs beside a database, bodies of reports lie there, and a report's row says where. Bodies that come
// together share a blob: each is sealed under a key of its plan's shelf, with the blob's name and its place. What a crash
// leaves, or a report that was refused, is in no row, and goes with its plan.

// place is where a body lies: the row of bodiesTable.
//
//	offset  length  field
//	0       16      blob
//	16      4       first byte, in the blob
//	20      4       length of the body
//	24      32      SHA-256 of the body
type place [24 + sha256.Size]byte

// mostTogether is how many bytes of bodies a blob has, but for a single longer one.
const mostTogether = 8 << 20

// readers is how many bodies of a job are read at a time.
const readers = 16

// bodies is where those of a plan lie.
type bodies struct {
	blobs  blob.Store
	plan   string
	secret []byte

	mu      sync.Mutex
	waiting []*arrival
	writing bool
}

// arrival is a body on its way into a blob.
type arrival struct {
	body []byte
	at   place
	err  error
	done chan struct{}
}

// name returns the blob's name.
func (b *bodies) name(at place) string { return fmt.Sprintf("%s/%x", b.plan, at[:16]) }

// seal returns what seals the one body at a place.
func (b *bodies) seal(at place) (cipher.AEAD, error) {
	key, err := hkdf.Key(sha256.New, b.secret, nil, "confetti/body "+string(at[:20]), 32)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}

var zeroNonce [12]byte // a key seals once

// put keeps a body and returns where. The body must not be changed after an error either.
func (b *bodies) put(ctx context.Context, body []byte) (place, error) {
	a := &arrival{body: body, done: make(chan struct{})}
	b.mu.Lock()
	b.waiting = append(b.waiting, a)
	first := !b.writing
	b.writing = true
	b.mu.Unlock()
	if first {
		go b.write()
	}
	select {
	case <-a.done:
		return a.at, a.err
	case <-ctx.Done():
		return place{}, fmt.Errorf("%w: %w", keep.ErrUnavailable, ctx.Err())
	}
}

// write writes blobs until nobody waits.
func (b *bodies) write() {
	for {
		b.mu.Lock()
		n, size := 0, 0
		for n < len(b.waiting) && (n == 0 || size+len(b.waiting[n].body) <= mostTogether) {
			size += len(b.waiting[n].body)
			n++
		}
		now := b.waiting[:n]
		b.waiting = b.waiting[n:]
		b.writing = n > 0
		b.mu.Unlock()
		if n == 0 {
			return
		}
		err := b.together(now)
		for _, a := range now {
			a.err = err
			close(a.done)
		}
	}
}

// together writes bodies into one blob.
func (b *bodies) together(now []*arrival) error {
	r := rng.New()
	var id [16]byte
	binary.BigEndian.PutUint64(id[:], r.Uint64())
	binary.BigEndian.PutUint64(id[8:], r.Uint64())
	var text []byte
	for _, a := range now {
		copy(a.at[:], id[:])
		binary.BigEndian.PutUint32(a.at[16:], uint32(len(text)))
		binary.BigEndian.PutUint32(a.at[20:], uint32(len(a.body)))
		digest := sha256.Sum256(a.body)
		copy(a.at[24:], digest[:])
		key, err := b.seal(a.at)
		if err != nil {
			return err
		}
		text = key.Seal(text, zeroNonce[:], a.body, nil)
	}
	if err := b.blobs.Put(context.Background(), b.name(now[0].at), text); err != nil {
		return fmt.Errorf("%w: %w", keep.ErrUnavailable, err)
	}
	return nil
}

// get returns the body at a place. keep.ErrDamaged: it is not there, or not as it was written.
func (b *bodies) get(ctx context.Context, row []byte) ([]byte, error) {
	if len(row) != len(place{}) { // a body, of before there were blobs, which is longer
		return row, nil
	}
	at := place(row)
	key, err := b.seal(at)
	if err != nil {
		return nil, err
	}
	from, length := binary.BigEndian.Uint32(at[16:]), binary.BigEndian.Uint32(at[20:])
	sealed, err := b.blobs.Part(ctx, b.name(at), int64(from), int(length)+key.Overhead())
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, blob.ErrShort) {
		return nil, fmt.Errorf("%w: the blob %s is missing or shorter than it was written", keep.ErrDamaged, b.name(at))
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", keep.ErrUnavailable, err)
	}
	body, err := key.Open(nil, zeroNonce[:], sealed, nil)
	if err != nil {
		return nil, fmt.Errorf("%w: the blob %s is not as it was written", keep.ErrDamaged, b.name(at))
	}
	return body, nil
}

// all returns the bodies at places, some of them read at a time.
func (b *bodies) all(ctx context.Context, rows [][]byte) ([][]byte, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	read := make([][]byte, len(rows))
	var wg sync.WaitGroup
	for first := range min(readers, len(rows)) {
		wg.Go(func() {
			for i := first; i < len(rows) && ctx.Err() == nil; i += readers {
				var err error
				if read[i], err = b.get(ctx, rows[i]); err != nil {
					cancel(err)
				}
			}
		})
	}
	wg.Wait()
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	return read, nil
}

// bodies returns where those of a plan's shelf lie; nil: in its rows.
func (s *Store) bodies(ctx context.Context, plan string, shelf keep.Shelf) (*bodies, error) {
	if s.blobs == nil {
		return nil, nil
	}
	secret, err := shelf.Secret(ctx, "bodies")
	return &bodies{blobs: s.blobs, plan: plan, secret: secret}, err
}

// dropBodies deletes what blobs have of a plan whose shelf of reports is dropped.
func (s *Store) dropBodies(ctx context.Context, plan string) error {
	if s.blobs == nil {
		return nil
	}
	return s.blobs.Delete(ctx, plan)
}

// sweep deletes blobs that outlived their plan's reports: somebody died between the two, or wrote late.
func (s *Store) sweep(ctx context.Context) error {
	if s.blobs == nil {
		return nil
	}
	names, err := s.blobs.List(ctx, "")
	if err != nil {
		return err
	}
	last := ""
	for _, name := range names {
		plan, _, _ := strings.Cut(name, "/")
		if plan == last {
			continue
		}
		last = plan
		if _, err := s.store.Open(ctx, reportsPrefix+plan); errors.Is(err, keep.ErrDropped) {
			if err := s.blobs.Delete(ctx, plan); err != nil {
				return err
			}
		}
	}
	return nil
}

// standing returns the place of a report's body that its respondent has sent before; there: he has sent one. Of another
// report it is no place, which no shelf takes for the same.
func (p *Plan) standing(ctx context.Context, r Report) (at []byte, there bool, err error) {
	if _, there, err = p.reports.Get(ctx, reportsTable, string(r.Respondent[:])); err != nil || !there {
		return nil, false, err
	}
	at, _, err = p.reports.Get(ctx, bodiesTable, string(r.Name[:]))
	if digest := sha256.Sum256(r.Body); !bytes.HasSuffix(at, digest[:]) {
		at = nil
	}
	return at, true, err
}

// takeBody keeps a report whose body goes into a blob. Of what a respondent sends more than once only the first is written.
func (p *Plan) takeBody(ctx context.Context, r Report) error {
	for {
		at, before, err := p.standing(ctx, r)
		if err == nil && !before {
			var put place
			put, err = p.bodies.put(ctx, r.Body)
			at = put[:]
		}
		if err != nil {
			return err
		}
		_, err = p.reports.Insert(ctx, r.rows(at)...)
		if before || !errors.Is(err, keep.ErrTaken) {
			return err
		}
		if _, before, err := p.standing(ctx, r); err != nil || !before { // its name is another respondent's
			return cmp.Or(err, keep.ErrTaken)
		}
	}
}
