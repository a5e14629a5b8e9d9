package rows

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/confetti-dp/confetti/internal/storage/keep"
)

// A tally, a release or a state may have hundreds of megabytes, and a row has 16 at most. It lies
// in parts. What is known of it, its length and SHA-256, is written behind the last part: parts
// that a crash leaves without it are nobody's.
const (
	partLength = 1 << 20
	together   = 8 // parts that one Update writes
)

// body is what is known of bytes that lie in parts.
type body struct {
	Length int    `json:"length"`
	SHA256 string `json:"sha256"`
}

func bodyOf(b []byte) body {
	digest := sha256.Sum256(b)
	return body{len(b), hex.EncodeToString(digest[:])}
}

func partKey(under string, part int) string { return under + "/" + place(part) }

// content is bytes that are to be written in parts.
type content struct {
	table keep.Table
	under string
	bytes []byte
}

// writeParts writes contents and then, in one Update with the last parts, what last writes. An
// error of last is returned; last says with write whether the parts are wanted.
func (s *Store) writeParts(ctx context.Context, shelf keep.Shelf, name string, contents []content, last func(keep.Tx) (write bool, err error)) error {
	type part struct {
		table keep.Table
		key   string
		bytes []byte
	}
	var parts []part
	for _, c := range contents {
		n := 0
		for b := range slices.Chunk(c.bytes, partLength) {
			parts = append(parts, part{c.table, partKey(c.under, n), b})
			n++
		}
	}
	for len(parts) > together {
		some := parts[:together]
		parts = parts[together:]
		err := shelf.Update(ctx, func(tx keep.Tx) error {
			for _, p := range some {
				tx.Put(p.table, p.key, p.bytes)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return s.write(ctx, shelf, name, func(tx keep.Tx) error {
		write, err := last(tx)
		if err != nil || !write {
			return err
		}
		for _, p := range parts {
			tx.Put(p.table, p.key, p.bytes)
		}
		return nil
	})
}

// readParts reads what lies in parts and compares it with what is known of it.
func readParts(get getter, t keep.Table, under string, known body) ([]byte, error) {
	var all []byte
	for n := 0; len(all) < known.Length; n++ {
		part, there, err := get(t, partKey(under, n))
		if err != nil {
			return nil, err
		}
		if !there || len(part) == 0 {
			return nil, fmt.Errorf("%w: a part of table %d is missing", keep.ErrDamaged, t)
		}
		if all == nil {
			all = make([]byte, 0, min(known.Length, together*partLength))
		}
		all = append(all, part...)
	}
	if bodyOf(all) != known {
		return nil, fmt.Errorf("%w: parts of table %d are not what was written together", keep.ErrDamaged, t)
	}
	return all, nil
}
