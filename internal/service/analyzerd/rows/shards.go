package rows

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/confetti-dp/confetti/internal/service/shelves"
	"github.com/confetti-dp/confetti/internal/storage/keep"
)

// A batch that is larger than memory is counted in shards, by any number of processes. The row
// of a shard is a lease until it is counted, and then says what was counted, once. When all are
// there, Count adds what they are together and deletes them. No backup has them: the hop sends
// such a batch again.

// Shard is one that is to be counted.
type Shard struct {
	Plan            string
	Instance, Crowd int
	Shard, Shards   int
	SHA256          [sha256.Size]byte // of the batch
	Attempt         string            // in whose name the shard was dealt
}

func (sh Shard) at() string { return place(sh.Crowd, sh.Instance, sh.Shard) }

// counts returns where a tally of a shard is: what a late worker counts otherwise lies elsewhere.
func (sh Shard) counts(tally body) string { return sh.at() + "/" + sh.Attempt + "/" + tally.SHA256 }

// ShardCount is what was counted of a shard.
type ShardCount struct {
	Opened, Dropped int
	Tally           []byte
}

// shardRow is a shard as it is written.
type shardRow struct {
	Shards  int       `json:"shards"`
	SHA256  string    `json:"sha256"`
	Attempt string    `json:"attempt"`
	Leased  time.Time `json:"leased"`
	Counted bool      `json:"counted,omitempty"`
	Opened  int       `json:"opened,omitempty"`
	Dropped int       `json:"dropped,omitempty"`
	Tally   body      `json:"tally,omitzero"`
}

// shard returns what a row says, which stands at a key.
func (r shardRow) shard(plan, key string) (sh Shard, err error) {
	sh = Shard{Plan: plan, Shards: r.Shards, Attempt: r.Attempt}
	if _, err = fmt.Sscanf(key, "%d/%d/%d", &sh.Crowd, &sh.Instance, &sh.Shard); err == nil {
		sh.SHA256, err = digestOf(r.SHA256)
	}
	if err != nil {
		err = fmt.Errorf("%w: the row of a shard is none", keep.ErrDamaged)
	}
	return sh, err
}

// eachRow is how a shelf, and an Update, goes through the rows of a table.
type eachRow func(t keep.Table, prefix string, fn func(key string, value []byte) error) error

func eachOf(ctx context.Context, shelf keep.Shelf) eachRow {
	return func(t keep.Table, prefix string, fn func(string, []byte) error) error {
		return shelf.Each(ctx, t, prefix, fn)
	}
}

// shards calls fn for the shards whose keys begin with the prefix.
func (each eachRow) shards(plan, prefix string, fn func(Shard, shardRow) error) error {
	return each(shardsTable, prefix, func(key string, text []byte) error {
		var r shardRow
		if err := shelves.Unmarshal(shardsTable, text, &r); err != nil {
			return err
		}
		sh, err := r.shard(plan, key)
		if err == nil {
			err = fn(sh, r)
		}
		return err
	})
}

// Share has the shards that an attempt has dealt of a batch counted by whoever asks, and lets
// nobody deal it again meanwhile. The same again is no error; one of another batch of the instance
// and crowd is ErrTaken, and where another attempt stands it is ErrUnderWay.
func (s *Store) Share(ctx context.Context, b Batch, name string, shards int) error {
	shelf, err := s.made(ctx, b.Plan)
	if err != nil {
		return over(err)
	}
	return over(shelf.Update(ctx, func(tx keep.Tx) error {
		if tx.Sealed() {
			return errOver
		}
		if err := hold(tx, b, name, forGood); err != nil {
			return err
		}
		if _, err := shared(tx.Each, b); err != nil {
			return err
		}
		for i := range shards {
			sh := Shard{Instance: b.Instance, Crowd: b.Crowd, Shard: i}
			if _, there, err := tx.Get(shardsTable, sh.at()); err != nil || there {
				if err != nil {
					return err
				}
				continue
			}
			r := shardRow{Shards: shards, SHA256: hex.EncodeToString(b.SHA256[:]), Attempt: name, Leased: time.Now().UTC()}
			if err := put(tx, shardsTable, sh.at(), r); err != nil {
				return err
			}
		}
		return nil
	}))
}

