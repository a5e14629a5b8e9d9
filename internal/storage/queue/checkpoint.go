package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/confetti-dp/confetti/internal/storage/hashchain"
)

// checkEvery is how late a checkpoint may be: what is lost at the end of an inbox
// so soon after it was written cannot be told from what a crash has torn.
const checkEvery = time.Second

// checkpoint is what a record says of an inbox: how far it had come, so that one
// that is shorter is found, and what was set aside.
type checkpoint struct {
	End      hashchain.Point `json:"end"`
	Contents uint64          `json:"contents"` // in all groups up to End, those that are lost included
	Aside    []hashchain.Gap `json:"aside,omitempty"`
	Key      []byte          `json:"key,omitempty"` // in a cluster, which has no folder of ours

	lost uint64 // contents that were in groups of Aside
}

// lose takes note that a group says how many contents were before it: more than
// there are where groups were set aside.
func (c *checkpoint) lose(before uint64) error {
	if before < c.Contents || before > c.Contents && len(c.Aside) == 0 {
		return fmt.Errorf("%w: %d contents stand before a group that says %d", ErrDamaged, c.Contents, before)
	}
	c.lost += before - c.Contents
	c.Contents = before
	return nil
}

// covers reports whether a gap was set aside.
func (c *checkpoint) covers(g hashchain.Gap) bool {
	for _, a := range c.Aside {
		if a.From <= g.From && g.To <= a.To {
			return true
		}
	}
	return false
}

// accepted lets a walk pass over what was set aside, and nothing else. The caller
// is the committer, or holds mu.
func (in *Inbox) accepted() func(hashchain.Gap) error {
	known := in.known
	if len(known.Aside) == 0 {
		return nil
	}
	return func(g hashchain.Gap) error {
		if known.covers(g) {
			return nil
		}
		return fmt.Errorf("%w: of the groups %d to %d nothing is left", ErrDamaged, g.From, g.To)
	}
}

// asideOf lets a walk pass over everything, and takes note of it.
func asideOf(c *checkpoint) func(hashchain.Gap) error {
	return func(g hashchain.Gap) error {
		if !c.covers(g) {
			c.Aside = append(c.Aside, g)
		}
		return nil
	}
}

// Aside returns how many contents were lost in damaged groups, and how many gaps there
// are in the chain.
func (in *Inbox) Aside() (contents uint64, gaps int) {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.known.lost, len(in.known.Aside)
}

// SetAside reads the inbox once more and goes on without what is damaged. What was
// set aside stays so, and whose content that was may Put again.
func (in *Inbox) SetAside(ctx context.Context) error {
	err := in.enqueue(&put{task: func(ctx context.Context) error {
		known := in.known
		known.Contents, known.lost, known.Aside = 0, 0, slices.Clone(known.Aside)
		again := &Inbox{q: in.q, secret: in.secret, groups: in.groups, counts: map[uint32]int{}, marks: map[[16]byte]mark{}, known: known, closed: true}
		if err := in.groups.Each(ctx, asideOf(&again.known), again.enter); err != nil {
			return err
		}
		if err := again.known.lose(max(in.known.Contents, again.known.Contents)); err != nil {
			return err
		}
		if err := in.groups.Mend(); err != nil {
			return err
		}
		in.mu.Lock()
		defer in.mu.Unlock()
		in.counts, in.marks, in.known = again.counts, again.marks, again.known
		return nil
	}})
	if err != nil {
		return err
	}
	return in.save(ctx)
}

func checkpointKey(name string) string { return "inbox." + name }

// save writes the checkpoint down.
func (in *Inbox) save(ctx context.Context) error {
	in.saving.Lock()
	defer in.saving.Unlock()
	if in.dead {
		return nil
	}
	in.mu.Lock()
	in.late = nil
	now := in.known
	now.Aside = slices.Clone(now.Aside)
	in.mu.Unlock()
	for {
		value, err := json.Marshal(now)
		if err != nil {
			panic("queue: " + err.Error()) // numbers and bytes always encode
		}
		revision, err := in.q.inboxes.Set(ctx, checkpointKey(in.name), value, in.revision)
		if err == nil {
			in.revision = revision
			return nil
		}
		if !errors.Is(err, ErrChanged) {
			in.q.log.Warn("how far an inbox has come cannot be written down", "inbox", in.name, "error", err.Error())
			return err
		}
		// Another process on the cluster has written one.
		there, revision, err := in.q.checkpoint(ctx, in.name)
		if err != nil {
			return err
		}
		if there.End.Number > now.End.Number {
			now.End, now.Contents = there.End, there.Contents
		}
		for _, g := range there.Aside {
			asideOf(&now)(g)
		}
		now.Key = there.Key
		in.revision = revision
	}
}

// checkpoint reads the record of an inbox; revision 0: there is none.
func (q *Queue) checkpoint(ctx context.Context, name string) (c checkpoint, revision uint64, err error) {
	value, revision, err := q.inboxes.Get(ctx, checkpointKey(name))
	if err != nil || revision == 0 {
		return c, 0, err
	}
	if err := json.Unmarshal(value, &c); err != nil {
		return c, 0, fmt.Errorf("%w: the record of how far the inbox %s had come", ErrDamaged, name)
	}
	return c, revision, nil
}
