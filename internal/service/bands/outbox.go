package bands

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"path/filepath"
	"slices"
	"time"

	"github.com/confetti-dp/confetti/internal/keyfile/keytext"
	"github.com/confetti-dp/confetti/internal/release/trend"
	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/storage/atomicfile"
	"github.com/confetti-dp/confetti/internal/strictjson"
	"github.com/confetti-dp/confetti/internal/wire/relay"
)

// fileName is what an Outbox keeps in its folder.
const fileName = "bands.json"

// Bounds of what is tried: a message waits a minute, then twice as long each time, some three days in all.
const (
	firstWait = time.Minute
	mostTries = 12
	patience  = 10 * time.Second // with a receiver
	mostKept  = 2000             // marks, of which the oldest that are done go first
	mostHeard = 64 << 10         // bytes of an answer
)

// kept is a message with how it fared. It stays as the mark that its round was told.
type kept struct {
	ID    string    `json:"id"`
	Plan  string    `json:"plan"`
	Body  []byte    `json:"body,omitempty"` // the bytes that are sent each time; none once it is done
	Tries int       `json:"tries,omitempty"`
	Next  time.Time `json:"next,omitzero"`
	Done  string    `json:"done,omitempty"` // how it ended
}

// Outbox sends what bands have to tell. It is for one goroutine.
type Outbox struct {
	config config
	key    relay.SignKey
	path   string
	client *http.Client
	log    *slog.Logger
	now    func() time.Time
	all    []kept
}

// Open takes up what a folder keeps, which exists and is this process' alone.
func Open(file, folder string, log *slog.Logger, now func() time.Time) (*Outbox, error) {
	c, key, err := read(file)
	if err != nil {
		return nil, err
	}
	o := &Outbox{config: c, key: key, path: filepath.Join(folder, fileName), log: log, now: now}
	if o.client, err = serve.Client(c.Roots); err != nil { // which follows nobody elsewhere
		return nil, fmt.Errorf("%s: roots: %w", file, err)
	}
	o.client.Timeout = patience
	text, err := atomicfile.Read(o.path)
	if errors.Is(err, fs.ErrNotExist) {
		return o, nil
	}
	if err == nil {
		err = strictjson.JSON(text, &o.all)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w: restore it, or remove it, and what was told of the newest rounds is told again", o.path, err)
	}
	return o, nil
}

// Titles returns the titles of the studies that bands are of.
func (o *Outbox) Titles() (all []string) {
	for _, b := range o.config.Bands {
		if !slices.Contains(all, b.Title) {
			all = append(all, b.Title)
		}
	}
	return all
}

// Step keeps what the newest rounds have to tell, on the disk before anything is sent, and sends what is due. What is of a
// release that stands no longer is not sent.
func (o *Outbox) Step(ctx context.Context, newest []trend.Told, stands func(plan string) bool) error {
	fresh := false
	for _, of := range newest {
		for _, b := range o.config.Bands {
			if b.Title != of.Title {
				continue
			}
			m, left := b.judge(of, o.now())
			if !left || slices.ContainsFunc(o.all, func(k kept) bool { return k.ID == m.ID }) {
				continue
			}
			body, err := json.Marshal(m)
			if err != nil {
				return err
			}
			o.all, fresh = append(o.all, kept{ID: m.ID, Plan: m.Plan, Body: body, Next: o.now()}), true
		}
	}
	if fresh {
		o.prune()
		if err := o.save(); err != nil {
			return err
		}
	}
	for i := range o.all {
		k := &o.all[i]
		if k.Done != "" || k.Next.After(o.now()) || ctx.Err() != nil {
			continue
		}
		if !stands(k.Plan) {
			k.finish("its release stands no longer")
		} else if err := o.send(ctx, k.Body); err == nil {
			k.finish("told")
		} else if k.Tries++; k.Tries >= mostTries {
			o.log.Error("a receiver was not told, and is asked no more", "message", k.ID, "tries", k.Tries, "error", err)
			k.finish("given up")
		} else {
			k.Next = o.now().Add(firstWait << (k.Tries - 1))
			o.log.Warn("a receiver was not told yet", "message", k.ID, "tries", k.Tries, "next", k.Next.UTC().Format(time.RFC3339), "error", err)
		}
		if err := o.save(); err != nil {
			return err
		}
	}
	return nil
}

func (k *kept) finish(how string) { k.Body, k.Next, k.Done = nil, time.Time{}, how }

// prune forgets the oldest marks that are done, where there are too many.
func (o *Outbox) prune() {
	for i := 0; len(o.all) > mostKept && i < len(o.all); {
		if o.all[i].Done == "" {
			i++
			continue
		}
		o.all = slices.Delete(o.all, i, i+1)
	}
}

func (o *Outbox) save() error {
	text, err := json.Marshal(o.all)
	if err != nil {
		return err
	}
	return atomicfile.Replace(o.path, text, 0o600)
}

// send posts a body with its signature. An answer that is no success is a failure, a redirection too.
func (o *Outbox) send(ctx context.Context, body []byte) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, o.config.URL, bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set(signatureHeader, keytext.Encode(relay.SignSuite, o.key.Sign(append([]byte(domain), body...))))
	res, err := o.client.Do(r)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if _, err := io.Copy(io.Discard, io.LimitReader(res.Body, mostHeard)); err != nil {
		return err
	}
	if res.StatusCode < 200 || res.StatusCode > 299 {
		return fmt.Errorf("the receiver answers %d: 200 to 299 means that it has the message", res.StatusCode)
	}
	return nil
}
