package queue

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/confetti-dp/confetti/internal/storage/atomicfile"
)

// ErrChanged is the error of a Set whose record was changed, or made, by
// somebody else since it was read.
var ErrChanged = errors.New("queue: the record has changed meanwhile")

// Records are small states under keys, each with a revision that a change must
// name. It is safe for concurrent use.
type Records struct {
	q      *Queue
	stream jetstream.Stream
	begin  string

	writing sync.Mutex // held by whoever changes a record of the embedded queue
	reached string     // file that says how far they had come; "" in a cluster
}

// Records opens the records of that name, and makes them if they are not there.
func (q *Queue) Records(ctx context.Context, name string) (*Records, error) {
	mustBe(nameForm, name)
	stream := prefix + "-records-" + name
	s, err := q.stream(ctx, jetstream.StreamConfig{Name: stream, MaxMsgsPerSubject: 1})
	if err != nil {
		return nil, err
	}
	r := &Records{q: q, stream: s, begin: subjects(stream)}
	if q.server != nil {
		r.reached = filepath.Join(filepath.Dir(q.logs), "records."+name)
	}
	return r, r.check(ctx)
}

// reached is how far records had come, in a file of the embedded queue's folder:
// the server passes over what its disk does not give back, and says nothing.
type reached struct {
	Last  uint64 `json:"last"`  // number of the newest record
	Count uint64 `json:"count"` // how many there are at least
}

// check refuses records that have become fewer.
func (r *Records) check(ctx context.Context) error {
	if r.reached == "" {
		return nil
	}
	text, err := os.ReadFile(r.reached)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("queue: %w", err)
	}
	var known reached
	if err == nil && json.Unmarshal(text, &known) != nil {
		known = reached{}
		r.q.log.Warn("how far the queue's records had come was not known: they were read as far as they go", "file", r.reached)
	}
	now, err := r.now(ctx)
	if err != nil {
		return err
	}
	if now.Last < known.Last || now.Count < known.Count {
		return fmt.Errorf("%w: the records %s had come to number %d and %d of them were there; they end with number %d, and %d are there: put the queue's folder back as it was, or end its plans (docs/damaged-disks.md)", ErrDamaged, r.stream.CachedInfo().Config.Name, known.Last, known.Count, now.Last, now.Count)
	}
	// A record whose subject has changed is not found, and one that is not found is made
	// anew: each is read once, and none may be passed over.
	read := uint64(0)
	if err := r.Each(ctx, "", func(string, []byte, uint64) error { read++; return nil }); err != nil {
		return err
	}
	if read != now.Count {
		return r.damaged(fmt.Sprintf("%d of %d records can be read", read, now.Count))
	}
	if known != now {
		r.reach(ctx, 0)
	}
	return nil
}

func (r *Records) now(ctx context.Context) (reached, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	info, err := r.stream.Info(ctx)
	if err != nil {
		return reached{}, explain(err)
	}
	return reached{info.State.LastSeq, info.State.Msgs}, nil
}

// reach writes down how far the records have come, less so many that are going to
// be deleted. If it cannot, the record itself is none the worse.
func (r *Records) reach(ctx context.Context, less uint64) {
	if r.reached == "" {
		return
	}
	now, err := r.now(ctx)
	if err == nil {
		now.Count -= min(less, now.Count)
		var text []byte
		if text, err = json.Marshal(now); err == nil {
			err = atomicfile.Replace(r.reached, text, 0o600)
		}
	}
	if err != nil {
		r.q.log.Warn("how far the queue's records have come cannot be written down", "error", err.Error())
	}
}

// damaged is the error of records of which something is not as it was.
func (r *Records) damaged(what string) error {
	return fmt.Errorf("%w: %s of %s: put the queue's folder back as it was, or end its plans (docs/damaged-disks.md)", ErrDamaged, what, r.stream.CachedInfo().Config.Name)
}

func digestOf(subject string, value []byte) string {
	return fmt.Sprintf("%x", sha256.Sum256(append([]byte(subject+"\n"), value...)))
}

// whole reports whether a record is as it was set. One of an earlier version has no
// digest.
func whole(header nats.Header, subject string, value []byte) bool {
	digest := header.Get(digestHeader)
	return digest == "" && len(header) == 0 || digest == digestOf(subject, value)
}

// Get returns a record and its revision; nil and 0 where there is none.
func (r *Records) Get(ctx context.Context, key string) (value []byte, revision uint64, err error) {
	mustBe(keyForm, key)
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	m, err := r.stream.GetLastMsgForSubject(ctx, r.begin+key)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return nil, 0, nil
	}
	if errors.Is(err, context.DeadlineExceeded) && r.q.server != nil {
		// The server in this process answers, or it cannot read this one.
		if _, fault := r.now(context.WithoutCancel(ctx)); fault == nil {
			return nil, 0, r.damaged("the record " + key + " cannot be read")
		}
	}
	if err != nil {
		return nil, 0, explain(err)
	}
	if !whole(m.Header, m.Subject, m.Data) {
		return nil, 0, r.damaged("the record " + key + " has changed")
	}
	return m.Data, m.Sequence, nil
}

// Set writes a record if its revision still is the given one, 0 for a record
// that is not there, and returns the new one. Return means on disk. Where it is
// what it is to be, as after a Set that was not answered, that is no error.
func (r *Records) Set(ctx context.Context, key string, value []byte, revision uint64) (uint64, error) {
	mustBe(keyForm, key)
	if most := r.q.MaxBody(); len(value) > most {
		return 0, fmt.Errorf("queue: a record of %d bytes: the limit is %d", len(value), most)
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	r.writing.Lock()
	defer r.writing.Unlock()
	subject := r.begin + key
	m := &nats.Msg{Subject: subject, Data: value, Header: nats.Header{digestHeader: {digestOf(subject, value)}}}
	ack, err := r.q.publish(ctx, m, jetstream.WithExpectLastSequencePerSubject(revision))
	if taken(err) {
		there, now, err := r.Get(ctx, key)
		if err == nil && (now == 0 || !bytes.Equal(there, value)) {
			err = ErrChanged
		}
		return now, err
	}
	if err != nil {
		return 0, explain(err)
	}
	r.reach(ctx, 0)
	return ack.Sequence, nil
}

// Delete removes a record; one that is not there is not an error.
func (r *Records) Delete(ctx context.Context, key string) error {
	mustBe(keyForm, key)
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	r.writing.Lock()
	defer r.writing.Unlock()
	r.reach(ctx, 1)
	return explain(r.stream.Purge(ctx, jetstream.WithPurgeSubject(r.begin+key)))
}

// Each calls fn for every record whose key begins with the given parts, all for
// "", in the order of their last change.
func (r *Records) Each(ctx context.Context, begin string, fn func(key string, value []byte, revision uint64) error) error {
	filter := r.begin + ">"
	if begin != "" {
		mustBe(keyForm, begin)
		filter = r.begin + begin + ".>"
	}
	err := each(ctx, r.stream, jetstream.ConsumerConfig{FilterSubject: filter}, 1, func(m jetstream.Msg, sequence uint64) error {
		if !whole(m.Headers(), m.Subject(), m.Data()) {
			return r.damaged(fmt.Sprintf("record number %d has changed", sequence))
		}
		return fn(strings.TrimPrefix(m.Subject(), r.begin), m.Data(), sequence)
	})
	if errors.Is(err, errMissing) {
		err = fmt.Errorf("%w: put the queue's folder back as it was, or end its plans (docs/damaged-disks.md)", err)
	}
	return err
}
