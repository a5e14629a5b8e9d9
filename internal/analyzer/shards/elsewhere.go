package shards

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"github.com/confetti-dp/confetti/internal/analyzer/parts"
	"github.com/confetti-dp/confetti/internal/service/analyzerd/rows"
)

// tables waits until tables of all shards of a batch lie beside them, and adds them up. It
// looks at them again when one has come. What it asks the store for each time is as much as
// there are tables, however large the batch.
func (s *Sharing) tables(ctx context.Context, run Plan, mark rows.Batch, attempt string) (parts.Table, error) {
	batch := shardsOf(mark, attempt)
	under := batch + "/" + parts.TablesFolder
	s.Log.Info("a batch is dealt to shards, and is counted when there are tables of all", "parts", batch, "tables", under)
	looked := ""
	for {
		names, err := s.Blobs.List(ctx, under)
		if err != nil {
			return parts.Table{}, err
		}
		if now := strings.Join(names, "\n"); now != looked {
			looked = now
			whole, err := s.addTables(ctx, run, mark, names)
			if err != nil || whole.Shards != nil && len(whole.Lacks()) == 0 {
				return whole, err
			}
		}
		// Whoever deletes the parts asks for the batch again. The first is there of each batch.
		if there, err := s.Blobs.Has(ctx, batch+"/0/0"); err != nil || !there {
			return parts.Table{}, cmp.Or(err, errAgain)
		}
		select {
		case <-ctx.Done():
			return parts.Table{}, ctx.Err()
		case <-time.After(poll):
		}
	}
}

// addTables adds up those that are of a batch, and leaves out others, and those of shards
// that were there before.
func (s *Sharing) addTables(ctx context.Context, run Plan, mark rows.Batch, names []string) (whole parts.Table, err error) {
	for _, name := range names {
		body, err := s.Blobs.Get(ctx, name)
		if err != nil {
			return whole, err
		}
		one, err := parts.ParseTable(body, run.Protocol)
		if err == nil && (int(one.Of.Head.Instance) != mark.Instance || int(one.Of.Head.Crowd) != mark.Crowd) {
			err = errors.New("analyzer: a table is of another batch")
		}
		if err == nil {
			err = whole.Merge(one)
		}
		if err != nil {
			s.Log.Warn("a table is left out", "table", name, "reason", err.Error())
		}
	}
	return whole, nil
}
