package encode

import (
	"fmt"
	"slices"
)

// Set is several items of one domain. Items given twice count once, and so do several
// items that share the cell for others.
type Set struct {
	items *Categories
	most  int
}

// NewSet is for sets of at most so many cells, from 1 to the size of the domain. How
// many a device may set is its privacy: replacing one set by another changes up to
// twice as many cells, removing one up to as many.
func NewSet(items *Categories, most int) (*Set, error) {
	if most < 1 || most > items.Size() {
		return nil, fmt.Errorf("encode: sets of at most %d items of %d: give a number from 1 to the size of the domain", most, items.Size())
	}
	return &Set{items, most}, nil
}

// Size returns the number of cells.
func (s *Set) Size() int { return s.items.Size() }

// Encode returns the cells of the items with these names; none, of the empty set.
func (s *Set) Encode(names []string) ([]uint32, error) { return encodeSet(s, names, s.items.find) }

// EncodeNumbers returns the cells of the items with these numbers.
func (s *Set) EncodeNumbers(items []int) ([]uint32, error) {
	return encodeSet(s, items, s.items.number)
}

// Clip returns the cells of the first items that have one, as many as a set may have: what
// the nearest set that fits is in.
func (s *Set) Clip(names []string) []uint32 { return clipSet(s, names, s.items.find) }

// ClipNumbers is Clip of the items with these numbers.
func (s *Set) ClipNumbers(items []int) []uint32 { return clipSet(s, items, s.items.number) }

func clipSet[V any](s *Set, items []V, find func(V) (uint32, error)) []uint32 {
	set := make([]uint32, 0, min(len(items), s.most))
	for _, item := range items {
		cell, err := find(item)
		if at, twice := slices.BinarySearch(set, cell); err == nil && !twice && len(set) < s.most {
			set = slices.Insert(set, at, cell)
		}
	}
	return set
}

func encodeSet[V any](s *Set, items []V, find func(V) (uint32, error)) ([]uint32, error) {
	set := make([]uint32, 0, min(len(items), s.most))
	for _, item := range items {
		cell, err := find(item)
		if err != nil {
			return nil, err
		}
		at, twice := slices.BinarySearch(set, cell)
		switch {
		case twice:
		case len(set) == s.most:
			return nil, fmt.Errorf("encode: a set of more than %d items, which is the most that one device may report: choose among them first", s.most)
		default:
			set = slices.Insert(set, at, cell)
		}
	}
	return set, nil
}

// Name returns the item of a cell, or "others".
func (s *Set) Name(cell int) string { return s.items.Name(cell) }
