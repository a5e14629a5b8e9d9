package parts

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"

	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/party/analyzer"
	"github.com/confetti-dp/confetti/protocol"
)

// Table is what was counted of some shards of a batch. It has one encoding: whoever counts
// the same shards again, anywhere, writes the same bytes.
//
//	offset  length  field
//	0       17      "confetti table 1\n"
//	17      63      what it is of, as in a part
//	80      s       shards that were counted: a bit each, the first the most significant of its byte
//	80+s    8       envelopes that are counted
//	88+s    8       envelopes that are not
//	96+s    n       tally
//	96+s+n  32      SHA-256 of everything before
type Table struct {
	Of      Of
	Shards  []bool // that were counted
	Counted analyzer.Counted
}

const tableMagic = "confetti table 1\n"

// TablesFolder is where the tables of a batch lie, below its parts.
const TablesFolder = "tables"

// Marshal encodes the table.
func (t Table) Marshal() ([]byte, error) {
	body, err := t.Counted.Tally.MarshalBinary()
	if err != nil {
		return nil, err
	}
	bits := make([]byte, (len(t.Shards)+7)/8)
	for i, there := range t.Shards {
		if there {
			bits[i/8] |= 0x80 >> (i % 8)
		}
	}
	b := append(t.Of.append([]byte(tableMagic)), bits...)
	b = binary.BigEndian.AppendUint64(b, uint64(t.Counted.Opened))
	b = binary.BigEndian.AppendUint64(b, uint64(t.Counted.Dropped))
	return sealed(append(b, body...)), nil
}

// ParseTable decodes exactly what Marshal writes of a batch of the plan.
func ParseTable(data []byte, p *protocol.Protocol) (t Table, err error) {
	body, err := unsealed(data, tableMagic, len(tableMagic)+ofSize)
	if err == nil {
		t.Of, err = parseOf(body)
	}
	if err == nil && t.Of.Head.Plan != p.Hash {
		err = fmt.Errorf("it is of another plan (%x...)", t.Of.Head.Plan[:6])
	}
	if err != nil {
		return t, faulty("a table: %w", err)
	}
	body = body[ofSize:]
	bits := (t.Of.Shards + 7) / 8
	if len(body) < bits+16 {
		return t, faulty("a table: truncated")
	}
	t.Shards = make([]bool, t.Of.Shards)
	for i := range t.Shards {
		t.Shards[i] = body[i/8]&(0x80>>(i%8)) != 0
	}
	if t.Of.Shards%8 != 0 && body[bits-1]&(0xff>>(t.Of.Shards%8)) != 0 {
		return t, faulty("a table: it names shards that the batch does not have")
	}
	opened, dropped := binary.BigEndian.Uint64(body[bits:]), binary.BigEndian.Uint64(body[bits+8:])
	if max(opened, dropped) > mostCounted || opened+dropped > t.Of.Head.Envelopes {
		return t, faulty("a table: more envelopes than the batch has")
	}
	t.Counted = analyzer.Counted{Tally: p.NewTally(), Opened: int(opened), Dropped: int(dropped)}
	if err := t.Counted.Tally.UnmarshalBinary(body[bits+16:]); err != nil {
		return t, faulty("a table: %w", err)
	}
	return t, nil
}

// Merge adds another table of the same batch, of other shards, and takes over its tally
// where it had none. With an error it has added nothing.
func (t *Table) Merge(other Table) error {
	if t.Shards == nil {
		*t = other
		return nil
	}
	if err := t.Of.Same(other.Of); err != nil {
		return faulty("a table: %w", err)
	}
	for i := range t.Shards {
		if t.Shards[i] && other.Shards[i] {
			return faulty("a table: shard %d is in two tables, and counts once: leave one out", i)
		}
	}
	if err := t.Counted.Tally.Merge(other.Counted.Tally); err != nil {
		return err
	}
	for i, there := range other.Shards {
		t.Shards[i] = t.Shards[i] || there
	}
	t.Counted.Opened += other.Counted.Opened
	t.Counted.Dropped += other.Counted.Dropped
	return nil
}

// Lacks returns the shards that are not in the table.
func (t Table) Lacks() (shards []int) {
	for i, there := range t.Shards {
		if !there {
			shards = append(shards, i)
		}
	}
	return shards
}

// Whole returns what the analyzer counts of the batch. It takes over the tally. A table that
// lacks shards, or of a batch that the analyzer refuses, is an error.
func (t Table) Whole(p *protocol.Protocol) (tally.Crowd, error) {
	if lacks := t.Lacks(); len(lacks) > 0 {
		return tally.Crowd{}, faulty("%d of the batch's %d shards are in no table, the first of them %d: count them too", len(lacks), len(t.Shards), lacks[0])
	}
	return analyzer.Whole(p, t.Of.Head, t.Counted)
}

