package queue

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Drop deletes a box or an inbox with everything in it, and returns when it is gone
// from the disk: content, order and times of arrival. One that is not there is not
// an error. (That the disk's own controller has overwritten the sectors is beyond
// us: encrypt the disk. The embedded queue's inboxes are encrypted, and their keys
// overwritten.)
func (q *Queue) Drop(ctx context.Context, name string) error {
	mustBe(nameForm, name)
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if err := q.dropInbox(ctx, name); err != nil {
		return err
	}
	return q.dropStream(ctx, boxStream(name))
}

// dropInbox deletes an inbox.
func (q *Queue) dropInbox(ctx context.Context, name string) error {
	q.opening.Lock()
	defer q.opening.Unlock()
	if in := q.inboxesNow()[name]; in != nil {
		in.close()
		q.know(name, nil)
	}
	if q.server == nil {
		if err := q.inboxes.Delete(ctx, checkpointKey(name)); err != nil {
			return err
		}
		return q.dropStream(ctx, inboxStream(name))
	}
	err := os.Rename(q.inboxPath(name, "log"), q.inboxPath(name, "dropped"))
	if errors.Is(err, fs.ErrNotExist) {
		if _, there, err := q.inboxes.Get(ctx, checkpointKey(name)); err != nil || there == 0 {
			return err
		}
		err = os.WriteFile(q.inboxPath(name, "dropped"), nil, 0o600) // the log was lost
	}
	if err != nil {
		return fmt.Errorf("queue: %w", err)
	}
	return q.finishDrop(ctx, name)
}

// dropStream deletes a stream with everything in it.
func (q *Queue) dropStream(ctx context.Context, stream string) error {
	if err := q.js.DeleteStream(ctx, stream); err != nil && !errors.Is(err, jetstream.ErrStreamNotFound) {
		return explain(err)
	}
	if q.streams == "" {
		return nil
	}
	// The server has renamed the folder and removes it in the background, which it may give
	// up; one that it does not know is what a crash left of a box half made or half removed.
	for {
		var fault error
		for _, dir := range []string{stream, ".." + stream, "." + stream} {
			fault = errors.Join(fault, os.RemoveAll(filepath.Join(q.streams, dir)))
		}
		if fault == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("queue: a dropped box is still on disk: %w", errors.Join(ctx.Err(), fault))
		case <-time.After(time.Millisecond):
		}
	}
}

// Boxes lists the boxes and inboxes whose names begin with the prefix.
func (q *Queue) Boxes(ctx context.Context, begin string) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	var names []string
	list := q.js.StreamNames(ctx)
	for name := range list.Name() {
		for _, of := range []string{boxStream(""), inboxStream("")} {
			if name, ok := strings.CutPrefix(name, of); ok && strings.HasPrefix(name, begin) {
				names = append(names, name)
			}
		}
	}
	if err := list.Err(); err != nil {
		return nil, explain(err)
	}
	err := q.eachLog("log", func(name string, _ int64) {
		if strings.HasPrefix(name, begin) {
			names = append(names, name)
		}
	})
	return names, err
}
