package encode

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// End closes a string, so that one which is shorter than the candidates of a round
// still has one of its own: "an" closed is another candidate than "an" with more to
// come. It is END OF TEXT, which text does not hold.
const End = '\u0003'

// unused is the name of a cell that a round has no candidate for.
const unused = "(no candidate)"

// Complete says whether a candidate is a whole string rather than the beginning of some.
func Complete(candidate string) bool { return strings.HasSuffix(candidate, string(End)) }

// Prefixes are the candidates of one round of a search for the frequent strings of a
// domain that nobody has declared: beginnings of one length, counted in characters
// (Unicode code points), and whole strings that are shorter. What begins with none of
// them is in the last cell, for others. Extend makes the candidates of the next round.
type Prefixes struct {
	candidates []string
	index      map[string]uint32
	length     int // characters, End counted
	room       int // candidates that there may be: the cells of those that are not there stay empty
}

// NewPrefixes checks the candidates of a round: distinct valid UTF-8, End only last,
// those without it all of one length, which none with it exceeds. The slice is kept.
// There are cells for as many candidates as room says, and at least for these.
func NewPrefixes(candidates []string, room int) (*Prefixes, error) {
	room = max(room, len(candidates))
	if err := checkCells(withOthers(room, true)); err != nil {
		return nil, err
	}
	p := &Prefixes{candidates: candidates, room: room, index: make(map[string]uint32, len(candidates))}
	for _, c := range candidates {
		p.length = max(p.length, utf8.RuneCountInString(c))
	}
	for i, c := range candidates {
		switch {
		case c == "":
			return nil, fmt.Errorf("encode: candidate %d is empty: every string begins with it", i)
		case !plain(strings.TrimSuffix(c, string(End))):
			return nil, fmt.Errorf("encode: candidate %d is not valid UTF-8, or U+%04X is not at its end alone", i, End)
		case !Complete(c) && utf8.RuneCountInString(c) != p.length:
			return nil, fmt.Errorf("encode: candidate %d is shorter than the longest (%d characters): only a whole string may be, with U+%04X at its end", i, p.length, End)
		}
		if first, twice := p.index[c]; twice {
			return nil, fmt.Errorf("encode: candidates %d and %d are the same: give each once", first, i)
		}
		p.index[c] = uint32(i)
	}
	return p, nil
}

// plain says that a string is valid UTF-8 without End.
func plain(s string) bool { return utf8.ValidString(s) && !strings.ContainsRune(s, End) }

// Size returns the number of cells.
func (p *Prefixes) Size() int { return withOthers(p.room, true) }

// Encode returns the cell of the candidate that s begins with, or is. What is no plain
// text begins with none. There is no error: the domain is total.
func (p *Prefixes) Encode(s string) ([]uint32, error) {
	cell, ok := p.index[p.begin(s)]
	if !ok || !plain(s) {
		cell = uint32(p.room)
	}
	return []uint32{cell}, nil
}

// begin returns the first p.length characters of s, End after its last one counted.
func (p *Prefixes) begin(s string) string {
	n := 0
	for i := range s {
		if n == p.length {
			return s[:i]
		}
		n++
	}
	if n == p.length {
		return s
	}
	return s + string(End)
}

// Name returns the candidate of a cell, with an ellipsis if more characters follow, or Others.
func (p *Prefixes) Name(cell int) string {
	mustHave(cell, p.Size())
	switch {
	case cell == p.room:
		return Others
	case cell >= len(p.candidates):
		return unused
	case Complete(p.candidates[cell]):
		return strings.TrimSuffix(p.candidates[cell], string(End))
	}
	return p.candidates[cell] + "…"
}

// Extend returns the candidates of the next round, one character longer: every kept
// beginning followed by each character of the alphabet and, last, by End. Whole strings
// stay as they are, to be counted again, so that the last round counts all that was
// found at once. The search begins with Extend([]string{""}, alphabet); extending twice
// takes two characters at a round.
func Extend(kept []string, alphabet []rune) ([]string, error) {
	if len(alphabet) == 0 {
		return nil, errors.New("encode: no alphabet: give the characters that a string may go on with")
	}
	seen := make(map[rune]bool, len(alphabet))
	for i, c := range alphabet {
		if !utf8.ValidRune(c) || c == End || seen[c] {
			return nil, fmt.Errorf("encode: character %d of the alphabet is no Unicode character, is U+%04X, or is there twice", i, End)
		}
		seen[c] = true
	}
	size := 0
	for _, k := range kept {
		if size++; !Complete(k) {
			size += len(alphabet)
		}
		if size >= MaxCells {
			return nil, fmt.Errorf("encode: more than %d candidates: keep fewer, or extend by fewer characters", MaxCells)
		}
	}
	next := make([]string, 0, size)
	for _, k := range kept {
		if Complete(k) {
			next = append(next, k)
			continue
		}
		for _, c := range alphabet {
			next = append(next, k+string(c))
		}
		next = append(next, k+string(End))
	}
	return next, nil
}
