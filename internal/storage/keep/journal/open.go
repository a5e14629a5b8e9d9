package journal

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"math"
	"slices"
	"time"

	"github.com/confetti-dp/confetti/internal/rng"
	"github.com/confetti-dp/confetti/internal/storage/hashchain"
	"github.com/confetti-dp/confetti/internal/storage/keep"
)

const (
	shelfFormat = "confetti-shelf/v1"
	keyFormat   = "confetti-shelf-key/v1 "
	keySize     = 32

	// titleLine is how many bytes the title of a shelf has, which names shelf and key and may
	// say where the chain goes on.
	titleLine = 512
)

// Endings of a shelf's files.
const (
	rowsFile    = ".rows"
	keyFile     = ".key"
	checkEnding = ".check"
	droppedFile = ".dropped"
	newFile     = ".new" // of a compaction that was not finished, or of main before it is there
)

var base64url = base64.RawURLEncoding.Strict()

// drawKey returns the file of a new key.
func drawKey() []byte {
	key := make([]byte, keySize)
	rng.Reader(rng.New()).Read(key)
	return marshalKey(key)
}

// marshalKey writes a key as a line with a checksum.
func marshalKey(key []byte) []byte {
	text := fmt.Appendf(nil, "%s%s ", keyFormat, base64url.EncodeToString(key))
	return fmt.Appendf(text, "%08x\n", crc32.Checksum(text, castagnoli))
}

// parseKey reads what marshalKey wrote, and nothing else.
func parseKey(text []byte) ([]byte, bool) {
	rest, found := bytes.CutPrefix(text, []byte(keyFormat))
	if !found || len(rest) < base64url.EncodedLen(keySize) {
		return nil, false
	}
	key, err := base64url.DecodeString(string(rest[:base64url.EncodedLen(keySize)]))
	if err != nil || !bytes.Equal(marshalKey(key), text) {
		return nil, false
	}
	return key, true
}

func readKey(d disk, name string) ([]byte, error) {
	text, err := read(d, name+keyFile, 2*len(marshalKey(make([]byte, keySize))))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: %s is missing, without which nothing on the shelf can be read", keep.ErrDamaged, name+keyFile)
	}
	if err != nil {
		return nil, explain(err)
	}
	key, ok := parseKey(text)
	if !ok {
		return nil, fmt.Errorf("%w: %s is not the key of a shelf", keep.ErrDamaged, name+keyFile)
	}
	return key, nil
}

// layoutOf returns the layout of a shelf's rows.
func layoutOf(name string, s secret) hashchain.Layout {
	l := hashchain.Layout{Title: fmt.Sprintf("%s %s %x", shelfFormat, name, s.derive("title")[:8]), Most: mostBody, Line: titleLine, Ahead: ahead}
	if name == keep.Main {
		l.Line = block
	}
	return l
}

// openShelf opens a shelf whose files were made. With aside it goes on without what is damaged
// in them, for good.
func openShelf(ctx context.Context, d disk, name string, o Options, aside bool) (*shelf, error) {
	s := &shelf{disk: d, name: name, o: o, prompt: o.Prompt || name == keep.Main, index: &index{}}
	s.queue = queue{target: 1, wake: make(chan struct{}, 1), done: make(chan struct{})}
	err := s.load(ctx, aside)
	if err == nil {
		s.compactIfDue(math.MaxInt64)
		err = s.broken
	}
	if err != nil {
		s.letGo()
		return nil, fmt.Errorf("the shelf %s: %w", name, err)
	}
	go s.run()
	return s, nil
}

// load reads all that is there.
func (s *shelf) load(ctx context.Context, aside bool) error {
	key, err := readKey(s.disk, s.name)
	if err != nil {
		return err
	}
	s.secret = secret{func() []byte { return key }}
	s.sealer = sealer{s.secret.derive("rows")}
	s.writer.sealer = s.sealer
	var was check
	s.check, was, err = openCheck(s.disk, s.name+checkEnding)
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w: %s is missing", keep.ErrDamaged, s.name+checkEnding)
	}
	if aside && errors.Is(err, keep.ErrDamaged) { // what it said is lost
		err = nil
		if s.check == nil {
			s.check, err = makeCheck(s.disk, s.name, check{})
		}
	}
	if err != nil {
		return explain(err)
	}
	if err := remove(s.disk, s.name+newFile); err != nil {
		return explain(err)
	}
	file, err := s.disk.Open(s.name + rowsFile)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %s is missing", keep.ErrDamaged, s.name+rowsFile)
	}
	if err != nil {
		return explain(err)
	}
	if err := s.replay(ctx, file, was, aside); err != nil {
		file.Close()
		return explain(damaged(err))
	}
	return nil
}

