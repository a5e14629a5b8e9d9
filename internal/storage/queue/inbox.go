package queue

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/confetti-dp/confetti/internal/storage/hashchain"
)

// Inbox is a box of many small contents, each under a key of its own and written
// once. What comes while the disk is busy is written together, as one group: one
// write and one sync for all of it. The groups are a chain, encrypted under a key
// that Drop destroys. It is safe for concurrent use.
type Inbox struct {
	q      *Queue
	name   string
	secret secret
	most   int // bytes of the contents of a group, if there is more than one in it

	mu      sync.Mutex
	waiting []*put
	target  int // how many wait when the committer is woken; 0: it is at work
	bytes   int // that wait
	closed  bool
	counts  map[uint32]int
	known   checkpoint  // what is to be written down
	late    *time.Timer // is going to write it; nil while it is written

	saving   sync.Mutex // held by whoever writes the checkpoint
	dead     bool       // nothing more is written
	revision uint64     // of its record

	wake chan struct{}
	done chan struct{} // closed when the committer has ended

	// Of the committer alone. A mark enters when its content is on disk, and no
	// sooner: a write that fails takes nothing back.
	groups groups
	marks  map[[16]byte]mark
	sealed bool
	stale  bool // somebody else has written, perhaps a write of ours that was given up
	took   time.Duration
	buf    []byte
}

// groups is where the groups of an inbox rest. One goroutine calls it, but for Each
// and Broken.
type groups interface {
	// End is the point behind the newest group that was read or written.
	End() hashchain.Point
	// Append puts a group with that body on disk behind End. errStale: there are
	// newer ones; ErrFull: nothing was kept; after any other error nobody knows.
	Append(ctx context.Context, body []byte) error
	// Read calls fn for the groups behind End, and moves it.
	Read(ctx context.Context, walk hashchain.Walk, fn func(head, body []byte) error) error
	// Each calls fn for all groups up to the End of now.
	Each(ctx context.Context, skip func(hashchain.Gap) error, fn func(head, body []byte) error) error
	// Mend restores what stands before the groups, and says nothing of them.
	Mend() error

	// Broken is why nothing can be written until it is opened again.
	Broken() error
	Close() error
}

var errStale = errors.New("queue: somebody else has written to the inbox")

// mark says what is under a key: the label, and half of the SHA-256 of the body.
type mark struct {
	label uint32
	half  [16]byte
}

const (
	// maxBehind is how many bytes may wait for the disk.
	maxBehind = 64 << 20

	// shortest is the least that the committer waits for others, as a timer can.
	shortest = 20 * time.Microsecond
)

// Damage is what to do about an inbox or a box in which something is damaged or missing.
type Damage int

const (
	Refuse   Damage = iota // it is ErrDamaged, which says what: the disk may be mended yet
	SetAside               // go on without what is damaged, for good
)

// Inbox opens the inbox of that name, which is letters, digits, - and _, makes it
// if it is not there, and reads who is in it.
func (q *Queue) Inbox(ctx context.Context, name string, d Damage) (*Inbox, error) {
	mustBe(nameForm, name)
	q.opening.Lock()
	defer q.opening.Unlock()
	if in := q.inboxesNow()[name]; in != nil {
		return in, nil
	}
	in := &Inbox{
		q: q, name: name, most: min(ChunkBody, q.MaxBody()) - groupHead - sealing - hashchain.Head, counts: map[uint32]int{}, marks: map[[16]byte]mark{}, target: 1,
		wake: make(chan struct{}, 1), done: make(chan struct{}),
	}
	if err := in.load(ctx, d); err != nil {
		if in.groups != nil {
			in.groups.Close()
		}
		if q.server != nil && errors.Is(err, ErrUnavailable) { // it is in this process, and answered a moment ago
			err = fmt.Errorf("%w: a record of it can neither be read nor written: put the queue's folder back as it was: %w", ErrDamaged, err)
		}
		return nil, fmt.Errorf("inbox %s: %w", name, err)
	}
	q.know(name, in)
	go in.run()
	return in, nil
}

// load reads the checkpoint and the groups.
func (in *Inbox) load(ctx context.Context, d Damage) error {
	q := in.q
	if _, err := q.js.Stream(ctx, boxStream(in.name)); !errors.Is(err, jetstream.ErrStreamNotFound) {
		if err != nil {
			return explain(err)
		}
		return errors.New("queue: it was begun by an earlier version, which this one does not read: let that version end its plan")
	}
	if err := q.finishDrop(ctx, in.name); err != nil {
		return err
	}
	known, revision, err := q.checkpoint(ctx, in.name)
	if err != nil && !(d == SetAside && errors.Is(err, ErrDamaged)) {
		return err
	}
	in.revision = revision
	in.known.Aside, in.known.Key = known.Aside, known.Key
	walk := hashchain.Walk{Known: known.End, Skip: in.accepted()}
	if d == SetAside {
		walk.Skip = asideOf(&in.known)
	}
	if q.server != nil {
		err = q.openLog(in, revision != 0, walk)
	} else {
		err = q.openStream(ctx, in, walk)
	}
	if err != nil {
		return err
	}
	if err := in.known.lose(max(known.Contents, in.known.Contents)); err != nil {
		return err
	}
	in.known.End = in.groups.End()
	if revision == 0 && in.known.End.Number > 0 {
		q.log.Warn("how far an inbox had come was not known: it was read as far as it goes", "inbox", in.name)
	}
	if revision != 0 && known.End == in.known.End && len(known.Aside) == len(in.known.Aside) {
		return nil
	}
	err = in.save(ctx)
	if errors.Is(err, ErrFull) && len(known.Aside) == len(in.known.Aside) {
		err = nil // a full queue must open, to be emptied
	}
	return err
}

