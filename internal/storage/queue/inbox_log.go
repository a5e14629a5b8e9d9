package queue

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/confetti-dp/confetti/internal/storage/atomicfile"
	"github.com/confetti-dp/confetti/internal/storage/hashchain"
)

// logGroups are the groups of an inbox of the embedded queue, in files of the
// folder inboxes:
//
//	NAME.log      a package chain's log
//	NAME.key      what it is encrypted under
//	NAME.dropped  a log that is being deleted
type logGroups struct{ *hashchain.Log }

func (g logGroups) Append(_ context.Context, body []byte) error {
	switch err := g.Log.Append(body); {
	case errors.Is(err, hashchain.ErrFull):
		return ErrFull
	case err != nil:
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return nil
}

// Read has nothing to read: nobody else writes.
func (g logGroups) Read(context.Context, hashchain.Walk, func(head, body []byte) error) error {
	return nil
}

func (g logGroups) Each(_ context.Context, skip func(hashchain.Gap) error, fn func(head, body []byte) error) error {
	return damaged(g.Log.Each(hashchain.Walk{Skip: skip}, fn))
}

// Mend writes the title again: what stands behind it tells by itself whether it was
// written under the key.
func (g logGroups) Mend() error { return damaged(g.Retitle()) }

// damaged turns what package chain finds into the error of this package.
func damaged(err error) error {
	if errors.Is(err, hashchain.ErrDamaged) || errors.Is(err, hashchain.ErrShort) {
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return err
}

// inboxTitle begins the title of every inbox's chain.
const inboxTitle = "confetti-inbox/v1 "

func (q *Queue) inboxPath(name, kind string) string { return filepath.Join(q.logs, name+"."+kind) }

// openLog opens the log of an inbox, and makes it where the record says that none
// has been made.
func (q *Queue) openLog(in *Inbox, made bool, walk hashchain.Walk) error {
	log, key := q.inboxPath(in.name, "log"), q.inboxPath(in.name, "key")
	text, noKey := os.ReadFile(key)
	if noKey == nil {
		var bytes []byte
		if bytes, noKey = parseKey(text); noKey == nil {
			in.secret = newSecret(bytes)
		}
	}
	_, noLog := os.Stat(log)
	if noKey != nil {
		switch {
		case errors.Is(noKey, fs.ErrNotExist) && errors.Is(noLog, fs.ErrNotExist) && !made, walk.Skip != nil:
			bytes := drawKey()
			in.secret = newSecret(bytes)
			// What was written under a key that is lost is lost.
			if err := remove(log); err != nil {
				return err
			}
			if err := atomicfile.Replace(key, marshalKey(bytes), 0o600); err != nil {
				return fmt.Errorf("queue: %w", err)
			}
			noLog = fs.ErrNotExist
		case errors.Is(noKey, fs.ErrNotExist):
			return fmt.Errorf("%w: %s is missing, without which nothing in the inbox can be read", ErrDamaged, key)
		default:
			return fmt.Errorf("queue: %s: %w", key, noKey)
		}
	}
	title := fmt.Sprintf("%s%s %x", inboxTitle, in.name, in.secret.derive("title")[:8])
	if errors.Is(noLog, fs.ErrNotExist) {
		if made && walk.Skip == nil {
			return fmt.Errorf("%w: %s is missing", ErrDamaged, log)
		}
		if err := hashchain.Create(log, title); err != nil {
			return fmt.Errorf("queue: %w", err)
		}
	}
	l, err := hashchain.Open(log, title, q.MaxBody()-hashchain.Head, walk, in.enter)
	if err != nil {
		return fmt.Errorf("queue: %w", damaged(err))
	}
	if n := l.Torn(); n > 0 {
		q.log.Warn("an inbox ended in a piece of a write that nobody was answered for: it was cut off", "file", log, "bytes", n)
	}
	in.groups = logGroups{l}
	if walk.Skip != nil {
		return in.groups.Mend()
	}
	return nil
}

// finishDrop deletes an inbox whose log has been renamed to be dropped, and does
// nothing about any other. A crash between any two steps leaves what the next call
// finishes. When the key is gone nothing can be read any more.
func (q *Queue) finishDrop(ctx context.Context, name string) error {
	if _, err := os.Lstat(q.inboxPath(name, "dropped")); q.server == nil || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err := atomicfile.SyncFolder(q.logs); err != nil {
		return fmt.Errorf("queue: %w", err)
	}
	if err := destroy(q.inboxPath(name, "key")); err != nil {
		return err
	}
	if err := q.inboxes.Delete(ctx, checkpointKey(name)); err != nil {
		return err
	}
	if err := remove(q.inboxPath(name, "dropped")); err != nil {
		return err
	}
	if err := atomicfile.SyncFolder(q.logs); err != nil {
		return fmt.Errorf("queue: %w", err)
	}
	return nil
}

// destroy overwrites a small file and removes it.
func destroy(path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("queue: %w", err)
	}
	status, err := f.Stat()
	if err == nil {
		_, err = f.WriteAt(make([]byte, status.Size()), 0)
	}
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("queue: %w", err)
	}
	return remove(path)
}

func remove(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("queue: %w", err)
	}
	return nil
}

// eachLog calls fn for the files of the folder of inboxes that have such an ending.
func (q *Queue) eachLog(kind string, fn func(name string, size int64)) error {
	if q.logs == "" {
		return nil
	}
	entries, err := os.ReadDir(q.logs)
	if err != nil {
		return fmt.Errorf("queue: %w", err)
	}
	for _, e := range entries {
		name, found := strings.CutSuffix(e.Name(), "."+kind)
		if info, err := e.Info(); found && err == nil { // it may just go away
			fn(name, info.Size())
		}
	}
	return nil
}
