package journal

import (
	"bytes"
	"context"
	"crypto/cipher"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/confetti-dp/confetti/internal/storage/hashchain"
	"github.com/confetti-dp/confetti/internal/storage/keep"
)

// shelf is a shelf that is open. It implements keep.Shelf.
type shelf struct {
	disk   disk
	name   string
	o      Options
	prompt bool // its check is on disk before a write returns
	secret secret
	sealer sealer
	check  *checkFile
	queue  queue
	writer writer // of the committer, as batch is
	batch  batch

	// moving is held alone by a compaction, which waits for nobody, and shared by whoever reads
	// the file in order.
	moving sync.RWMutex
	later  time.Time // no compaction is tried before; of the committer

	mu     sync.RWMutex
	vol    *volume
	index  *index
	known  check // what the check is to say
	late   *time.Timer
	gone   error // why nothing is answered any more
	broken error // why nothing can be written
}

// sealedKey is the row that seals a shelf.
const sealedKey = "sealed"

// checkEvery is how late a check may be: what is lost at the end of a shelf so soon after it
// was written cannot be told from what a crash has torn.
const checkEvery = time.Second

// volume is the file of a shelf's rows. It is closed when the last reader has let go of it.
type volume struct {
	log  *hashchain.Log
	file hashchain.File
	refs atomic.Int64
	last atomic.Pointer[lastGroup]
}

// lastGroup is the key of the group that was read last.
type lastGroup struct {
	at   int64
	aead cipher.AEAD
}

func newVolume(log *hashchain.Log, file hashchain.File) *volume {
	v := &volume{log: log, file: file}
	v.refs.Store(1)
	return v
}

func (v *volume) hold() { v.refs.Add(1) }

func (v *volume) release() error {
	if v.refs.Add(-1) > 0 {
		return nil
	}
	return v.log.Close()
}

// row reads the row at a place.
func (v *volume) row(s sealer, p place) (op, error) {
	last := v.last.Load()
	group := last
	if begin := p.at - int64(p.back); group == nil || group.at != begin {
		var salt [saltSize]byte
		if _, err := v.file.ReadAt(salt[:], begin); err != nil {
			return op{}, lost(err)
		}
		group = &lastGroup{begin, s.group(salt[:])}
	}
	b := make([]byte, p.n)
	if _, err := v.file.ReadAt(b, p.at); err != nil {
		return op{}, lost(err)
	}
	o, n, err := openRow(b, group.aead, p.i)
	if err == nil && n != len(b) {
		err = fmt.Errorf("%w: a row is cut off", keep.ErrDamaged)
	}
	if err != nil {
		return o, err
	}
	if group != last {
		v.last.Store(group) // it opens a row: its salt was not read wrong
	}
	return o, nil
}

func ended(err error) bool { return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) }

// lost returns what to say of bytes that cannot be read.
func lost(err error) error {
	if ended(err) {
		return fmt.Errorf("%w: a file is shorter than it was", keep.ErrDamaged)
	}
	return fmt.Errorf("%w: %w", keep.ErrUnavailable, err)
}

// damaged turns what package hashchain finds into an error of package keep.
func damaged(err error) error {
	if errors.Is(err, hashchain.ErrDamaged) {
		return fmt.Errorf("%w: %w", keep.ErrDamaged, err)
	}
	return err
}

