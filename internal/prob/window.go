package prob

import (
	"fmt"
	"math"
)

// Window is a law on the integers tabulated on a range: P[i] = P(X = Lo+i), each
// within 1e-12 relative. Below and Above bound from above the mass left out on
// the two sides; an accountant charges them, it does not forget them. A tail below
// 1e-290 is taken as 1e-290, zero included: Below and Above say what was done.
type Window struct {
	Lo           int
	P            []float64
	Below, Above float64
}

// Hi returns the last integer tabulated.
func (w Window) Hi() int { return w.Lo + len(w.P) - 1 }

// At returns the tabulated P(X = k), zero outside the window.
func (w Window) At(k int) float64 {
	if k < w.Lo || k > w.Hi() {
		return 0
	}
	return w.P[k-w.Lo]
}

const (
	// smallestTail: below it doubles are denormal and ratios of probabilities
	// are noise, so windows are cut there even if less was asked for.
	smallestTail = 1e-290
	// reach is how far a window may extend from the mode: more than 2 x 256 MB of
	// probabilities is a caller's mistake.
	reach = 1 << 25
	// anchorEvery: the recurrence drifts by up to 3 roundings a step, so it is
	// set anew by the saddle point before it reaches 512 * 3 * 2^-53 = 1.7e-13.
	anchorEvery = 512
	// slack covers the error of the tabulated probabilities in the tail bounds.
	slack = 1 + 1e-12
)

// errTooWide is the error for a law that does not fit into reach.
var errTooWide = fmt.Errorf("prob: the law is too wide to tabulate: more than %d numbers on one side of its mode", reach)

// checkWindow returns the error common to all tabulations.
func checkWindow(tail float64, valid bool, need string) error {
	switch {
	case !valid:
		return fmt.Errorf("prob: %s", need)
	case !(tail >= 0 && tail < 1):
		return fmt.Errorf("prob: tail %v outside [0, 1)", tail)
	}
	return nil
}

// window is a unimodal law whose ratio P(k+1)/P(k) is monotone in k. Beyond the
// mode the mass above k is at most P(k) rho/(1-rho) with rho the largest ratio
// from k on: a proved bound, not an estimate.
type window struct {
	mode, first, last int
	logPMF            func(k int) float64
	logTails          func(k int) (lower, upper float64)
	ratio             func(k int) float64 // P(k+1)/P(k)
	ceiling           float64             // limit of the ratio if it increases (else 0)
}

// tabulate walks from the mode to both sides until the bound on what is left is
// at most tail.
func (w window) tabulate(tail float64) (Window, error) {
	tail = math.Max(tail, smallestTail)
	lower, _ := w.logTails(w.mode - reach)
	_, upper := w.logTails(w.mode + reach)
	if limit := math.Log(tail); !(lower <= limit && upper <= limit) {
		return Window{}, errTooWide
	}
	down, below := w.walkDown(tail)
	up, above := w.walkUp(tail)
	p := make([]float64, 0, len(down)+len(up))
	for i := len(down) - 1; i >= 0; i-- {
		p = append(p, down[i])
	}
	Count(len(p) + len(up))
	return Window{Lo: w.mode - len(down), P: append(p, up...), Below: below, Above: above}, nil
}

// walkUp gives P(mode), P(mode+1), ... and a bound on the mass beyond.
func (w window) walkUp(tail float64) (ps []float64, rest float64) {
	p := math.Exp(w.logPMF(w.mode))
	for k := w.mode; ; k++ {
		ps = append(ps, p)
		if k == w.last {
			return ps, 0
		}
		ratio := w.ratio(k)
		if rho := math.Max(ratio, w.ceiling); rho < 1 {
			if rest = p * rho / (1 - rho) * slack; rest <= tail {
				return ps, rest
			}
		}
		if len(ps)%anchorEvery == 0 {
			p = math.Exp(w.logPMF(k + 1))
		} else {
			p *= ratio
		}
	}
}

// walkDown gives P(mode-1), P(mode-2), ... and a bound on the mass beyond.
func (w window) walkDown(tail float64) (ps []float64, rest float64) {
	p := math.Exp(w.logPMF(w.mode))
	for k := w.mode; k > w.first; k-- {
		rho := 1 / w.ratio(k-1)
		if rho < 1 {
			if rest = p * rho / (1 - rho) * slack; rest <= tail {
				return ps, rest
			}
		}
		if (len(ps)+1)%anchorEvery == 0 {
			p = math.Exp(w.logPMF(k - 1))
		} else {
			p *= rho
		}
		ps = append(ps, p)
	}
	return ps, 0
}
