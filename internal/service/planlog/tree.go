package planlog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/mod/sumdb/tlog"
)

// tree holds the hashes of a log's entries and of all that stands over them (RFC 6962), in the order of
// package tlog. A copy stays as it was when more is added.
type tree struct {
	size   int64
	hashes []tlog.Hash
}

// add puts an entry behind the others.
func (t *tree) add(entry []byte) error {
	more, err := tlog.StoredHashes(t.size, entry, t)
	if err == nil {
		t.hashes = append(t.hashes, more...)
		t.size++
	}
	return err
}

// ReadHashes implements tlog.HashReader.
func (t *tree) ReadHashes(indexes []int64) ([]tlog.Hash, error) {
	all := make([]tlog.Hash, len(indexes))
	for i, at := range indexes {
		if at < 0 || at >= int64(len(t.hashes)) {
			return nil, errors.New("log: a hash beyond the tree")
		}
		all[i] = t.hashes[at]
	}
	return all, nil
}

// Tiles are of c2sp.org/tlog-tiles. They are written and named as package tlog does, but for the height, which is
// left out, and a tile of entries, which is called a bundle.
const (
	height    = 8
	width     = 1 << height
	bundles   = -1 // the level of bundles
	maxBundle = width * (2 + 256)

	tlogPrefix   = "tile/8/"
	tilePrefix   = "tile/"
	bundlePrefix = "entries/"
	tlogBundle   = "data/"
)

// tilePath returns the path of a tile.
func tilePath(t tlog.Tile) string {
	rest := strings.TrimPrefix(t.Path(), tlogPrefix)
	if n, is := strings.CutPrefix(rest, tlogBundle); is {
		rest = bundlePrefix + n
	}
	return tilePrefix + rest
}

// parseTile reads what tilePath writes.
func parseTile(path string) (tlog.Tile, error) {
	rest, _ := strings.CutPrefix(path, tilePrefix)
	if n, is := strings.CutPrefix(rest, bundlePrefix); is {
		rest = tlogBundle + n
	}
	t, err := tlog.ParseTilePath(tlogPrefix + rest)
	if err == nil && tilePath(t) != path {
		err = fmt.Errorf("log: %q is no path of a tile", path)
	}
	return t, err
}

// within reports whether a tile is of a tree of that size.
func within(t tlog.Tile, size int64) bool {
	end := size >> (height * max(t.L, 0))
	return t.N <= end/width && t.N*width+int64(t.W) <= end
}

// bundleAt returns the bundle that begins with an entry, of a tree of that size.
func bundleAt(first, size int64) tlog.Tile {
	return tlog.Tile{H: height, L: bundles, N: first / width, W: int(min(width, size-first))}
}

// appendEntry writes an entry of a bundle.
func appendEntry(b, entry []byte) []byte {
	return append(binary.BigEndian.AppendUint16(b, uint16(len(entry))), entry...)
}

// splitBundle reads the n entries of a bundle.
func splitBundle(b []byte, n int) (all [][]byte, err error) {
	for range n {
		if len(b) < 2 || len(b)-2 < int(binary.BigEndian.Uint16(b)) {
			return nil, errors.New("log: a bundle of entries is cut off")
		}
		end := 2 + int(binary.BigEndian.Uint16(b))
		all, b = append(all, b[2:end]), b[end:]
	}
	if len(b) > 0 {
		return nil, errors.New("log: a bundle has more entries than its name says")
	}
	return all, nil
}