// over says of a shelf that is dropped what its plan's batches are told.
func over(err error) error {
	if errors.Is(err, errGone) || errors.Is(err, keep.ErrDropped) {
		return errOver
	}
	return err
}

// Shared is a batch whose shards are there to count; the zero value: they are not.
type Shared struct {
	Attempt      string // in whose name they were dealt
	All, Counted int
}

// shared reads how many shards a batch has, and how many of them are counted.
func shared(each eachRow, b Batch) (all Shared, err error) {
	err = each.shards(b.Plan, b.at()+"/", func(sh Shard, r shardRow) error {
		if sh.SHA256 != b.SHA256 {
			return fmt.Errorf("%w: another batch of instance %d and crowd %d is being counted", ErrTaken, b.Instance+1, b.Crowd+1)
		}
		all.All, all.Attempt = r.Shards, r.Attempt
		if r.Counted {
			all.Counted++
		}
		return nil
	})
	return all, err
}

// Shared reads how far a batch is counted.
func (s *Store) Shared(ctx context.Context, b Batch) (all Shared, err error) {
	err = s.on(ctx, b.Plan, func(shelf keep.Shelf) error {
		all, err = shared(eachOf(ctx, shelf), b)
		return err
	})
	return all, err
}

// open calls fn for the shelf of each plan that takes batches.
func (s *Store) open(ctx context.Context, fn func(plan string, shelf keep.Shelf) error) error {
	plans, err := s.Plans(ctx)
	for _, p := range plans {
		if err == nil && p.Closed.IsZero() && !p.Withdrawn {
			err = s.on(ctx, p.Name, func(shelf keep.Shelf) error { return fn(p.Name, shelf) })
		}
	}
	return err
}

// Backlog returns how many shards, of any batch, wait for somebody, how many somebody has leased,
// and since when the one could be taken that waits longest; the zero time: none waits.
func (s *Store) Backlog(ctx context.Context) (ready, leased int, oldest time.Time, err error) {
	now := time.Now()
	err = s.open(ctx, func(plan string, shelf keep.Shelf) error {
		return eachOf(ctx, shelf).shards(plan, "", func(_ Shard, r shardRow) error {
			switch {
			case r.Counted:
			case r.Leased.After(now):
				leased++
			default:
				ready++
				if oldest.IsZero() || r.Leased.Before(oldest) {
					oldest = r.Leased
				}
			}
			return nil
		})
	})
	return ready, leased, oldest, err
}

// errFound ends a reading.
var errFound = errors.New("analyzer: found")

// Lease takes a shard that nobody counts, of any batch, for some time; false: there is
// none. Times are the caller's clock: where clocks differ by more than a lease, a shard is
// counted twice, and one of the two counts.
func (s *Store) Lease(ctx context.Context, now time.Time, lease time.Duration) (sh Shard, there bool, err error) {
	err = s.open(ctx, func(plan string, shelf keep.Shelf) error {
		free := func(each eachRow, found func(Shard, shardRow) error) error {
			return each.shards(plan, "", func(sh Shard, r shardRow) error {
				if r.Counted || r.Leased.After(now) {
					return nil
				}
				return found(sh, r)
			})
		}
		// Who finds none writes nothing.
		if err := free(eachOf(ctx, shelf), func(Shard, shardRow) error { return errFound }); !errors.Is(err, errFound) {
			return err
		}
		err := shelf.Update(ctx, func(tx keep.Tx) error {
			there = false
			var row shardRow
			err := free(tx.Each, func(found Shard, r shardRow) error {
				sh, row, there = found, r, true
				return errFound
			})
			if !errors.Is(err, errFound) {
				return err
			}
			row.Leased = now.Add(lease).UTC()
			return put(tx, shardsTable, sh.at(), row)
		})
		if err == nil && there {
			err = errFound
		}
		return err
	})
	if errors.Is(err, errFound) {
		return sh, true, nil
	}
	return Shard{}, false, err
}

