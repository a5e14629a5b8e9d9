package rows

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/confetti-dp/confetti/internal/storage/hashchain"
	"github.com/confetti-dp/confetti/internal/storage/keep"
)

// ImportLedger begins the ledger of an empty store with what a backup of an earlier version says
// was spent, and returns how many entries that are. The backup's own chain has to be whole. Its
// plans do not come: they are charged, and not here.
func ImportLedger(ctx context.Context, c Config, path string) (int, error) {
	spent, err := earlierLedger(path)
	if err != nil {
		return 0, err
	}
	return len(spent), fill(ctx, c, "an import of a ledger", func(s *Store) error {
		f, end := filler{ctx: ctx, s: s}, hashchain.Begin(ledgerTitle)
		for _, b := range spent {
			text, behind, err := entry{Spending: b, Imported: true}.next(end)
			if err == nil {
				err = f.add(row{shelf: keep.Main, table: ledgerTable, key: entryKey(behind.Number), value: text})
			}
			if err != nil {
				return err
			}
			end = behind
		}
		return f.flush()
	})
}

const earlierTitle = "confetti-ledger/v1"

// earlierLink returns the point of an earlier version's chain behind a spending.
func earlierLink(before hashchain.Point, b Spending) (hashchain.Point, error) {
	fields := []any{b.Plan, b.Population, b.Publisher, math.Float64bits(b.Epsilon), math.Float64bits(b.Delta), b.Adjacency, b.Users, b.Method, b.Note, b.Spent.UnixMicro()}
	if b.Dominated != "" { // rows of yet earlier versions have none, and the digest that they had
		fields = append(fields, math.Float64bits(b.Shift), math.Float64bits(b.Tail), b.Dominated)
	}
	text, err := json.Marshal(fields)
	if err != nil {
		return before, err
	}
	walk := hashchain.Walk{End: before}
	_, _, err = walk.Group(append(before.Append(nil), text...))
	return walk.End, err
}

// earlierLedger reads the ledger in a backup of an earlier version, in order.
func earlierLedger(path string) ([]Spending, error) {
	f, err := openSQLite(path)
	if err != nil {
		return nil, err
	}
	defer f.file.Close()
	spent := map[string]Spending{}
	err = f.table("spendings", func(values []any) error {
		b, ok := earlierSpending(values)
		if _, twice := spent[b.Plan]; !ok || twice {
			return errNoSQLite
		}
		spent[b.Plan] = b
		return nil
	})
	if err != nil {
		return nil, err
	}
	type link struct {
		number int64
		plan   string
		digest []byte
	}
	var links []link
	err = f.table("links", func(values []any) error {
		if len(values) != 3 {
			return errNoSQLite
		}
		number, ok1 := values[0].(int64)
		plan, ok2 := values[1].(string)
		digest, ok3 := values[2].([]byte)
		if !ok1 || !ok2 || !ok3 {
			return errNoSQLite
		}
		links = append(links, link{number, plan, digest})
		return nil
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(links, func(a, b link) int { return cmp.Compare(a.number, b.number) })
	var all []Spending
	end := hashchain.Begin(earlierTitle)
	for _, l := range links {
		b, there := spent[l.plan]
		if !there {
			return nil, fmt.Errorf("%w: a spending of its ledger is missing", errNoSQLite)
		}
		if end, err = earlierLink(end, b); err != nil {
			return nil, err
		}
		if l.number != int64(end.Number) || !bytes.Equal(l.digest, end.Digest[:]) {
			return nil, fmt.Errorf("%w: entry %d of its ledger is another one than it was", errNoSQLite, end.Number)
		}
		all = append(all, b)
	}
	if len(all) != len(spent) || len(all) == 0 {
		return nil, fmt.Errorf("%w: its ledger has %d entries of %d", errNoSQLite, len(all), len(spent))
	}
	return all, nil
}

// earlierSpending reads a row of spendings.
func earlierSpending(values []any) (b Spending, ok bool) {
	if len(values) < 10 || len(values) > 13 {
		return b, false
	}
	ok = true
	text := func(i int) string {
		s, is := values[i].(string)
		ok = ok && is
		return s
	}
	whole := func(i int) int64 {
		n, is := values[i].(int64)
		ok = ok && is
		return n
	}
	number := func(i int) float64 { // a whole one is written as such
		if x, is := values[i].(float64); is {
			return x
		}
		return float64(whole(i))
	}
	b = Spending{Plan: text(0), Population: text(1), Publisher: text(2), Epsilon: number(3), Delta: number(4), Adjacency: text(5),
		Users: int(whole(6)), Method: text(7), Note: text(8), Spent: time.UnixMicro(whole(9)).UTC()}
	if len(values) > 10 { // columns that came later
		b.Shift = number(10)
	}
	if len(values) > 11 {
		b.Tail = number(11)
	}
	if len(values) > 12 {
		b.Dominated = text(12)
	}
	return b, ok
}
