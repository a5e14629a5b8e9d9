package chaos

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/confetti-dp/confetti/internal/analyzer/parts"
	"github.com/confetti-dp/confetti/internal/service/analyzerd/rows"
	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/service/shelves"
	"github.com/confetti-dp/confetti/internal/service/shufflerd"
	hoprows "github.com/confetti-dp/confetti/internal/service/shufflerd/rows"
	"github.com/confetti-dp/confetti/internal/shuffler/mixer"
	"github.com/confetti-dp/confetti/internal/storage/keep"
	"github.com/confetti-dp/confetti/internal/storage/keep/postgres"
	"github.com/confetti-dp/confetti/party/analyzer"
	"github.com/confetti-dp/confetti/party/shuffler"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
)

// Twins of a fleet's workers, each with one bug of those that a system of this kind has.

// ownOrder takes steps like a worker, but orders each part under a key that it draws for the
// attempt, as the shuffles of data engines do. What it writes is sealed as it should be. Behind each part it comes to
// the point "scattered".
func (o order) ownOrder(ctx context.Context, options shufflerd.Options, f *fates) error {
	marks, err := hoprows.Open(ctx, options.Store, false)
	if err != nil {
		return err
	}
	steps, err := shelves.OpenSteps(ctx, marks, options.StepLease)
	if err != nil {
		return err
	}
	for {
		taken, there, err := steps.Take(ctx, time.Second)
		if err != nil || !there {
			continue
		}
		taken.Do(ctx, func(ctx context.Context) error {
			var t struct {
				Plan  []byte
				Under string
				Step  mixer.Step
			}
			if err := json.Unmarshal(taken.Body, &t); err != nil {
				return err
			}
			post, rest, _ := strings.Cut(t.Under, "/")
			crowd, _, _ := strings.Cut(rest, "/")
			value, there, err := marks.Get(ctx, hoprows.Crowds, post+"/"+crowd)
			if err != nil || !there {
				return err
			}
			laid, err := laidOf(ctx, marks, value)
			if err != nil || laid == nil {
				return err
			}
			text, _, err := marks.Get(ctx, hoprows.Plans, fmt.Sprintf("%x", t.Plan))
			if err != nil {
				return err
			}
			signed, err := plan.ParseSigned(text)
			if err != nil {
				return err
			}
			keys, err := serve.OpeningKeys(options.Keys)
			if err != nil {
				return err
			}
			hop, err := shuffler.NewHop(signed.Plan, 0, 0, keys[signed.Plan.Route.Instances()[0].Hops[0].Key])
			if err != nil {
				return err
			}
			if t.Step.Gather {
				return laid.Do(ctx, hop, options.Blobs, t.Step)
			}
			err = scatterAnew(ctx, *laid, hop, options, t.Step.Number)
			if err == nil {
				f.come("scattered", false)
			}
			return err
		})
	}
}

func scatterAnew(ctx context.Context, c mixer.Crowd, hop *shuffler.Hop, o shufflerd.Options, i int) error {
	at := fmt.Sprintf("%s/part/%d", c.Under, i)
	part, err := o.Blobs.Get(ctx, at)
	if err == nil {
		part, err = c.Key.Open(at, part)
	}
	if err != nil {
		return err
	}
	var contributions [][]byte // of the entry, which this hop is
	for ; len(part) >= c.Body; part = part[c.Body:] {
		contributions = append(contributions, part[:c.Body])
	}
	drawn := shuffler.NewKey()
	did, err := hop.Scatter(drawn, c.Crowd, contributions, c.Buckets)
	if err != nil {
		return err
	}
	for j, f := range did.Dealt {
		name := fmt.Sprintf("fragment for bucket %d of %d of crowd %d", j, c.Buckets, c.Crowd)
		body, err := drawn.Open(name, f)
		if err == nil {
			err = o.Blobs.Put(ctx, fmt.Sprintf("%s/fragment/%d/%d", c.Under, i, j), c.Key.Seal(name, body))
		}
		if err != nil {
			return err
		}
	}
	done := fmt.Sprintf("%s/scattered/%d/done", c.Under, i)
	return o.Blobs.Put(ctx, done, c.Key.Seal(done, binary.BigEndian.AppendUint64(nil, uint64(did.Dropped))))
}

// forgetLaid is what a hop does when it starts that mixes a crowd anew, from what its devices
// sent, where it finds one half mixed.
func (s setting) forgetLaid() error {
	ctx := context.Background()
	shelves, err := s.shelves("") // in a database
	if err != nil {
		return err
	}
	defer shelves.Close()
	marks, err := hoprows.Open(ctx, shelves, false)
	if err != nil {
		return err
	}
	return marks.Each(ctx, hoprows.Crowds, "", func(key string, value []byte) error {
		if !strings.Contains(string(value), `"phase":"mixing"`) {
			return nil
		}
		return marks.Set(ctx, hoprows.Crowds, key, []byte(`{"phase":""}`), value)
	})
}

