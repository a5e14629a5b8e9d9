package prio3

import (
	"errors"
	"math/bits"

	"github.com/confetti-dp/confetti/internal/third_party/circl/vdaf/prio3/arith/fp128"
)

// proof shows that every encoded number is 0 or 1, and that they balance, over
// shares: the fully linear proof of draft 20, section 7.3, with its one gadget, the sum
// of chunk products. Call i of calls has the 2 chunk inputs
//
//	r_i^(j+1) x_(i chunk + j)  and  x_(i chunk + j) - 1,  j < chunk,
//
// numbers beyond the last being 0, and its output must be zero on average over r, which
// is the joint randomness. Where a circuit squares, more calls follow, whose inputs are twice
// the same chunk of a vector's numbers, less the centre. Polynomials are given by their values at roots of unity:
// a wire's at 1 is its seed, and at the (i+1)-th power its input in call i; points is
// how many values a wire has, a power of two.
type proof struct {
	circuit Circuit
	chunk   int
	checks  int // calls whose outputs are zero on average
	calls   int // with those that square
	points  int
	linear  bool // there is another condition beside
	centre  uint64
}

func proofOf(c Circuit, chunk int) proof {
	p := proof{circuit: c, chunk: chunk, checks: (c.encoded() + chunk - 1) / chunk}
	p.calls = p.checks
	if s, ok := c.(squaring); ok {
		p.centre = s.centre()
		p.calls += (c.length() + chunk - 1) / chunk
	}
	p.points = 1 << bits.Len(uint(p.calls))
	_, p.linear = c.balance(make(fp128.Vec, c.encoded()))
	return p
}

// centred returns the numbers that are squared, of a vector in either form: share is what is taken
// from each for a centre of one.
func (p proof) centred(vector fp128.Vec, share fp128.Fp) fp128.Vec {
	if p.calls == p.checks {
		return nil
	}
	centre := fp128.Fp{p.centre}
	centre.MulAssign(&square)
	centre.MulAssign(&share)
	all := append(fp128.Vec(nil), vector...)
	for i := range all {
		all[i].SubAssign(&centre)
	}
	return all
}

// arity returns how many wires there are, a seed for each.
func (p proof) arity() int { return 2 * p.chunk }

// length returns how many elements a proof has: the seeds, and the values of the gadget's
// polynomial, of degree 2 (points-1).
func (p proof) length() int { return p.arity() + 2*p.points - 1 }

// answers returns how many elements an aggregator's part of the verification has: the
// condition, the wires' values and the gadget's.
func (p proof) answers() int { return 1 + p.arity() + 1 }

// queries returns how many elements of randomness a verification takes: the place where
// polynomials are looked at and, where there is a balance, a factor for each condition.
func (p proof) queries() int {
	if p.linear {
		return 3
	}
	return 1
}

// wires calls visit with the two inputs of each product: call i, product j.
func (p proof) wires(values, joint fp128.Vec, visit func(call, product int, left, right *fp128.Fp)) {
	var whole fp128.Fp
	whole.SetOne()
	for i := range p.checks {
		power := joint[i]
		for j := range p.chunk {
			var left, right fp128.Fp
			if at := i*p.chunk + j; at < len(values) {
				left.Mul(&power, &values[at])
				right.Sub(&values[at], &whole)
			} else {
				right.Sub(&right, &whole)
			}
			visit(i, j, &left, &right)
			power.MulAssign(&joint[i])
		}
	}
	if p.calls == p.checks {
		return
	}
	centred := p.centred(p.circuit.truncate(values), whole)
	for at := range (p.calls - p.checks) * p.chunk {
		var x fp128.Fp
		if at < len(centred) {
			x = centred[at]
		}
		visit(p.checks+at/p.chunk, at%p.chunk, &x, &x)
	}
}

