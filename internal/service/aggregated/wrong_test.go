package aggregated

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/confetti-dp/confetti/internal/dap"
	"github.com/confetti-dp/confetti/internal/storage/keep"
)

// untagged is a store whose rows have no tags, as those of SQLite have none: what cannot be read is
// as it was but for a bit.
type untagged struct{ keep.Store }

func (u untagged) Open(ctx context.Context, name string) (keep.Shelf, error) {
	shelf, err := u.Store.Open(ctx, name)
	return &untaggedShelf{Shelf: shelf, was: map[string][]byte{}}, err
}

type untaggedShelf struct {
	keep.Shelf
	mu  sync.Mutex
	was map[string][]byte // by table and key
}

// seen is what a row reads as.
func (u *untaggedShelf) seen(t keep.Table, key string, value []byte, there bool, err error) ([]byte, bool, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	name := fmt.Sprint(t, key)
	if was := u.was[name]; errors.Is(err, keep.ErrDamaged) && len(was) > 0 {
		value = bytes.Clone(was)
		value[len(value)-1] ^= 1
		return value, true, nil
	}
	if err == nil && there {
		u.was[name] = bytes.Clone(value)
	}
	return value, there, err
}

func (u *untaggedShelf) Get(ctx context.Context, t keep.Table, key string) ([]byte, bool, error) {
	value, there, err := u.Shelf.Get(ctx, t, key)
	return u.seen(t, key, value, there, err)
}

func (u *untaggedShelf) Update(ctx context.Context, fn func(keep.Tx) error) error {
	return u.Shelf.Update(ctx, func(tx keep.Tx) error { return fn(untaggedTx{tx, u}) })
}

type untaggedTx struct {
	keep.Tx
	of *untaggedShelf
}

// Get reads beside the transaction, which would end with what is damaged.
func (u untaggedTx) Get(t keep.Table, key string) ([]byte, bool, error) {
	value, there, err := u.of.Shelf.Get(context.Background(), t, key)
	return u.of.seen(t, key, value, there, err)
}

func (u untaggedTx) Put(t keep.Table, key string, value []byte) {
	u.of.seen(t, key, value, true, nil)
	u.Tx.Put(t, key, value)
}

// moment is when a bit flips, and of which tables there are rows then.
type moment struct {
	name            string
	bring           func(w *world)
	reports, leader []keep.Table // the leader's, of both shelves
	helper          []keep.Table
}

var moments = []moment{
	{"reports have come", func(*world) {}, []keep.Table{1, 2, 3}, nil, nil},
	{"a job is added", stands["a leader that adds"].bring, []keep.Table{1, 2, 3, 4, 7}, nil, []keep.Table{5, 6, 7, 9}},
	{"all are added", func(w *world) { w.close(); w.unshared() }, []keep.Table{1, 2, 4, 7}, []keep.Table{8, 9}, []keep.Table{5, 6, 7, 9}},
	{"a sum is there", func(w *world) { w.close(); w.finish() }, nil, []keep.Table{8, 9}, []keep.Table{5, 6, 7, 8, 9}},
}

// flipped has a bit of a row of each table of each aggregator flip at each moment, before the
// aggregator ends and starts again or while it goes on, and returns how many times a sum comes out,
// and those in which it is another one.
func flipped(t *testing.T, around func(keep.Store) keep.Store, moments ...moment) (released, refused int, wrong []string) {
	run := func(m moment, role dap.Role, prefix string, table keep.Table, stopped bool) {
		w := makeWorld(t, nil, around)
		w.all(said...)
		m.bring(w)
		w.spoil(role, prefix, table)
		if stopped {
			w.kill(role)
			w.start(role)
		}
		w.close()
		for range enough + 2 {
			w.step()
		}
		name := fmt.Sprintf("%s, aggregator %d, %s%d, stopped %t", m.name, role, prefix, table, stopped)
		status, body, _ := w.collected()
		if status != http.StatusOK {
			refused++
			return
		}
		released++
		c, err := dap.ParseCollected(body)
		if err != nil {
			t.Fatal(name, err)
		}
		if sums, err := w.task().Open(w.analyzer, c); err != nil || !slices.Equal(sums, want) || c.Reports != uint64(len(said)) {
			wrong = append(wrong, fmt.Sprint(name, ": ", sums, err))
		}
	}
	for _, m := range moments {
		for _, stopped := range []bool{false, true} {
			for _, table := range m.reports {
				run(m, dap.Leader, "reports-", table, stopped)
			}
			for _, table := range m.leader {
				run(m, dap.Leader, "plan-", table, stopped)
			}
			for _, table := range m.helper {
				run(m, dap.Helper, "plan-", table, stopped)
			}
		}
	}
	return released, refused, wrong
}

// Whatever row of the pair rots at whatever moment, the sum that leaves is that of what devices said,
// or none does. A pair that reads rows without their tags is caught.
func TestServicesThatPassOverRotAreCaught(t *testing.T) {
	released, refused, wrong := flipped(t, nil, moments...)
	t.Logf("%d sums left, %d did not", released, refused)
	if len(wrong) > 0 || released == 0 || refused == 0 {
		t.Errorf("wrong ones left:\n%s", strings.Join(wrong, "\n"))
	}
	if _, _, wrong := flipped(t, func(s keep.Store) keep.Store { return untagged{s} }, moments[2]); len(wrong) == 0 {
		t.Error("a pair that reads rows without their tags is not caught")
	}
}
