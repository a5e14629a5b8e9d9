package estimate

import (
	"fmt"
	"math"
)

// Regrouping what reports already carry is post-processing: it costs no privacy, and
// can be done after the collection. What the errors of the cells have in common must be
// known: nothing under one-hot response, where everybody is asked.

// Sum returns the estimate of a sum of quantities whose errors are independent.
func Sum(values []Value) Value {
	var mean, variance float64
	for _, v := range values {
		mean += v.Mean
		variance += v.StdErr * v.StdErr
	}
	return Value{Mean: mean, StdErr: math.Sqrt(variance)}
}

// Together is what the errors of two different cells have in common: Fixed + Each (n_a + n_b) is
// their covariance where n_a and n_b hold them. Of nothing, errors are independent.
type Together struct{ Fixed, Each float64 }

// Block sums up cells that get one weight in a sum.
type Block struct{ Cells, Mean, Variance float64 }

// BlockOf returns the block of cells.
func BlockOf(values ...Value) (b Block) {
	for _, v := range values {
		b.Cells++
		b.Mean += v.Mean
		b.Variance += v.StdErr * v.StdErr
	}
	return b
}

// covariance returns that of two sums of all cells, those of each block by its weights u and w: over
// all ordered pairs of different cells it adds up to
//
//	Fixed (U W - sum of u w) + Each (U sum of w n + W sum of u n - 2 sum of u w n),   U = sum of u, W = sum of w ,
//
// beside what each cell has by itself. Estimates below zero are taken for nobody.
func (t Together) covariance(u, w []float64, blocks []Block) float64 {
	var own, same, heldByBoth, allU, allW, heldU, heldW float64
	for i, b := range blocks {
		held := max(0, b.Mean)
		own += u[i] * w[i] * b.Variance
		same += u[i] * w[i] * b.Cells
		heldByBoth += u[i] * w[i] * held
		allU += u[i] * b.Cells
		allW += w[i] * b.Cells
		heldU += u[i] * held
		heldW += w[i] * held
	}
	return own + t.Fixed*(allU*allW-same) + t.Each*(allU*heldW+allW*heldU-2*heldByBoth)
}

// Sum returns that of all cells, those of each block by its weight.
func (t Together) Sum(weights []float64, blocks []Block) (v Value) {
	for i, b := range blocks {
		v.Mean += weights[i] * b.Mean
	}
	v.StdErr = math.Sqrt(max(0, t.covariance(weights, weights, blocks)))
	return v
}

// Tied improves Sum by the knowledge that all cells together are exactly total: it is the best
// linear unbiased estimate of both facts,
//
//	sum + share (total - all)    with share = Cov(sum, all) / Var all,
//
// of variance Var sum - share Cov(sum, all).
func (t Together) Tied(weights []float64, blocks []Block, total float64) Value {
	ones := make([]float64, len(blocks))
	for i := range ones {
		ones[i] = 1
	}
	return t.Sum(weights, blocks).given(t.Sum(ones, blocks), t.covariance(weights, ones, blocks), total)
}

// Parts returns the sums of two groups of cells that have none in common, and the covariance of
// their errors.
func (t Together) Parts(part, rest []Value) (p, r Value, shared float64) {
	both := []Block{BlockOf(part...), BlockOf(rest...)}
	first, second := []float64{1, 0}, []float64{0, 1}
	return t.Sum(first, both), t.Sum(second, both), t.covariance(first, second, both)
}

// Given improves v, the sum of some of the cells that all is the sum of, by the knowledge that
// all of them together are exactly total; shared is the covariance of the errors of v and of the
// sum of the other cells. Where that is 0 the result is v and the total less the rest, each
// weighted by the other's variance. A total that is only a bound may not be given.
func (v Value) Given(all Value, shared, total float64) Value {
	return v.given(all, v.StdErr*v.StdErr+shared, total)
}

// given is Given for a v of any weights, whose errors have that covariance with those of all.
func (v Value) given(all Value, covariance, total float64) Value {
	if all.StdErr == 0 {
		return v
	}
	share := covariance / (all.StdErr * all.StdErr)
	return Value{Mean: v.Mean + share*(total-all.Mean), StdErr: math.Sqrt(max(0, v.StdErr*v.StdErr-share*covariance))}
}

// Marginals returns the sums of a grid over its rows and over its columns. Cells lie row by row.
// It panics unless they fill whole rows.
func (t Together) Marginals(cells []Value, columns int) (rows, cols []Value) {
	if columns < 1 || len(cells)%columns != 0 {
		panic(fmt.Sprintf("estimate: %d cells are no grid of %d columns", len(cells), columns))
	}
	one := []float64{1}
	for y := range len(cells) / columns {
		rows = append(rows, t.Sum(one, []Block{BlockOf(cells[y*columns : (y+1)*columns]...)}))
	}
	for x := range columns {
		var column []Value
		for at := x; at < len(cells); at += columns {
			column = append(column, cells[at])
		}
		cols = append(cols, t.Sum(one, []Block{BlockOf(column...)}))
	}
	return rows, cols
}

// Share returns the estimate of part / (part + rest), two counts whose errors have the covariance
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
