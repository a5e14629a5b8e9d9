package journal

import (
	"errors"
	"fmt"
	"time"

	"github.com/confetti-dp/confetti/internal/storage/hashchain"
	"github.com/confetti-dp/confetti/internal/storage/keep"
)

const (
	// leastDead is how many bytes of a file are dead at least before it is written anew.
	leastDead = 64 << 20

	// mostMoved is the size of a file from which on it is written anew at a start alone:
	// writers wait meanwhile.
	mostMoved = 1 << 30

	// leastFree is how much a compaction leaves free for those who write meanwhile.
	leastFree = 64 << 20

	// retryAfter is how long a compaction that failed is not tried again.
	retryAfter = time.Minute
)

// due reports whether at least half of the file is dead. Who calls it is the committer, or
// nobody else has the shelf yet.
func (s *shelf) due() bool {
	size := s.vol.log.Next() - hashchain.Frame
	dead := size - s.index.live
	return dead >= s.o.leastDead && dead >= size/2
}

// compactIfDue writes a file of so many bytes at most anew where that is worth it. A failure is no
// failed write: what is on disk stays there, and the next try is later.
func (s *shelf) compactIfDue(most int64) {
	if !s.due() || s.vol.log.Next() > most || time.Now().Before(s.later) {
		return
	}
	if !s.moving.TryLock() {
		return // somebody reads it in order
	}
	defer s.moving.Unlock()
	if err := s.compact(); err != nil {
		if s.later.IsZero() {
			s.o.Log.Warn("a shelf cannot be written anew without what is dead in it, and takes more of the disk than it needs", "shelf", s.name, "error", err.Error())
		}
		s.later = time.Now().Add(retryAfter)
	}
}

// compact writes what lives into a new file, in the order in which it lay, which takes the
// place of the old one. The new chain goes on where the old one ended, so that a check of
// the old one holds for it. Nothing is written behind it before its name is on disk.
func (s *shelf) compact() error {
	if free, known := s.disk.Free(); known && free < s.index.live+leastFree {
		return fmt.Errorf("%w: %d bytes are free, and %d live", keep.ErrFull, free, s.index.live)
	}
	name := s.name + newFile
	if err := remove(s.disk, name); err != nil {
		return err
	}
	layout, end := layoutOf(s.name, s.secret), s.vol.log.End()
	if err := write(s.disk, name, layout.Begin(end)); err != nil {
		return errors.Join(err, remove(s.disk, name))
	}
	opened, err := s.disk.Open(name)
	if err != nil {
		return errors.Join(err, remove(s.disk, name))
	}
	file := &moved{File: opened, name: s.name + rowsFile}
	m := mover{s: s, index: &index{}, rows: s.known.Rows, writer: writer{sealer: s.sealer}}
	if m.log, err = layout.Open(file, hashchain.Walk{}, nil); err == nil {
		err = m.move()
	}
	if err == nil {
		file.whole, err = true, opened.Sync()
	}
	if err == nil {
		err = s.disk.Rename(name, s.name+rowsFile)
	}
	if err != nil {
		return errors.Join(err, file.Close(), remove(s.disk, name))
	}
	if err := s.disk.Sync(); err != nil { // after a power cut either file may be there
		file.Close()
		return s.fail(err)
	}
	old := s.vol
	s.mu.Lock()
	s.vol, s.index = newVolume(m.log, file), m.index
	s.known.End, s.known.Rows, s.known.Aside = m.log.End(), m.rows, nil
	s.mu.Unlock()
	old.release()
	if err := s.save(); err != nil && s.prompt {
		return s.fail(err)
	}
	return nil
}

// moved is a file that will have another name than it was opened by. Until it is whole nothing
// of it needs to be on disk.
type moved struct {
	hashchain.File
	name  string
	whole bool
}

func (m *moved) Name() string { return m.name }

func (m *moved) Sync() error {
	if !m.whole {
		return nil
	}
	return m.File.Sync()
}

// mover copies the rows that live into another log.
type mover struct {
	s      *shelf
	log    *hashchain.Log
	index  *index
	rows   uint64
	writer writer
	ops    []op
	size   int
}

func (m *mover) move() error {
	err := m.s.vol.log.Groups(hashchain.Walk{Skip: m.s.known.accepted()}, func(g hashchain.Group) error {
		_, _, err := m.s.sealer.rows(g.At, g.Body, func(o op, p place) error {
			if m.s.index.at(o.t, o.key) != p.at {
				return nil
			}
			return m.add(o)
		})
		return err
	})
	if err == nil {
		err = m.flush()
	}
	if err == nil && m.index.size() != m.s.index.size() {
		err = fmt.Errorf("%w: %d rows were found, and %d are there", keep.ErrDamaged, m.index.size(), m.s.index.size())
	}
	return damaged(err)
}

func (m *mover) add(o op) error {
	if len(m.ops) > 0 && m.size+o.size() > mostGroup {
		if err := m.flush(); err != nil {
			return err
		}
	}
	if len(m.ops) == 0 {
		m.writer.begin(m.rows)
	}
	m.writer.add(o)
	o.value = nil // it is the reader's
	m.ops = append(m.ops, o)
	m.size += o.size() + int(m.writer.places[len(m.ops)-1].n)
	return nil
}

func (m *mover) flush() error {
	if len(m.ops) == 0 {
		return nil
	}
	if m.s.name == keep.Main {
		m.writer.pad()
	}
	at := m.log.Next()
	if err := m.log.Append(m.writer.group); err != nil {
		return err
	}
	for i, o := range m.ops {
		p := m.writer.places[i]
		p.at += at
		m.index.apply(o, p)
	}
	m.rows += uint64(len(m.ops))
	m.ops, m.size = m.ops[:0], 0
	return nil
}