// ready says why nothing is answered.
func (s *shelf) ready(ctx context.Context) error {
	if ctx.Err() != nil {
		return unavailable(ctx)
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.gone
}

// read returns the row under a key.
func (s *shelf) read(t keep.Table, key string) (o op, there bool, err error) {
	s.mu.RLock()
	if s.gone != nil {
		defer s.mu.RUnlock()
		return op{}, false, s.gone
	}
	p, there := s.index.find(t, key)
	if !there {
		s.mu.RUnlock()
		return op{}, false, nil
	}
	v := s.vol
	v.hold()
	s.mu.RUnlock()
	defer v.release()
	return s.rowAt(v, p, t, key)
}

// rowAt reads the row at a place, which must be the one under that key.
func (s *shelf) rowAt(v *volume, p place, t keep.Table, key string) (op, bool, error) {
	o, err := v.row(s.sealer, p)
	if err == nil && (o.t != t || o.key != key || o.kind == deleted || o.tag != p.tag || (o.kind == inserted) != p.inserted) {
		err = fmt.Errorf("%w: another row stands in its place", keep.ErrDamaged)
	}
	if err != nil {
		return op{}, false, fmt.Errorf("%s, byte %d: %w", v.file.Name(), p.at, err)
	}
	return o, true, nil
}

func (s *shelf) keys(t keep.Table, prefix string) ([]string, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.gone != nil {
		return nil, s.gone
	}
	return s.index.keys(t, prefix), nil
}

// Get implements keep.Shelf.
func (s *shelf) Get(ctx context.Context, t keep.Table, key string) ([]byte, bool, error) {
	if err := keep.CheckKey(t, key); err != nil {
		return nil, false, err
	}
	if err := s.ready(ctx); err != nil {
		return nil, false, err
	}
	o, there, err := s.read(t, key)
	return o.value, there, err
}

// Each implements keep.Shelf.
func (s *shelf) Each(ctx context.Context, t keep.Table, prefix string, fn func(key string, value []byte) error) error {
	if err := keep.CheckTable(t); err != nil {
		return err
	}
	if err := s.ready(ctx); err != nil {
		return err
	}
	keys, err := s.keys(t, prefix)
	if err != nil {
		return err
	}
	for _, key := range keys {
		if err := s.ready(ctx); err != nil {
			return err
		}
		o, there, err := s.read(t, key)
		if err != nil {
			return err
		}
		if there {
			if err := fn(key, o.value); err != nil {
				return err
			}
		}
	}
	return nil
}

// InOrder implements keep.Shelf.
func (s *shelf) InOrder(ctx context.Context, t keep.Table, fn func(key string, value []byte) error) error {
	if err := keep.CheckTable(t); err != nil {
		return err
	}
	s.mu.RLock()
	sealed := s.known.Sealed
	s.mu.RUnlock()
	if err := s.ready(ctx); err != nil {
		return err
	}
	if !sealed {
		return fmt.Errorf("keep: the shelf %s has no order before it is sealed", s.name)
	}
	return s.groups(ctx, func(o op, p place) error {
		if o.t != t || o.kind != inserted {
			return nil
		}
		s.mu.RLock()
		now := s.index.at(t, o.key)
		s.mu.RUnlock()
		if now != p.at {
			return nil
		}
		return fn(o.key, o.value)
	})
}

// groups calls fn for every row that was written, in order, and checks all that is read.
func (s *shelf) groups(ctx context.Context, fn func(op, place) error) error {
	s.moving.RLock()
	defer s.moving.RUnlock()
	s.mu.RLock()
	v, skip := s.vol, s.known.accepted()
	if s.gone != nil {
		defer s.mu.RUnlock()
		return s.gone
	}
	v.hold()
	s.mu.RUnlock()
	defer v.release()
	var answer error // of fn, as it is
	err := v.log.Groups(hashchain.Walk{Skip: skip}, func(g hashchain.Group) error {
		if err := s.ready(ctx); err != nil {
			return err
		}
		_, _, err := s.sealer.rows(g.At, g.Body, func(o op, p place) error {
			answer = fn(o, p)
			return answer
		})
		return err
	})
	if answer != nil {
		return answer
	}
	return damaged(err)
}

// Count implements keep.Shelf.
func (s *shelf) Count(ctx context.Context, t keep.Table, tag uint32) (int, error) {
	if err := keep.CheckTable(t); err != nil {
		return 0, err
	}
	if err := s.ready(ctx); err != nil {
		return 0, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.index.count(t, tag), nil
}

// Insert implements keep.Shelf.
func (s *shelf) Insert(ctx context.Context, rows ...keep.Row) (again bool, err error) {
	if err := keep.CheckRows(rows); err != nil {
		return false, err
	}
	size := 0
	for _, r := range rows {
		size += len(r.Key) + len(r.Value) + keep.RowMore
	}
	for {
		if err := s.ready(ctx); err != nil {
			return false, err
		}
		again, there, err := s.there(rows)
		if there || err != nil {
			return again, err
		}
		req := &request{rows: rows, size: size}
		if err := s.enter(ctx, req); err != nil {
			return false, err
		}
		if !req.retry {
			return req.again, nil
		}
	}
}

// there reports whether some of the rows are on disk, and whether all are, the same.
func (s *shelf) there(rows []keep.Row) (again, some bool, err error) {
	var places []place
	s.mu.RLock()
	sealed, v := s.known.Sealed, s.vol
	for _, r := range rows {
		if p, there := s.index.find(r.Table, r.Key); there {
			places = append(places, p)
		}
	}
	if s.gone != nil || sealed || len(places) == 0 {
		defer s.mu.RUnlock()
		if s.gone == nil && sealed {
			return false, true, keep.ErrSealed
		}
		return false, false, s.gone
	}
	v.hold()
	s.mu.RUnlock()
	defer v.release()
	if len(places) < len(rows) {
		return false, true, keep.ErrTaken
	}
	for i, p := range places {
		r := rows[i]
		if p.tag != r.Tag || !p.inserted {
			return false, true, keep.ErrTaken
		}
		o, _, err := s.rowAt(v, p, r.Table, r.Key)
		if err != nil {
			return false, true, err
		}
		if !bytes.Equal(o.value, r.Value) {
			return false, true, keep.ErrTaken
		}
	}
	return true, true, nil
}

// Seal implements keep.Shelf.
func (s *shelf) Seal(ctx context.Context) error {
	if err := s.ready(ctx); err != nil {
		return err
	}
	return s.enter(ctx, &request{size: keep.RowMore})
}

// Secret implements keep.Shelf.
func (s *shelf) Secret(ctx context.Context, purpose string) ([]byte, error) {
	if err := s.ready(ctx); err != nil {
		return nil, err
	}
	return s.secret.derive("secret " + purpose), nil
}

// Check implements keep.Shelf.
func (s *shelf) Check(ctx context.Context) error {
	if err := s.ready(ctx); err != nil {
		return err
	}
	if key, err := readKey(s.disk, s.name); err != nil {
		return err
	} else if !bytes.Equal(key, s.secret.key()) {
		return fmt.Errorf("%w: %s is another key than it was", keep.ErrDamaged, s.name+".key")
	}
	return s.groups(ctx, func(op, place) error { return nil })
}