// Source gives a part by its name: of a folder, or of a store of blobs.
type Source interface {
	Get(ctx context.Context, name string) ([]byte, error)
}

// Shard are the names of the parts of a shard.
type Shard struct {
	Number int
	Names  []string
}

// Shards sorts the names of parts, which end in SHARD/PIECE, by their shards.
func Shards(names []string) ([]Shard, error) {
	found := map[int][]string{}
	for _, name := range names {
		number, piece, err := place(name)
		if err != nil || number >= mostShards || piece >= mostPieces {
			return nil, faulty("%s is not the name of a part: all end in SHARD/PIECE, two numbers", name)
		}
		found[number] = append(found[number], name)
	}
	var all []Shard
	for _, number := range slices.Sorted(maps.Keys(found)) {
		slices.SortFunc(found[number], func(a, b string) int {
			_, x, _ := place(a)
			_, y, _ := place(b)
			return cmp.Or(cmp.Compare(x, y), cmp.Compare(a, b))
		})
		all = append(all, Shard{number, found[number]})
	}
	return all, nil
}

func place(name string) (shard, piece int, err error) {
	dir, last := path.Split(name)
	a, err := strconv.ParseUint(path.Base(dir), 10, 31)
	b, fault := strconv.ParseUint(last, 10, 31)
	return int(a), int(b), errors.Join(err, fault)
}

// Read reads a shard whole: all its parts, which must be there.
func (s Shard) Read(ctx context.Context, from Source) (of Of, envelopes [][]byte, err error) {
	pieces := 0
	for i, name := range s.Names {
		body, err := from.Get(ctx, name)
		if err != nil {
			return of, nil, err
		}
		p, err := parse(body)
		if err != nil {
			return of, nil, faulty("%s: %w", name, err)
		}
		if i == 0 {
			of, pieces = p.Of, p.Pieces
		}
		if err := of.Same(p.Of); err != nil {
			return of, nil, faulty("%s: %w: give the parts of one batch", name, err)
		}
		_, piece, _ := place(name)
		switch {
		case p.Shard != s.Number || p.Piece != piece || p.Pieces != pieces:
			return of, nil, faulty("%s: it is piece %d of shard %d: it was renamed", name, p.Piece, p.Shard)
		case piece < i:
			return of, nil, faulty("%s: piece %d of shard %d is there twice: give the parts of one batch", name, piece, s.Number)
		case piece > i:
			return of, nil, faulty("piece %d of shard %d is missing: %d of %d are there", i, s.Number, len(s.Names), pieces)
		}
		envelopes = append(envelopes, p.Envelopes...)
	}
	if len(s.Names) != pieces {
		return of, nil, faulty("piece %d of shard %d is missing: %d of %d are there", len(s.Names), s.Number, len(s.Names), pieces)
	}
	return of, envelopes, nil
}

// Count opens and counts the shard.
func (s Shard) Count(ctx context.Context, c *analyzer.Counter, from Source) (Table, error) {
	of, envelopes, err := s.Read(ctx, from)
	if err != nil {
		return Table{}, err
	}
	t := Table{Of: of, Shards: make([]bool, of.Shards)}
	t.Shards[s.Number] = true
	t.Counted, err = c.Some(of.Head, envelopes)
	return t, err
}

// Share counts those of the parts that are one of several workers', counted from 0: shards
// whose number leaves that remainder. It reads no others, but for the first where it has none.
// Progress is told of shards.
func Share(ctx context.Context, c *analyzer.Counter, from Source, names []string, worker, workers int, progress func(done, total int)) (t Table, err error) {
	all, err := Shards(names)
	if err != nil {
		return t, err
	}
	if len(all) == 0 {
		return t, faulty("there are none")
	}
	mine := slices.DeleteFunc(slices.Clone(all), func(s Shard) bool { return s.Number%workers != worker })
	for i, s := range mine {
		if err := ctx.Err(); err != nil {
			return t, err
		}
		progress(i, len(mine))
		one, err := s.Count(ctx, c, from)
		if err != nil {
			return t, err
		}
		if err := t.Merge(one); err != nil {
			return t, faulty("shard %d: %w", s.Number, err)
		}
	}
	progress(len(mine), len(mine))
	if t.Shards == nil {
		of, _, err := all[0].Read(ctx, from)
		if err != nil {
			return t, err
		}
		t = Table{Of: of, Shards: make([]bool, of.Shards)}
		if t.Counted, err = c.Some(of.Head, nil); err != nil {
			return t, err
		}
	}
	for i, there := range t.Shards {
		if !there && i%workers == worker {
			return t, faulty("shard %d of the batch's %d is missing", i, len(t.Shards))
		}
	}
	if last := all[len(all)-1]; last.Number >= t.Of.Shards {
		return t, faulty("%s: a batch of %d shards has no shard %d: give the parts of one batch", last.Names[0], t.Of.Shards, last.Number)
	}
	return t, nil
}
