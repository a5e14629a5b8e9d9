package x25519

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"sync"

	"filippo.io/edwards25519/field"
)

// Key multiplies one public key by many secrets that are used once. Eight lanes do, where this processor has them, and
// tables of the key's multiples elsewhere.
type Key struct {
	point [32]byte
	table *table // nil: lanes
}

// errNoTable is the error of a key that has no table: of small order, or of the twist, where half of all strings are and
// no key that somebody made.
var errNoTable = errors.New("x25519: no point of the curve's large group")

// NewKey prepares a public key. An error means that crypto/ecdh should seal to it, or refuse it.
func NewKey(public [32]byte) (*Key, error) {
	t, err := tableOf(public)
	if err != nil {
		return nil, err
	}
	if Lanes() {
		t = nil
	}
	return &Key{public, t}, nil
}

// Pairs draws a secret for each place from the system's randomness, writes its public key and its product with the key,
// and forgets it. With an error nothing may be used.
func (k *Key) Pairs(public, shared [][32]byte) error {
	secrets := make([][32]byte, len(public))
	defer clear(secrets)
	for i := range secrets {
		rand.Read(secrets[i][:])
	}
	return k.pairs(public, shared, secrets)
}

var errZero = errors.New("x25519: a product is zero")

func (k *Key) pairs(public, shared, secrets [][32]byte) error {
	if k.table != nil {
		return k.table.pairs(public, shared, secrets)
	}
	var base, own, scalars, out [width][32]byte
	for l := range base {
		base[l][0], own[l] = 9, k.point
	}
	for len(secrets) > 0 {
		n := copy(scalars[:], secrets)
		swaps := swapsOf(&scalars)
		eight(&out, &swaps, &base)
		copy(public, out[:n])
		eight(&out, &swaps, &own)
		copy(shared, out[:n])
		public, shared, secrets = public[n:], shared[n:], secrets[n:]
		clear(swaps[:])
	}
	clear(scalars[:])
	clear(out[:])
	return nil
}

// point is a point of the Edwards curve -x^2 + y^2 = 1 + d x^2 y^2 as (x/z, y/z), with t = xy/z.
type point struct{ x, y, z, t field.Element }

var (
	one = new(field.Element).One()
	d   = func() *field.Element { // -121665/121666
		n := new(field.Element).Mult32(one, 121665)
		m := new(field.Element).Mult32(one, 121666)
		return n.Multiply(n.Negate(n), m.Invert(m))
	}()
	twoD = new(field.Element).Add(d, d)
)

func identity() point { return point{y: *one, z: *one} }

// add adds by the formulas of Hisil, Wong, Carter and Dawson (2008, 3.1), which hold for all points.
func (p *point) add(q *point) {
	var plus, minus, c, e field.Element
	plus.Add(&q.y, &q.x)
	minus.Subtract(&q.y, &q.x)
	c.Multiply(&q.t, twoD)
	e.Multiply(&p.z, &q.z)
	p.sum(&plus, &minus, &c, e.Add(&e, &e))
}

// sum adds the point (y+x, y-x, 2dt); twice is 2 z of both.
func (p *point) sum(plus, minus, t2d, twice *field.Element) {
	var a, b, c, e, f, g, h field.Element
	a.Multiply(a.Subtract(&p.y, &p.x), minus)
	b.Multiply(b.Add(&p.y, &p.x), plus)
	c.Multiply(&p.t, t2d)
	e.Subtract(&b, &a)
	f.Subtract(twice, &c)
	g.Add(twice, &c)
	h.Add(&b, &a)
	p.x.Multiply(&e, &f)
	p.y.Multiply(&g, &h)
	p.z.Multiply(&f, &g)
	p.t.Multiply(&e, &h)
}

// entry is y+x, y-x and 2dxy of a point, 32 bytes each, as words that masks select.
type entry [12]uint64

// table has the multiples 1 to 8 of 16^i times a point, for each of 64 signed digits i.
type table [64][8]entry

var base = sync.OnceValue(func() *table {
	t, err := tableOf([32]byte{9})
	if err != nil {
		panic("x25519: " + err.Error()) // a constant
	}
	return t
})

// edwards returns a point whose multiples have the u of those of the given one. There are two, p and -p, and either does.
func edwards(u [32]byte) (p point, err error) {
	n, err := new(field.Element).SetBytes(u[:]) // without the top bit, and modulo p
	if err != nil {
		return p, err
	}
	below := new(field.Element).Add(n, one)
	p = identity()
	p.y.Multiply(p.y.Subtract(n, one), below.Invert(below)) // u = -1 has none, and is of the twist
	var square, above field.Element
	square.Square(&p.y)
	above.Subtract(&square, one)
	square.Add(square.Multiply(&square, d), one)
	if _, ok := p.x.SqrtRatio(&above, &square); ok == 0 {
		return p, errNoTable
	}
	p.t.Multiply(&p.x, &p.y)
	eight := p
	for range 3 {
		eight.add(&eight)
	}
	if eight.x.Equal(new(field.Element)) == 1 {
		return p, errNoTable // 8 p is the identity
	}
	return p, nil
}

