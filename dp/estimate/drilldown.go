package estimate

import (
	"fmt"
	"math"
)

// Regrouping what reports already carry is post-processing: it costs no privacy, and
// can be done after the collection. The errors of the cells must be independent, as
// they are under one-hot response.

// Sum is the estimate of a sum of quantities whose errors are independent.
func Sum(values []Value) Value {
	var mean, variance float64
	for _, v := range values {
		mean += v.Mean
		variance += v.StdErr * v.StdErr
	}
	return Value{Mean: mean, StdErr: math.Sqrt(variance)}
}

// Given improves v, the Sum of some of the cells that all is the Sum of, by the
// knowledge that all of them together are exactly total. It is the best linear
// unbiased estimate of both facts,
//
//	v + share (total - all)    with share = Var v / Var all,
//
// of variance Var v (1 - share): the part alone and the total less the rest, each
// weighted by the other's variance. A total that is only a bound may not be given.
func (v Value) Given(all Value, total float64) Value { return v.GivenShared(all, 0, total) }

// GivenShared is Given where the errors of v and of the other cells have the covariance
// shared: then share = (Var v + shared) / Var all, and the variance is Var v - share (Var v + shared).
func (v Value) GivenShared(all Value, shared, total float64) Value {
	if all.StdErr == 0 {
		return v
	}
	common := v.StdErr*v.StdErr + shared
	share := common / (all.StdErr * all.StdErr)
	if shared == 0 {
		share = min(1, share)
	}
	return Value{Mean: v.Mean + share*(total-all.Mean), StdErr: math.Sqrt(max(0, v.StdErr*v.StdErr-share*common))}
}

// CombineGiven is Combine improved by the knowledge that the quantities sum to
// exactly total. Taking the constant c from every weight and adding c total changes
// nothing in the truth; the best c is the mean of the weights, weighted by variance.
func CombineGiven(weights []float64, values []Value, total float64) Value {
	raw := Combine(weights, values)
	all := Sum(values)
	if all.StdErr == 0 {
		return raw
	}
	var covariance float64
	for i, w := range weights {
		covariance += w * values[i].StdErr * values[i].StdErr
	}
	c := covariance / (all.StdErr * all.StdErr)
	var variance float64
	for i, w := range weights {
		sd := (w - c) * values[i].StdErr
		variance += sd * sd
	}
	return Value{Mean: raw.Mean + c*(total-all.Mean), StdErr: math.Sqrt(variance)}
}

// Marginals are the sums of a grid over its rows and over its columns: rows[y] is the
// sum of the cells y columns to y columns + columns - 1, and columns[x] that of x,
// x + columns, x + 2 columns and so on. It panics unless the cells fill whole rows.
func Marginals(cells []Value, columns int) (rows, cols []Value) {
	if columns < 1 || len(cells)%columns != 0 {
		panic(fmt.Sprintf("estimate: %d cells are no grid of %d columns", len(cells), columns))
	}
	rows, cols = make([]Value, len(cells)/columns), make([]Value, columns)
	for y := range rows {
		row := cells[y*columns : (y+1)*columns]
		rows[y] = Sum(row)
		for x, v := range row {
			cols[x].Mean += v.Mean
			cols[x].StdErr += v.StdErr * v.StdErr
		}
	}
	for x := range cols {
		cols[x].StdErr = math.Sqrt(cols[x].StdErr)
	}
	return rows, cols
}

// Share is the estimate of part / (part + rest), two counts whose errors have the covariance
// shared, with its interval of the given level after Fieller: the shares r for
// which (1-r) part - r rest, whose truth is zero, is not further from zero than its
// own standard error allows. Unlike the standard error, which takes the ratio for
// linear, it holds when the whole is small beside its error: then it is all of [0, 1],
// for the noise leaves the share open, and the estimate is 1/2 with an error of 1/2.
// Estimate and interval lie within [0, 1].
func Share(part, rest Value, shared, level float64) (share Value, lo, hi float64) {
	z := Quantile(level)
	whole := part.Mean + rest.Mean
	p, q := part.StdErr*part.StdErr, rest.StdErr*rest.StdErr
	// ((1-r) part - r rest)^2 <= z^2 ((1-r)^2 p - 2 r (1-r) shared + r^2 q) is a r^2 - 2 b r + c <= 0:
	a := whole*whole - z*z*(p+q+2*shared)
	b := part.Mean*whole - z*z*(p+shared)
	c := part.Mean*part.Mean - z*z*p
	if !(a > 0 && whole > 0) {
		return Value{Mean: 0.5, StdErr: 0.5}, 0, 1
	}
	r := within(part.Mean/whole, 1)
	root := math.Sqrt(max(0, b*b-a*c))
	share = Value{Mean: r, StdErr: math.Sqrt(max(0, (1-r)*(1-r)*p-2*r*(1-r)*shared+r*r*q)) / whole}
	return share, within((b-root)/a, 1), within((b+root)/a, 1)
}