// CountShard writes what was counted of a shard, once: false where somebody was the first,
// or the attempt that dealt it does not stand any more.
func (s *Store) CountShard(ctx context.Context, sh Shard, c ShardCount) (fresh bool, err error) {
	err = s.on(ctx, sh.Plan, func(shelf keep.Shelf) error {
		tally := bodyOf(c.Tally)
		return s.writeParts(ctx, shelf, "shard", []content{{countsTable, sh.counts(tally), c.Tally}}, func(tx keep.Tx) (bool, error) {
			fresh = false
			var r shardRow
			there, err := getter(tx.Get).read(shardsTable, sh.at(), &r)
			if err != nil || !there || r.Counted || r.Attempt != sh.Attempt || r.Shards != sh.Shards || r.SHA256 != hex.EncodeToString(sh.SHA256[:]) {
				return false, err
			}
			r.Counted, r.Opened, r.Dropped, r.Tally = true, c.Opened, c.Dropped, tally
			fresh = true
			return true, put(tx, shardsTable, sh.at(), r)
		})
	})
	return fresh && err == nil, err
}

// ShardCounts gives what was counted of each shard that an attempt dealt, in their order.
func (s *Store) ShardCounts(ctx context.Context, b Batch, name string, fn func(ShardCount) error) error {
	return s.on(ctx, b.Plan, func(shelf keep.Shelf) error {
		return eachOf(ctx, shelf).shards(b.Plan, b.at()+"/", func(sh Shard, r shardRow) error {
			if !r.Counted || r.Attempt != name {
				return nil
			}
			tally, err := readParts(of(ctx, shelf), countsTable, sh.counts(r.Tally), r.Tally)
			if err != nil {
				return err
			}
			return fn(ShardCount{r.Opened, r.Dropped, tally})
		})
	})
}

// Unshare forgets an attempt at a batch, and the shards that it dealt: the batch is counted, or
// refused, or must be sent again. It reports whether the attempt stood.
func (s *Store) Unshare(ctx context.Context, b Batch, name string) (stood bool, err error) {
	err = s.on(ctx, b.Plan, func(shelf keep.Shelf) error {
		return shelf.Update(ctx, func(tx keep.Tx) error {
			stood = false
			digest := hex.EncodeToString(b.SHA256[:])
			err := eachRow(tx.Each).shards(b.Plan, b.at()+"/", func(sh Shard, r shardRow) error {
				if r.Attempt == name && r.SHA256 == digest {
					stood = true
					forget(tx, sh, r)
				}
				return nil
			})
			if err != nil {
				return err
			}
			var a attempt
			there, err := getter(tx.Get).read(attemptsTable, b.itself(), &a)
			if err == nil && there && a.Attempt == name {
				stood = true
				tx.Delete(attemptsTable, b.itself())
			}
			return err
		})
	})
	return stood, err
}

// forget deletes a shard and its tally.
func forget(tx keep.Tx, sh Shard, r shardRow) {
	tx.Delete(shardsTable, sh.at())
	for n := range (r.Tally.Length + partLength - 1) / partLength {
		tx.Delete(countsTable, partKey(sh.counts(r.Tally), n))
	}
}

// Unfinished names the plans that take no batches any more and have shards still.
func (s *Store) Unfinished(ctx context.Context) (names []string, err error) {
	plans, err := s.Plans(ctx)
	for _, p := range plans {
		if err != nil || p.Closed.IsZero() {
			continue
		}
		err = s.on(ctx, p.Name, func(shelf keep.Shelf) error {
			for _, t := range []keep.Table{shardsTable, attemptsTable} {
				err := shelf.Each(ctx, t, "", func(string, []byte) error { return errFound })
				if errors.Is(err, errFound) {
					names = append(names, p.Name)
					return nil
				}
				if err != nil {
					return err
				}
			}
			return nil
		})
	}
	return names, err
}

// Finish forgets the shards of a plan, what was counted of them, and attempts at others.
func (s *Store) Finish(ctx context.Context, plan string) error {
	return s.on(ctx, plan, func(shelf keep.Shelf) error {
		return shelf.Update(ctx, func(tx keep.Tx) error {
			err := eachRow(tx.Each).shards(plan, "", func(sh Shard, r shardRow) error {
				forget(tx, sh, r)
				return nil
			})
			if err != nil {
				return err
			}
			return tx.Each(attemptsTable, "", func(key string, _ []byte) error { tx.Delete(attemptsTable, key); return nil })
		})
	})
}
