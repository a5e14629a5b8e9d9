package sketch

import (
	"fmt"
	"math"
	"sort"

	"github.com/confetti-dp/confetti/internal/prob"
)

// RowUsers returns how many of n devices, the one in question counted, are in its row but for
// probability delta, in (0, 1): what the accountant is told of a sketch, as users of
// the one-hot mechanism of one row, with delta to be added to that of the mechanism.
//
// The argument. Devices draw their rows whatever their values are, so let everybody see
// all rows drawn: that only adds to what an observer knows. Given the rows, each row is a
// one-hot mechanism of the devices in it, independent of the others, and replacing or
// removing one device's value changes nothing outside its own row. The law of the rows is
// the same for both data sets. If with N devices in its row the device has (epsilon,
// delta') for every N from RowUsers on, more devices being more noise, it has
// (epsilon, delta' + delta) over the draw of the rows: N-1 is Binomial(n-1, 1/rows), and
// below with probability at most delta. Only this one row counts, whatever their number.
//
// It is an upper bound on the privacy loss: that the rows are in truth hidden among each
// other's messages helps further, and is not used.
func (r rows) RowUsers(n int, delta float64) int {
	if n < 1 || !(delta > 0 && delta < 1) {
		panic(fmt.Sprintf("sketch: users of a row among %d with probability %v of fewer: give at least 1 and a probability in (0, 1)", n, delta))
	}
	if r.Rows() == 1 {
		return n
	}
	// Rounded down: in a likelier row there are more devices. The tail is trusted to 1e-11.
	p := math.Nextafter(1/float64(r.Rows()), 0)
	rare := math.Log(delta) - 1e-11
	others := sort.Search(n-1, func(k int) bool { return !(prob.LogBinomialCDF(k, n-1, p) <= rare) })
	return 1 + others
}