// replay reads the rows.
func (s *shelf) replay(ctx context.Context, file hashchain.File, was check, aside bool) error {
	s.known = check{Aside: slices.Clone(was.Aside), Updated: was.Updated}
	walk := hashchain.Walk{Known: was.End, Skip: s.known.accepted()}
	if aside {
		walk.Skip = s.known.aside
	}
	tail, begun := int64(-1), false // where what the check does not know begins
	log, err := layoutOf(s.name, s.secret).Open(file, walk, func(g hashchain.Group) error {
		if ctx.Err() != nil {
			return unavailable(ctx)
		}
		before, n, err := s.sealer.rows(g.At, g.Body, func(o op, p place) error {
			s.index.apply(o, p)
			s.known.take(o)
			if aside && s.known.Updated && len(s.known.Aside) > len(was.Aside) {
				return errOlderRow
			}
			return nil
		})
		if err != nil {
			return err
		}
		if !begun && g.Number > 1 && !s.known.covers(hashchain.Gap{From: 1, To: g.Number - 1}) {
			s.known.Rows = before // a compaction has left out what was dead
		}
		if g.Number > was.End.Number && tail < 0 {
			tail = g.At - hashchain.Frame
		}
		begun = true
		return s.known.count(before, n)
	})
	if err != nil {
		return err
	}
	if n := log.Torn(); n > 0 {
		s.o.Log.Warn("a shelf ended in a piece of a write that nobody was answered for: it was cut off", "file", file.Name(), "bytes", n)
	}
	if !begun && len(s.known.Aside) == 0 {
		s.known.Rows = was.Rows // a compaction has left out all, or there was nothing
	}
	if err := s.known.count(max(was.Rows, s.known.Rows), 0); err != nil {
		return err
	}
	if aside {
		if err := log.Retitle(); err != nil {
			return err
		}
	}
	if tail >= 0 {
		if err := again(file, tail); err != nil {
			return fmt.Errorf("%s cannot be written again: %w", file.Name(), err)
		}
	}
	s.vol = newVolume(log, file)
	s.known.End = log.End()
	s.known.Sealed = s.index.at(own, sealedKey) > 0 || was.Sealed
	same := was.End.Number == s.known.End.Number && was.Rows == s.known.Rows && was.Sealed == s.known.Sealed && was.Updated == s.known.Updated && len(was.Aside) == len(s.known.Aside)
	if same {
		return nil
	}
	if lost := s.known.Lost - min(was.Lost, s.known.Lost); lost > 0 || len(was.Aside) < len(s.known.Aside) {
		s.o.Log.Warn("damaged groups of a shelf were set aside", "file", file.Name(), "gaps", len(s.known.Aside), "rows", s.known.Lost)
	}
	return s.save()
}

// again writes the end of a file once more and syncs it. A sync that failed before may have
// left it in memory alone, where it reads as if it were on disk.
func again(f hashchain.File, from int64) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	b := make([]byte, min(mostGroup, info.Size()-from))
	for at := from; at < info.Size(); {
		n, err := f.ReadAt(b[:min(int64(len(b)), info.Size()-at)], at)
		if n == 0 {
			return err
		}
		if _, err := f.WriteAt(b[:n], at); err != nil {
			return err
		}
		at += int64(n)
	}
	return f.Sync()
}

// save writes the check down.
func (s *shelf) save() error {
	return s.check.save(func() check {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.late = nil
		return s.known
	})
}

// saveLate sees to it that the check follows.
func (s *shelf) saveLate() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.late != nil || s.gone != nil {
		return
	}
	s.late = time.AfterFunc(checkEvery, func() {
		if err := s.save(); err != nil {
			s.o.Log.Warn("how far a shelf has come cannot be written down", "shelf", s.name, "error", err.Error())
		}
	})
}

// close ends the shelf: what waits, and every later call, is answered with the reason.
func (s *shelf) close(why error) error {
	s.queue.mu.Lock()
	if s.queue.closed == nil {
		s.queue.closed = why
	}
	s.queue.poke()
	s.queue.mu.Unlock()
	<-s.queue.done
	s.mu.Lock()
	if s.gone != nil {
		s.mu.Unlock()
		return nil
	}
	s.gone = why
	late := s.late
	s.mu.Unlock()
	var err error
	if late != nil {
		late.Stop()
		err = s.save() // if it is being written now: once more
	}
	return errors.Join(err, s.vol.log.Trim(), s.letGo())
}

// letGo closes the files.
func (s *shelf) letGo() (err error) {
	if s.check != nil {
		err = s.check.close()
	}
	if s.vol != nil {
		err = errors.Join(err, s.vol.release())
	}
	return err
}