// prove makes the proof for encoded numbers, with a seed for each wire, all of them in
// Montgomery's form.
func (p proof) prove(values, seeds, joint fp128.Vec) fp128.Vec {
	all := make(fp128.Vec, p.arity()*p.points) // a wire after another
	for w := range p.arity() {
		all[w*p.points] = seeds[w]
	}
	p.wires(values, joint, func(call, product int, left, right *fp128.Fp) {
		all[2*product*p.points+1+call] = *left
		all[(2*product+1)*p.points+1+call] = *right
	})
	gadget := make(fp128.Vec, 2*p.points)
	double := newDoubler(p.points)
	lefts, rights := make(fp128.Vec, p.points), make(fp128.Vec, p.points)
	var t fp128.Fp
	for j := range p.chunk {
		left, right := all[2*j*p.points:(2*j+1)*p.points], all[(2*j+1)*p.points:(2*j+2)*p.points]
		double.between(lefts, left)
		double.between(rights, right)
		for k := range p.points {
			t.Mul(&left[k], &right[k])
			gadget[2*k].AddAssign(&t)
			t.Mul(&lefts[k], &rights[k])
			gadget[2*k+1].AddAssign(&t)
		}
	}
	return append(append(make(fp128.Vec, 0, p.length()), seeds...), gadget[:2*p.points-1]...)
}

var errPoint = errors.New("prio3: the random place is one of those that polynomials are given at; draw another nonce")

// query returns an aggregator's part of the verification, on its share: of plain elements, with
// random ones in Montgomery's form. Vector is the one that the values encode.
func (p proof) query(values, vector, share, random, joint fp128.Vec) (fp128.Vec, error) {
	seeds, gadget := share[:p.arity()], complete(share[p.arity():])
	place := random[len(random)-1]
	at, err := weights(p.points, &place)
	if err != nil {
		return nil, err
	}
	twice, err := weights(2*p.points, &place)
	if err != nil {
		return nil, err
	}
	answer := make(fp128.Vec, p.answers())
	answer[0] = p.condition(values, gadget, random)
	p.look(answer[1:1+p.arity()], values, p.centred(vector, half), seeds, joint, at)
	answer[1+p.arity()] = gadget.DotProduct(twice)
	return answer, nil
}

// look sets answer to the values of all wires at the random place, which has these weights.
// A wire of r_i^(j+1) x is added up by powers that have the call's weight in them already, and
// of the one that the other wires subtract, each aggregator takes a half.
func (p proof) look(answer, values, centred, seeds, joint, at fp128.Vec) {
	all := make([]wide, p.arity())
	for w := range all {
		all[w].add(&seeds[w], &at[0])
	}
	var none fp128.Fp
	for i := range p.checks {
		none.AddAssign(&at[1+i])
		row := values[i*p.chunk : min((i+1)*p.chunk, len(values))]
		// Two powers in turn, so that a product need not wait for the one before.
		var powers [2]fp128.Fp
		var step fp128.Fp
		powers[0].Mul(&joint[i], &at[1+i])
		powers[1].Mul(&powers[0], &joint[i])
		step.Sqr(&joint[i])
		for j := range row {
			power := &powers[j&1]
			all[2*j].add(power, &row[j])
			all[2*j+1].add(&at[1+i], &row[j])
			power.MulAssign(&step)
		}
	}
	for i := p.checks; i < p.calls; i++ {
		row := centred[(i-p.checks)*p.chunk : min((i-p.checks+1)*p.chunk, len(centred))]
		for j := range row {
			all[2*j].add(&at[1+i], &row[j])
			all[2*j+1].add(&at[1+i], &row[j])
		}
	}
	none.MulAssign(&half)
	for w := range answer {
		answer[w] = all[w].reduce()
		if w&1 == 1 {
			answer[w].SubAssign(&none)
		}
	}
}