// Put keeps a body under a key, with a label to count it by; sum is the SHA-256 of
// the body. The key must be free, whatever the label. Return means on disk.
//
// The same body under the same key and label again is no error but says so: the
// first Put may have been acknowledged to nobody. Any other is ErrTaken.
func (in *Inbox) Put(key [16]byte, label uint32, sum [32]byte, body []byte) (again bool, err error) {
	if most := in.q.MaxContent(); len(body) > most {
		return false, fmt.Errorf("queue: a body of %d bytes: the limit is %d", len(body), most)
	}
	p := &put{key: key, mark: mark{label, [16]byte(sum[:])}, body: body}
	err = in.enqueue(p)
	return p.again, err
}

// enter takes note of what is in a group that was read.
func (in *Inbox) enter(head, body []byte) error {
	before, contents, err := in.secret.open(head, body)
	if err != nil {
		return err
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	if err := in.known.lose(before); err != nil {
		return err
	}
	n := 0
	for c := range contents {
		n++
		if _, twice := in.marks[c.key]; twice && len(in.known.Aside) == 0 {
			return fmt.Errorf("%w: two contents under one key", ErrDamaged)
		} else if !twice {
			in.marks[c.key] = mark{c.label, c.half()}
			in.counts[c.label]++
		}
	}
	in.sealed = n == 0
	in.known.Contents += uint64(n)
	return nil
}

// advance sees to it that the checkpoint follows.
func (in *Inbox) advance() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.known.End = in.groups.End()
	if in.late == nil && !in.closed {
		in.late = time.AfterFunc(checkEvery, func() { in.save(in.q.background) })
	}
}

// Each calls fn for every content, in the order in which it came, and stops at the
// first error. What is put meanwhile may be missed: seal the inbox first. A body
// is fn's until it returns. ErrDamaged: SetAside goes on without what is damaged.
func (in *Inbox) Each(ctx context.Context, fn func(key [16]byte, label uint32, body []byte) error) error {
	seen := map[[16]byte]bool{}
	in.mu.Lock()
	skip, twice := in.accepted(), len(in.known.Aside) > 0
	in.mu.Unlock()
	return in.groups.Each(ctx, skip, func(head, body []byte) error {
		if err := ctx.Err(); err != nil {
			return explain(err)
		}
		_, contents, err := in.secret.open(head, body)
		if err != nil {
			return err
		}
		for c := range contents {
			if twice { // who came again after the first content was set aside, which is there again
				if seen[c.key] {
					continue
				}
				seen[c.key] = true
			}
			if err := fn(c.key, c.label, c.body); err != nil {
				return err
			}
		}
		return nil
	})
}

// Count returns how many contents have that label.
func (in *Inbox) Count(label uint32) int {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.counts[label]
}

// Secret is 32 bytes for a purpose, the same as long as the inbox is there, and
// unknown to everybody when it has been dropped.
func (in *Inbox) Secret(purpose string) []byte { return in.secret.derive(purpose) }

// Seal closes the inbox for good: every later Put is ErrSealed, from whatever
// process. What is in it stays until it is dropped.
func (in *Inbox) Seal(ctx context.Context) error {
	err := in.enqueue(&put{task: func(ctx context.Context) error {
		for {
			if err := in.fresh(ctx); err != nil || in.sealed {
				return err
			}
			err := in.append(ctx, beginGroup(in.buf[:0], in.known.Contents))
			if errors.Is(err, errStale) {
				continue
			}
			if err == nil {
				in.sealed = true
				in.advance()
			}
			return err
		}
	}})
	if err == nil {
		in.save(ctx) // if it can: a full queue must be emptied
	}
	return err
}

// close ends the committer. What waits is ErrUnavailable.
func (in *Inbox) close() {
	in.mu.Lock()
	if in.closed {
		in.mu.Unlock()
		return
	}
	in.closed = true
	late := in.late
	in.poke()
	in.mu.Unlock()
	<-in.done
	if late != nil {
		late.Stop()
		ctx, cancel := context.WithTimeout(in.q.background, time.Second)
		defer cancel()
		in.save(ctx)
	}
	in.saving.Lock()
	in.dead = true // a timer that is late writes no record of what was dropped
	in.saving.Unlock()
	in.groups.Close()
}
