package sketch

import (
	"math/rand/v2"

	"github.com/confetti-dp/confetti/internal/prob"
)

// DrawRows says how many of f devices draw each row: device by device where they are
// few, else by one binomial a row, of those left over the rows left.
func (r rows) DrawRows(source *rand.Rand, f int, add func(row, devices int)) {
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