// twoTransactions counts like a worker, but a shard's mark and its tally are two transactions:
// "mark first" writes the mark, and then the tally; "tally first" adds the tally to a row of its
// own, and then writes the mark. Between them it comes to the point "between", if the shard has
// messages that count: of others nothing shows what became of them.
func (o order) twoTransactions(ctx context.Context, db *rows.Store, s setting, f *fates) error {
	if o.Station.Twin == "idle" {
		<-ctx.Done()
		return nil
	}
	raw, err := postgres.Open(ctx, postgres.Config{URL: o.Station.Database, Plain: true})
	if err != nil {
		return err
	}
	var own *rows.Shard // the first that it has counted
	var sum rows.ShardCount
	for {
		sh, there, err := db.Lease(ctx, time.Now(), fleetLease)
		if err != nil || !there {
			time.Sleep(20 * time.Millisecond)
			continue
		}
		one, empty, proto, err := o.countAlone(ctx, db, s, sh)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			continue
		}
		mark := one
		mark.Tally = empty
		between := func() {
			if !bytes.Equal(one.Tally, empty) {
				f.come("between", false)
			}
		}
		switch {
		case o.Station.Twin == "mark first":
			_, err = db.CountShard(ctx, sh, mark)
			between()
			if err == nil {
				err = rewrite(ctx, raw, sh, one)
			}
		case own == nil || own.SHA256 != sh.SHA256:
			_, err = db.CountShard(ctx, sh, one)
			own, sum = &sh, one
		default:
			a, b := proto.NewTally(), proto.NewTally()
			if err = errors.Join(a.UnmarshalBinary(sum.Tally), b.UnmarshalBinary(one.Tally), a.Merge(b)); err == nil {
				sum.Tally, err = a.MarshalBinary()
			}
			if err == nil {
				err = rewrite(ctx, raw, *own, sum)
			}
			between()
			if err == nil {
				_, err = db.CountShard(ctx, sh, mark)
			}
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}
}

// countAlone is what is in a shard, and a tally of nothing.
func (o order) countAlone(ctx context.Context, db *rows.Store, s setting, sh rows.Shard) (c rows.ShardCount, empty []byte, p *protocol.Protocol, err error) {
	text, err := db.Signed(ctx, sh.Plan)
	if err != nil {
		return c, nil, nil, err
	}
	signed, err := plan.ParseSigned(text)
	if err != nil {
		return c, nil, nil, err
	}
	if p, err = protocol.New(signed.Plan); err != nil {
		return c, nil, nil, err
	}
	keys, err := serve.OpeningKeys(s.ring.keys("analyzer"))
	if err != nil {
		return c, nil, nil, err
	}
	counter, err := analyzer.NewCounter(p, keys[signed.Plan.Analyzer.Key])
	if err != nil {
		return c, nil, nil, err
	}
	names, err := s.blobs.List(ctx, fmt.Sprintf("%s/%d_%d/%x_%s/%d", sh.Plan, sh.Instance, sh.Crowd, sh.SHA256[:8], sh.Attempt, sh.Shard))
	if err != nil {
		return c, nil, nil, err
	}
	found, err := parts.Shards(names)
	if err != nil || len(found) != 1 {
		return c, nil, nil, errors.Join(err, fmt.Errorf("%d shards", len(found)))
	}
	table, err := found[0].Count(ctx, counter, s.blobs)
	if err != nil {
		return c, nil, nil, err
	}
	c = rows.ShardCount{Opened: table.Counted.Opened, Dropped: table.Counted.Dropped}
	c.Tally, err = table.Counted.Tally.MarshalBinary()
	empty, failed := p.NewTally().MarshalBinary()
	return c, empty, p, errors.Join(err, failed)
}

// rewrite gives a shard's row another tally, as the row is written.
func rewrite(ctx context.Context, db keep.Store, sh rows.Shard, c rows.ShardCount) error {
	shelf, err := db.Open(ctx, "plan-"+sh.Plan)
	if err != nil {
		return err
	}
	return shelf.Update(ctx, func(tx keep.Tx) error {
		const shards, counts keep.Table = 3, 4
		at := fmt.Sprintf("%010d/%010d/%010d", sh.Crowd, sh.Instance, sh.Shard)
		text, there, err := tx.Get(shards, at)
		if err != nil || !there {
			return err
		}
		row := map[string]any{}
		if err := json.Unmarshal(text, &row); err != nil {
			return err
		}
		row["opened"], row["dropped"] = c.Opened, c.Dropped
		digest := fmt.Sprintf("%x", sha256.Sum256(c.Tally))
		row["tally"] = map[string]any{"length": len(c.Tally), "sha256": digest}
		if text, err = json.Marshal(row); err != nil {
			return err
		}
		tx.Put(shards, at, text)
		tx.Put(counts, fmt.Sprintf("%s/%s/%s/%010d", at, sh.Attempt, digest, 0), c.Tally)
		return nil
	})
}
