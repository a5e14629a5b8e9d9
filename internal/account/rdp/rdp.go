// Package rdp turns Renyi differential privacy into (epsilon, delta) by the best known conversion, over every order.
// Used by account and internal/account/shuffle.
package rdp

import (
	"fmt"
	"math"
)

// Curve is the Renyi divergence of a mechanism at every order a > 1, the larger
// of both directions; +Inf where there is none. Curves of composed rounds add.
type Curve func(order float64) float64

// Epsilon returns the smallest epsilon that the curve proves at delta in (0, 1), an
// upper bound whatever order is found: e(a) + ln((a-1)/a) - (ln delta + ln a)/(a-1)
// (Canonne, Kamath, Steinke 2020, Proposition 12).
func (c Curve) Epsilon(delta float64) (float64, error) {
	if !(delta > 0 && delta < 1) {
		return 0, fmt.Errorf("rdp: delta %v: need 0 < delta < 1", delta)
	}
	e, _ := c.best(func(a, e float64) float64 { return toEpsilon(a, e, delta) })
	return math.Max(0, e), nil
}

// Delta returns the smallest delta that the curve proves at epsilon >= 0, rounded up.
func (c Curve) Delta(epsilon float64) (float64, error) {
	if !(epsilon >= 0) || math.IsInf(epsilon, 1) {
		return 0, fmt.Errorf("rdp: epsilon %v: need a finite number from 0", epsilon)
	}
	log, _ := c.best(func(a, e float64) float64 { return toLogDelta(a, e, epsilon) })
	return math.Min(1, math.Exp(log)), nil
}

// Order returns the order that gives Epsilon(delta).
func (c Curve) Order(delta float64) float64 {
	_, a := c.best(func(a, e float64) float64 { return toEpsilon(a, e, delta) })
	return a
}

// toEpsilon converts Renyi divergence e of order a > 1 at delta.
func toEpsilon(a, e, delta float64) float64 {
	return e + math.Log1p(-1/a) - (math.Log(delta)+math.Log(a))/(a-1)
}

// toLogDelta converts Renyi divergence e of order a > 1 at epsilon: the same
// inequality solved for ln delta.
func toLogDelta(a, e, epsilon float64) float64 {
	return (a-1)*(e-epsilon+math.Log1p(-1/a)) - math.Log(a)
}

// best minimizes a conversion over the orders 1 + 10^-3 to 1 + 10^7: a coarse
// scan, then golden section about its best point. Conversions need not be
// unimodal; any order is valid, so the scan costs tightness at worst.
func (c Curve) best(convert func(order, divergence float64) float64) (value, order float64) {
	at := func(log float64) float64 {
		a := 1 + math.Exp(log)
		if v := convert(a, c(a)); !math.IsNaN(v) {
			return v
		}
		return math.Inf(1)
	}
	low, high := math.Log(1e-3), math.Log(1e7)
	const points = 60
	width := (high - low) / points
	best, where := math.Inf(1), low
	for i := 0; i <= points; i++ {
		if v := at(low + float64(i)*width); v < best {
			best, where = v, low+float64(i)*width
		}
	}
	const golden = 0.6180339887498949
	a, b := where-width, where+width
	x, y := b-golden*(b-a), a+golden*(b-a)
	fx, fy := at(x), at(y)
	for b-a > 1e-7 {
		if fx < fy {
			b, y, fy = y, x, fx
			x = b - golden*(b-a)
			fx = at(x)
		} else {
			a, x, fx = x, y, fy
			y = a + golden*(b-a)
			fy = at(y)
		}
	}
	for _, p := range []float64{x, y} {
		if v := at(p); v < best {
			best, where = v, p
		}
	}
	return best, 1 + math.Exp(where)
}

// ZeroConcentrated returns the curve of rho-zCDP: a rho at order a. Its conversion
// here is delta = e^((a-1)(a rho - epsilon) + a ln(1-1/a)) / (a-1).
func ZeroConcentrated(rho float64) Curve {
	return func(a float64) float64 { return a * rho }
}
