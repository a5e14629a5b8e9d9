package prio3

import (
	"math/big"
	"testing"

	"github.com/confetti-dp/confetti/internal/third_party/circl/vdaf/prio3/arith/fp128"
	"pgregory.net/rapid"
)

var modulus, _ = new(big.Int).SetString("ffffffffffffffe40000000000000001", 16)

func whole(x fp128.Fp) *big.Int {
	b := new(big.Int).SetUint64(x[1])
	return b.Add(b.Lsh(b, 64), new(big.Int).SetUint64(x[0]))
}

// elements draws some, those at both ends of the field more often.
func elements(n int) *rapid.Generator[fp128.Vec] {
	return rapid.Custom(func(t *rapid.T) fp128.Vec {
		v := make(fp128.Vec, n)
		for i := range v {
			switch rapid.IntRange(0, 3).Draw(t, "kind") {
			case 0:
				v[i] = fp128.Fp{rapid.Uint64Range(0, 2).Draw(t, "small")}
			case 1:
				v[i] = fp128.Fp{0, upper} // p - 1
			default:
				v[i] = fp128.Fp{rapid.Uint64().Draw(t, "low"), rapid.Uint64Range(0, upper-1).Draw(t, "up")}
			}
			if !below(v[i][0], v[i][1]) {
				t.Fatalf("%v is not below %v", whole(v[i]), modulus)
			}
		}
		return v
	})
}

// Sums of products are those of whole numbers, over 2^128, also of as many as a proof has of
// the largest; both forms are turned into each other.
func TestFieldIsThatOfWholeNumbers(t *testing.T) {
	inverse := new(big.Int).ModInverse(new(big.Int).Lsh(big.NewInt(1), 128), modulus)
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 12).Draw(t, "products")
		a, b := elements(n).Draw(t, "a"), elements(n).Draw(t, "b")
		repeat := 1 << rapid.IntRange(0, 12).Draw(t, "repeat")
		var w wide
		want := new(big.Int)
		for i := range a {
			product := new(big.Int).Mul(whole(a[i]), whole(b[i]))
			want.Add(want, product.Mul(product, big.NewInt(int64(repeat))))
			for range repeat {
				w.add(&a[i], &b[i])
			}
		}
		want.Mul(want, inverse).Mod(want, modulus)
		sum, one := new(big.Int), append(fp128.Vec{}, a...)
		accumulate(one, b)
		for i := range a {
			sum.Add(sum, whole(a[i]))
			if want := new(big.Int).Add(whole(a[i]), whole(b[i])); whole(one[i]).Cmp(want.Mod(want, modulus)) != 0 {
				t.Fatalf("%v and %v are %v", whole(a[i]), whole(b[i]), whole(one[i]))
			}
		}
		if whole(total(a)).Cmp(sum.Mod(sum, modulus)) != 0 {
			t.Fatalf("%v in all, want %v", whole(total(a)), sum)
		}
		got := w.reduce()
		if whole(got).Cmp(want) != 0 {
			t.Fatalf("%v, want %v", whole(got), want)
		}
		c := append(fp128.Vec{}, a...)
		for i, x := range montgomery(c) {
			product := new(big.Int).Mul(whole(a[i]), new(big.Int).Lsh(big.NewInt(1), 128))
			if whole(x).Cmp(product.Mod(product, modulus)) != 0 {
				t.Fatalf("%v in Montgomery's form is %v", whole(a[i]), whole(x))
			}
		}
		for i, x := range plain(c) {
			if x != a[i] {
				t.Fatalf("%v became %v there and back", a[i], x)
			}
		}
	})
	w := wide{1<<64 - 1, 1<<64 - 1, 1<<64 - 1, 1<<64 - 1, 1<<32 - 1} // more than any sum
	want := new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 288), big.NewInt(1))
	if got := w.reduce(); whole(got).Cmp(want.Mul(want, inverse).Mod(want, modulus)) != 0 {
		t.Errorf("%v, want %v", whole(got), want)
	}
}

// Numbers from p on are refused, and drawn again.
func TestElementsAreBelowTheModulus(t *testing.T) {
	for _, x := range []fp128.Fp{{1, upper}, {0, upper + 1}, {1<<64 - 1, 1<<64 - 1}} {
		if _, err := readVec(appendVec(nil, fp128.Vec{{0, upper}, x})); err == nil {
			t.Errorf("%v was taken for an element", x)
		}
	}
	if v, err := readVec(appendVec(nil, fp128.Vec{{0, upper}})); err != nil || v[0] != (fp128.Fp{0, upper}) {
		t.Errorf("the largest element was read as %v: %v", v, err)
	}
}
