package encode

import (
	"errors"
	"fmt"
	"strconv"
	"unicode/utf8"
)

// Categories are the values of a declared domain, one cell each in the order declared,
// and possibly a last one for all other values. A value has to be equal to a category
// byte for byte: whoever wants case or accents folded does so on both ends.
type Categories struct {
	names    []string // nil where cells go by their number
	index    map[string]uint32
	declared int // cells without that for others
	others   bool
}

// NewCategories returns the categories of these names, which must be distinct valid UTF-8.
// The slice is kept.
func NewCategories(names []string, others bool) (*Categories, error) {
	if err := checkFrom(1, withOthers(len(names), others)); err != nil {
		return nil, err
	}
	c := &Categories{names: names, index: make(map[string]uint32, len(names)), declared: len(names), others: others}
	for i, name := range names {
		if !utf8.ValidString(name) {
			return nil, fmt.Errorf("encode: category %d is not valid UTF-8", i)
		}
		if others && name == othersName {
			return nil, fmt.Errorf("encode: category %d has the name of the cell for others: rename it, or ask without that cell", i)
		}
		if first, twice := c.index[name]; twice {
			return nil, fmt.Errorf("encode: categories %d and %d are the same: declare each once", first, i)
		}
		c.index[name] = uint32(i)
	}
	return c, nil
}

// NumberedCategories returns the categories 0 to declared-1, whose names are these numbers
// in decimal, without sign or leading zeros.
func NumberedCategories(declared int, others bool) (*Categories, error) {
	if err := checkFrom(1, withOthers(declared, others)); err != nil {
		return nil, err
	}
	return &Categories{declared: declared, others: others}, nil
}

// Size returns the number of cells.
func (c *Categories) Size() int { return withOthers(c.declared, c.others) }

var errOutside = errors.New("encode: a value outside the declared domain: declare it, or ask with a cell for others")

// Encode returns the cell of the category with this name.
func (c *Categories) Encode(name string) ([]uint32, error) {
	cell, err := c.find(name)
	if err != nil {
		return nil, err
	}
	return []uint32{cell}, nil
}

// EncodeNumber returns the cell of the category with this number, from 0 in the order declared.
func (c *Categories) EncodeNumber(x int) ([]uint32, error) {
	cell, err := c.number(x)
	if err != nil {
		return nil, err
	}
	return []uint32{cell}, nil
}

func (c *Categories) find(name string) (uint32, error) {
	if c.names == nil {
		if x, err := strconv.ParseUint(name, 10, 31); err == nil && strconv.FormatUint(x, 10) == name {
			return c.number(int(x))
		}
		return c.number(-1)
	}
	if cell, ok := c.index[name]; ok {
		return cell, nil
	}
	return c.number(-1)
}

func (c *Categories) number(x int) (uint32, error) {
	switch {
	case x >= 0 && x < c.declared:
		return uint32(x), nil
	case c.others:
		return uint32(c.declared), nil
	}
	return 0, errOutside
}

// Name returns the category of a cell, or "others".
func (c *Categories) Name(cell int) string {
	mustHave(cell, c.Size())
	switch {
	case cell == c.declared:
		return othersName
	case c.names == nil:
		return strconv.Itoa(cell)
	}
	return c.names[cell]
}
