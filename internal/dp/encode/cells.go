package encode

import "fmt"

// A histogram asks which cells of a declared domain a value is in. Categories, Set,
// Buckets and Grid each have
//
//	Size() int                     // cells, at least 2
//	Encode(value) ([]uint32, error) // the cells that the value is in, each in [0, Size), increasing
//	Name(cell int) string          // for people
//
// and are ready for any number of goroutines at once. Their order of cells is part of
// a plan: both ends derive it from the plan alone. Errors name the rule that a value
// breaks, never the value.

// maxCells is the largest domain: 2^26 cells, of which the analyzer keeps 512 MiB of
// counts.
const maxCells = 1 << 26

// othersName is the name of the cell for what is not in the domain, always the last one.
const othersName = "others"

// checkCells checks the rule on the size of a domain, its cell for others included. Of one cell by itself
// only a set is asked, which may be empty.
func checkCells(size int) error { return checkFrom(2, size) }

func checkFrom(least, size int) error {
	if size < least || size > maxCells {
		return fmt.Errorf("encode: a domain of %d cells: give from %d to %d", size, least, maxCells)
	}
	return nil
}

// mustHave panics for a cell that does not exist: only our own bugs ask for one.
func mustHave(cell, size int) {
	if cell < 0 || cell >= size {
		panic(fmt.Sprintf("encode: cell %d of %d", cell, size))
	}
}

// withOthers returns a number of cells and, if there is one, the cell for others.
func withOthers(size int, others bool) int {
	if others {
		return size + 1
	}
	return size
}
