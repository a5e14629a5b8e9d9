package sketch

import (
	"fmt"
	"math/rand/v2"

	"github.com/confetti-dp/confetti/dp/randomize"
	"github.com/confetti-dp/confetti/internal/prob"
)

// DrawCounts draws the analyzer's counts of all channels from their exact joint law given
// the seed, when holders[value] devices hold each value: a row for each device, then
// the answers of each row. out has Channels entries. It also returns the number of
// devices.
func (r rows) DrawCounts(source *rand.Rand, m randomize.OneHot, holders []int, out []uint64) int {
	r.check(out, 0, OneHot(m))
	return r.draw(source, holders, func(held []int, devices int, out []uint64) {
		m.DrawCounts(source, held, devices, out)
	}, out)
}

// DrawFragments is DrawCounts for devices that answer in all their report fragments.
func (r rows) DrawFragments(source *rand.Rand, m randomize.Fragmented, holders []int, out []uint64) int {
	r.check(out, 0, Fragments(m, m.Tau))
	return r.draw(source, holders, func(held []int, devices int, out []uint64) {
		m.DrawCounts(source, held, devices, out)
	}, out)
}

// draw draws the rows, and has answers drawn for each, with the devices that hold each cell.
func (r rows) draw(source *rand.Rand, holders []int, answer func(held []int, devices int, out []uint64), out []uint64) int {
	set := make([]uint32, r.Channels()) // devices that set each channel
	inRow := make([]int, r.Rows())
	n := 0
	for value, f := range holders {
		n += f
		r.drawRows(source, f, func(row, devices int) {
			set[row*r.Cells()+int(r.Cell(row, uint32(value)))] += uint32(devices)
			inRow[row] += devices
		})
	}
	if n>>31 != 0 {
		panic(fmt.Sprintf("sketch: %d devices: at most 2^31-1", n))
	}
	held := make([]int, r.Cells())
	for row, devices := range inRow {
		at := row * r.Cells()
		for i := range held {
			held[i] = int(set[at+i])
		}
		answer(held, devices, out[at:at+r.Cells()])
	}
	return n
}

// drawRows says how many of f devices draw each row: device by device where they are
// few, else by one binomial a row, of those left over the rows left.
func (r rows) drawRows(source *rand.Rand, f int, add func(row, devices int)) {
	if f < 4*r.Rows() { // a binomial costs some ten draws
		for range f {
			add(source.IntN(r.Rows()), 1)
		}
		return
	}
	for row := range r.Rows() {
		devices := prob.DrawBinomial(source, f, 1/float64(r.Rows()-row))
		add(row, devices)
		f -= devices
	}
}