// condition returns what must be zero: the outputs of all checks together and, with random
// factors, the balance and the squares. The outputs are read off the gadget's polynomial.
func (p proof) condition(values, gadget, random fp128.Vec) (sum fp128.Fp) {
	for i := range p.checks {
		sum.AddAssign(&gadget[2*(1+i)])
	}
	if rest, ok := p.circuit.balance(values); ok {
		for i := p.checks; i < p.calls; i++ {
			rest.AddAssign(&gadget[2*(1+i)])
		}
		sum.MulAssign(&random[0])
		rest.MulAssign(&random[1])
		sum.AddAssign(&rest)
	}
	return sum
}

// decide looks at the sum of both parts of a verification, which is plain.
func (p proof) decide(sum fp128.Vec) bool {
	var all wide
	for j := range p.chunk {
		all.add(&sum[1+2*j], &sum[2+2*j])
	}
	output := all.reduce() // over 2^128, as two plain factors are
	output.MulAssign(&square)
	return sum[0].IsZero() && output.IsEqual(&sum[1+p.arity()])
}

// complete appends the last of a power of two of values, such that the polynomial's
// highest coefficient is zero: with w the root of unity, sum_i w^i y_i = 0.
func complete(values fp128.Vec) fp128.Vec {
	n := len(values) + 1
	var w, power, sum, t fp128.Fp
	w.SetRootOfUnityTwoN(uint(bits.Len(uint(n)) - 1))
	power.SetOne()
	for i := range values {
		t.Mul(&power, &values[i])
		sum.AddAssign(&t)
		power.MulAssign(&w)
	}
	sum.MulAssign(&w)
	var last fp128.Fp
	last.SubAssign(&sum)
	return append(append(make(fp128.Vec, 0, n), values...), last)
}

// weights returns those with which the n values of a polynomial at roots of unity, n a
// power of two, add up to its value at x: (x^n - 1)/n w^i/(x - w^i). It fails where x
// is one of the roots.
func weights(n int, x *fp128.Fp) (fp128.Vec, error) {
	log := uint(bits.Len(uint(n)) - 1)
	var w, one, factor, all fp128.Fp
	w.SetRootOfUnityTwoN(log)
	one.SetOne()
	factor = *x
	for range log {
		factor.Sqr(&factor)
	}
	if factor.SubAssign(&one); factor.IsZero() {
		return nil, errPoint
	}
	var part fp128.Fp
	part.InvTwoN(log)
	factor.MulAssign(&part)

	// All inverses for the price of one: out holds the products of what comes before.
	out, differences := make(fp128.Vec, n), make(fp128.Vec, n)
	all, root := one, one
	for i := range n {
		differences[i].Sub(x, &root)
		out[i] = all
		all.MulAssign(&differences[i])
		root.MulAssign(&w)
	}
	all.Inv(&all)
	all.MulAssign(&factor)
	w.Inv(&w)
	for i := n - 1; i >= 0; i-- {
		root.MulAssign(&w) // w^i
		out[i].MulAssign(&all)
		out[i].MulAssign(&root)
		all.MulAssign(&differences[i])
	}
	return out, nil
}

// doubler turns n values of polynomials into those between them.
type doubler struct {
	n            int
	shift        fp128.Vec // powers of the 2n-th root of unity, over n
	coefficients fp128.Vec
}

func newDoubler(n int) *doubler {
	d := &doubler{n: n, shift: make(fp128.Vec, n), coefficients: make(fp128.Vec, n)}
	log := uint(bits.Len(uint(n)) - 1)
	var root fp128.Fp
	root.SetRootOfUnityTwoN(log + 1)
	d.shift[0].InvTwoN(log)
	for i := 1; i < n; i++ {
		d.shift[i].Mul(&d.shift[i-1], &root)
	}
	return d
}

// between sets odd to the polynomial's values at the odd powers of the 2n-th root of
// unity, given those at the even ones.
func (d *doubler) between(odd, even fp128.Vec) {
	d.coefficients.InvNTT(even, uint(d.n))
	for i := range d.coefficients {
		d.coefficients[i].MulAssign(&d.shift[i])
	}
	odd.NTT(d.coefficients, uint(d.n))
}