func tableOf(u [32]byte) (*table, error) {
	p, err := edwards(u)
	if err != nil {
		return nil, err
	}
	all := make([]point, 0, 64*8)
	for range 64 {
		multiple := p
		for range 8 {
			all = append(all, multiple)
			multiple.add(&p)
		}
		p = all[len(all)-1] // 8 p
		p.add(&p)
	}
	z := make([]field.Element, len(all))
	for i := range all {
		z[i] = all[i].z
	}
	if !invert(z) {
		return nil, errZero
	}
	t := new(table)
	for i := range all {
		var x, y, n field.Element
		x.Multiply(&all[i].x, &z[i])
		y.Multiply(&all[i].y, &z[i])
		e := &t[i/8][i%8]
		e.set(0, n.Add(&y, &x))
		e.set(1, n.Subtract(&y, &x))
		e.set(2, n.Multiply(n.Multiply(&x, &y), twoD))
	}
	return t, nil
}

// set keeps a number in words; get returns the number.
func (e *entry) set(at int, n *field.Element) {
	for i, b := 0, n.Bytes(); i < 4; i++ {
		e[4*at+i] = binary.LittleEndian.Uint64(b[8*i:])
	}
}

func (e *entry) get(at int, n *field.Element) *field.Element {
	var b [32]byte
	for i := range 4 {
		binary.LittleEndian.PutUint64(b[8*i:], e[4*at+i])
	}
	if _, err := n.SetBytes(b[:]); err != nil {
		panic("x25519: " + err.Error()) // 32 bytes
	}
	return n
}

// pick returns the multiple of a digit from -8 to 8. It reads all eight entries, whatever the digit.
func pick(m *[8]entry, digit int8) entry {
	negative := uint64(int64(digit) >> 63)
	size := (uint64(int64(digit)) ^ negative) - negative
	is := func(n uint64) uint64 { return uint64(int64((size^n)-1) >> 63) } // all ones where the size is n
	a, b, c, d, e, f, g, h := is(1), is(2), is(3), is(4), is(5), is(6), is(7), is(8)
	var out entry
	for i := range out {
		out[i] = a&m[0][i] | b&m[1][i] | c&m[2][i] | d&m[3][i] | e&m[4][i] | f&m[5][i] | g&m[6][i] | h&m[7][i]
	}
	out[0] |= is(0) & 1 // the identity: 1, 1, 0
	out[4] |= is(0) & 1
	for i := range 4 { // -p has y-x in the place of y+x
		w := negative & (out[i] ^ out[4+i])
		out[i] ^= w
		out[4+i] ^= w
	}
	return out
}

// digitsOf returns the clamped secret, not reduced, as 64 digits from -8 to 8, the lowest first.
func digitsOf(secret *[32]byte) (digits [64]int8) {
	k := *secret
	k[0] &= 248
	k[31] = k[31]&127 | 64
	for i, b := range k {
		digits[2*i], digits[2*i+1] = int8(b&15), int8(b>>4)
	}
	for i := range 63 {
		carry := (digits[i] + 8) >> 4
		digits[i] -= carry << 4
		digits[i+1] += carry
	}
	return digits
}

// times writes u of a product as a fraction.
func (t *table) times(digits *[64]int8, above, below *field.Element) {
	p := identity()
	var plus, minus, t2d, negated, twice field.Element
	for i, digit := range digits {
		e := pick(&t[i], digit)
		e.get(2, &t2d)
		t2d.Select(negated.Negate(&t2d), &t2d, int(uint8(digit)>>7))
		p.sum(e.get(0, &plus), e.get(1, &minus), &t2d, twice.Add(&p.z, &p.z))
	}
	above.Add(&p.z, &p.y)
	below.Subtract(&p.z, &p.y)
}

// pairs makes all public keys and products with one inversion.
func (t *table) pairs(public, shared, secrets [][32]byte) error {
	n := len(secrets)
	above, below := make([]field.Element, 2*n), make([]field.Element, 2*n)
	for i := range secrets {
		digits := digitsOf(&secrets[i])
		base().times(&digits, &above[i], &below[i])
		t.times(&digits, &above[n+i], &below[n+i])
		clear(digits[:])
	}
	if !invert(below) {
		return errZero
	}
	for i := range n {
		copy(public[i][:], above[i].Multiply(&above[i], &below[i]).Bytes())
		copy(shared[i][:], above[n+i].Multiply(&above[n+i], &below[n+i]).Bytes())
	}
	clear(above)
	clear(below)
	return nil
}

// invert replaces all numbers by their inverses. It reports false, and says nothing of any, if one is zero.
func invert(all []field.Element) bool {
	before := make([]field.Element, len(all)) // products of those before
	product := *one
	for i := range all {
		before[i] = product
		product.Multiply(&product, &all[i])
	}
	if product.Equal(new(field.Element)) == 1 {
		return false
	}
	product.Invert(&product)
	for i := len(all) - 1; i >= 0; i-- {
		own := all[i]
		all[i].Multiply(&product, &before[i])
		product.Multiply(&product, &own)
	}
	clear(before)
	return true
}
