package encode

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/confetti-dp/confetti/internal/testkit/costlimit"
)

func must[T any](t testing.TB) func(T, error) T {
	return func(x T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
}

// refused checks that an error names a rule and nothing of the value.
func refused(t *testing.T, err error, rule string, value string) {
	t.Helper()
	if err == nil || !strings.HasPrefix(err.Error(), "encode: ") || !strings.Contains(err.Error(), rule) {
		t.Errorf("error %v does not name the rule %q", err, rule)
	} else if value != "" && strings.Contains(err.Error(), value) {
		t.Errorf("error %q repeats the value", err)
	}
}

func TestCategories(t *testing.T) {
	named := must[*Categories](t)(NewCategories([]string{"red", "green", ""}, true))
	bare := must[*Categories](t)(NewCategories([]string{"red", "green"}, false))
	numbers := must[*Categories](t)(NumberedCategories(12, true))
	for _, c := range []struct {
		domain *Categories
		value  string
		cell   uint32
	}{
		{named, "red", 0}, {named, "green", 1}, {named, "", 2}, {named, "Red", 3}, {named, "others", 3}, {named, "\xff", 3},
		{bare, "green", 1},
		{numbers, "0", 0}, {numbers, "11", 11}, {numbers, "12", 12}, {numbers, "03", 12}, {numbers, "-1", 12}, {numbers, "+1", 12},
		{numbers, "1e0", 12}, {numbers, "99999999999999999999", 12}, {numbers, "", 12}, {numbers, " 1", 12},
	} {
		if got, err := c.domain.Encode(c.value); err != nil || !slices.Equal(got, []uint32{c.cell}) {
			t.Errorf("%q is in %v (%v), want %d", c.value, got, err, c.cell)
		}
	}
	_, err := bare.Encode("secret")
	refused(t, err, "outside the declared domain", "secret")
	_, err = bare.EncodeNumber(1234567)
	refused(t, err, "outside the declared domain", "1234567")
	for x, want := range map[int]uint32{0: 0, 11: 11, 12: 12, -1: 12, math.MaxInt: 12} {
		if got := must[[]uint32](t)(numbers.EncodeNumber(x)); got[0] != want {
			t.Errorf("%d is in %d, want %d", x, got[0], want)
		}
	}
	for i, want := range []string{"red", "green", "", othersName} {
		if got := named.Name(i); got != want {
			t.Errorf("cell %d is %q", i, got)
		}
	}
	if numbers.Size() != 13 || numbers.Name(7) != "7" || numbers.Name(12) != othersName || bare.Size() != 2 {
		t.Error("sizes or names of numbered categories")
	}
	for rule, bad := range map[string]func() (*Categories, error){
		"domain of 0 cells":  func() (*Categories, error) { return NumberedCategories(0, false) },
		"give from 1 to":     func() (*Categories, error) { return NumberedCategories(maxCells, true) },
		"domain of -9223":    func() (*Categories, error) { return NumberedCategories(math.MaxInt, true) },
		"0 and 2 are the":    func() (*Categories, error) { return NewCategories([]string{"a", "b", "a"}, false) },
		"not valid UTF-8":    func() (*Categories, error) { return NewCategories([]string{"a", "\xff"}, false) },
		"the cell for other": func() (*Categories, error) { return NewCategories([]string{"a", othersName}, true) },
	} {
		_, err := bad()
		refused(t, err, rule, "")
	}
}

func TestSet(t *testing.T) {
	items := must[*Categories](t)(NewCategories([]string{"a", "b", "c", "d"}, true))
	set := must[*Set](t)(NewSet(items, 2))
	for _, c := range []struct {
		value []string
		cells []uint32
	}{
		{nil, []uint32{}}, {[]string{"c"}, []uint32{2}}, {[]string{"d", "a"}, []uint32{0, 3}}, {[]string{"a", "d"}, []uint32{0, 3}},
		{[]string{"b", "b", "b"}, []uint32{1}}, {[]string{"x", "b", "y"}, []uint32{1, 4}}, {[]string{"a", "b", "a", "b"}, []uint32{0, 1}},
	} {
		if got, err := set.Encode(c.value); err != nil || !slices.Equal(got, c.cells) {
			t.Errorf("%q is in %v (%v), want %v", c.value, got, err, c.cells)
		}
	}
	if got, err := set.EncodeNumbers([]int{3, 0, 3}); err != nil || !slices.Equal(got, []uint32{0, 3}) {
		t.Errorf("items by number are in %v (%v)", got, err)
	}
	_, err := set.Encode([]string{"d", "b", "a"})
	refused(t, err, "more than 2 items", "d b")
	if got := set.Clip([]string{"d", "d", "b", "a"}); !slices.Equal(got, []uint32{1, 3}) {
		t.Errorf("the first two are in %v", got)
	}
	strict := must[*Set](t)(NewSet(must[*Categories](t)(NumberedCategories(3, false)), 3))
	_, err = strict.EncodeNumbers([]int{0, 777})
	refused(t, err, "outside the declared domain", "777")
	if got := strict.ClipNumbers([]int{-1, 2, 777, 0}); !slices.Equal(got, []uint32{0, 2}) {
		t.Errorf("those with a cell are in %v", got)
	}
	for _, most := range []int{0, -1, 6} {
		_, err := NewSet(items, most)
		refused(t, err, "from 1 to the size", "")
	}
	if set.Size() != 5 || set.most != 2 || set.Name(4) != othersName {
		t.Error("shape of a set")
	}
}

// Every edge begins its own bucket and the float64 before it ends the one before, also
// where the quotient rounds across it; decimals are where they are written.
func TestBucketsHaveExactEdges(t *testing.T) {
	for _, cells := range []int{10, 100, 1000, 7} {
		b := must[*Buckets](t)(NewBuckets(Axis{0, 1, cells}, false))
		for i := range cells {
			x, err := strconv.ParseFloat(fmt.Sprintf("%de-%d", i, len(strconv.Itoa(cells))-1), 64)
			if err == nil && cells != 7 {
				if got := must[[]uint32](t)(b.Encode(x)); got[0] != uint32(i) {
					t.Errorf("%v is in bucket %d of %d", x, got[0], cells)
				}
			}
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		a := Axis{Low: rapid.Float64Range(-1e6, 1e6).Draw(t, "low"), Cells: rapid.IntRange(2, 5000).Draw(t, "cells")}
		a.High = a.Low + rapid.Float64Range(1e-3, 1e6).Draw(t, "width")
		b, err := NewBuckets(a, false)
		if err != nil {
			t.Fatal(err)
		}
		i := rapid.IntRange(1, a.Cells-1).Draw(t, "i")
		at, _ := b.Encode(a.Edge(i))
		before, _ := b.Encode(math.Nextafter(a.Edge(i), math.Inf(-1)))
		if at[0] != uint32(i) || before[0] != uint32(i-1) {
			t.Fatalf("edge %d of %+v is in bucket %d, what is before it in %d", i, a, at[0], before[0])
		}
	})
}

func TestBuckets(t *testing.T) {
	open := must[*Buckets](t)(NewBuckets(Axis{-10, 30, 4}, false))
	closed := must[*Buckets](t)(NewBuckets(Axis{-10, 30, 4}, true))
	for _, c := range []struct {
		x           float64
		cell, other uint32
	}{
		{math.Inf(-1), 0, 4}, {math.Inf(1), 3, 4}, {-1e300, 0, 4}, {math.Nextafter(-10, -11), 0, 4}, {-10, 0, 0}, {0, 1, 1}, {math.Copysign(0, -1), 1, 1}, {19.99, 2, 2}, {20, 3, 3},
		{30, 3, 3}, {math.Nextafter(30, 31), 3, 4}, {1e300, 3, 4},
	} {
		a, b := must[[]uint32](t)(open.Encode(c.x)), must[[]uint32](t)(closed.Encode(c.x))
		if a[0] != c.cell || b[0] != c.other {
			t.Errorf("%v is in %d and %d, want %d and %d", c.x, a[0], b[0], c.cell, c.other)
		}
	}
	_, err := open.Encode(math.NaN())
	refused(t, err, "no number", "")
	if got := must[[]uint32](t)(closed.Encode(math.NaN())); got[0] != 4 {
		t.Errorf("no number is in %d", got[0])
	}
	names := func(b *Buckets) (list []string) {
		for i := range b.Size() {
			list = append(list, b.Name(i))
		}
		return list
	}
	for _, c := range []struct {
		got  []string
		want string
	}{
		{names(open), "below 0, 0 to 10, 10 to 20, 20 and more"},
		{names(closed), "-10 to 0, 0 to 10, 10 to 20, 20 to 30, others"},
		{names(must[*Buckets](t)(NewBuckets(Axis{0.1, 0.4, 3}, true))), "0.1 to 0.2, 0.2 to 0.3, 0.3 to 0.4, others"},
		{names(must[*Buckets](t)(NewBuckets(Axis{0, 3e6, 3}, true))), "0 to 1000000, 1000000 to 2000000, 2000000 to 3000000, others"},
		{names(must[*Buckets](t)(NewBuckets(Axis{1e9, 1e9 + 2, 2}, true))), "1000000000 to 1000000001, 1000000001 to 1000000002, others"},
		{names(must[*Buckets](t)(NewBuckets(Axis{0, 2e-9, 2}, true))), "0 to 1e-09, 1e-09 to 2e-09, others"},
	} {
		if got := strings.Join(c.got, ", "); got != c.want {
			t.Errorf("buckets are called %s, want %s", got, c.want)
		}
	}
	for rule, bad := range map[string]Axis{
		"lower first":        {1, 1, 2},
		"an axis from NaN":   {math.NaN(), 1, 2},
		"an axis from 0 to ": {0, math.Inf(1), 2},
		"an axis from -1e+":  {-1e101, 0, 2},
		"of 0 intervals":     {0, 1, 0},
		"give from 1 to":     {0, 1, maxCells + 1},
		"narrower than":      {1, 1 + 0x1p-50, 4},
		"a domain of 1":      {0, 1, 1},
	} {
		_, err := NewBuckets(bad, false)
		refused(t, err, rule, "")
	}
}

func TestGrid(t *testing.T) {
	x, y := Axis{0, 3, 3}, Axis{-1, 1, 2}
	open, closed := must[*Grid](t)(NewGrid(x, y, false)), must[*Grid](t)(NewGrid(x, y, true))
	for _, c := range []struct {
		p           Point
		cell, other uint32
	}{
		{Point{0, -1}, 0, 0}, {Point{1, -1}, 1, 1}, {Point{2.5, 0.5}, 5, 5}, {Point{3, 1}, 5, 5}, {Point{0, 0}, 3, 3},
		{Point{-1, 0.5}, 3, 6}, {Point{1.5, 7}, 4, 6}, {Point{9, -9}, 2, 6}, {Point{math.Inf(1), 0}, 5, 6},
	} {
		a, b := must[[]uint32](t)(open.Encode(c.p)), must[[]uint32](t)(closed.Encode(c.p))
		if a[0] != c.cell || b[0] != c.other {
			t.Errorf("%v is in %d and %d, want %d and %d", c.p, a[0], b[0], c.cell, c.other)
		}
	}
	if open.Size() != 6 || closed.Size() != 7 || closed.Name(6) != othersName || closed.Name(4) != "x 1 to 2, y 0 to 1" || open.Name(0) != "x below 1, y below 0" {
		t.Errorf("shape of a grid: %q, %q", closed.Name(4), open.Name(0))
	}
	for _, p := range []Point{{math.NaN(), 0}, {math.Inf(-1), math.NaN()}} {
		_, err := open.Encode(p)
		refused(t, err, "no number", "")
		if got := must[[]uint32](t)(closed.Encode(p)); got[0] != 6 {
			t.Errorf("no point is in %d", got[0])
		}
	}
	_, err := NewGrid(Axis{0, 1, 1 << 14}, Axis{0, 1, 1 << 14}, false)
	refused(t, err, "a domain of", "")
	_, err = NewGrid(x, Axis{}, false)
	refused(t, err, "lower first", "")
	must[*Grid](t)(NewGrid(Axis{0, 1, 1}, Axis{0, 1, 2}, false)) // one column is a grid
}

// Whatever a string holds, it is in one cell of the domain or refused by a rule.
func FuzzEncodeStrings(f *testing.F) {
	named := must[*Categories](f)(NewCategories([]string{"a", "bb", "é", "\u0000"}, true))
	numbers := must[*Categories](f)(NumberedCategories(1000, false))
	set := must[*Set](f)(NewSet(named, 2))
	for _, s := range []string{"", "a", "bb", "999", "1000", "-0", "a\xff", "\xed\xa0\x80", "\u0003", "éa", strings.Repeat("9", 400), "a,bb,a", "x,y,é"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		costlimit.Heap(t, costlimit.Factor, len(s), func() {
			for _, d := range []struct {
				size int
				name func(int) string
				got  func() ([]uint32, error)
			}{
				{named.Size(), named.Name, func() ([]uint32, error) { return named.Encode(s) }},
				{numbers.Size(), numbers.Name, func() ([]uint32, error) { return numbers.Encode(s) }},
				{set.Size(), set.Name, func() ([]uint32, error) { return set.Encode(strings.Split(s, ",")) }},
			} {
				cells, err := d.got()
				if err != nil {
					if cells != nil || !strings.HasPrefix(err.Error(), "encode: ") || len(s) > 30 && strings.Contains(err.Error(), s) {
						t.Fatalf("refused with %v and cells %v", err, cells)
					}
					continue
				}
				for i, c := range cells {
					if int(c) >= d.size || i > 0 && c <= cells[i-1] || !utf8.ValidString(d.name(int(c))) {
						t.Fatalf("cells %v of %d", cells, d.size)
					}
				}
			}
		})
	})
}

func BenchmarkCategoriesOf1778120Names(b *testing.B) {
	names := make([]string, 1778120)
	for i := range names {
		names[i] = "word " + strconv.Itoa(i)
	}
	c := must[*Categories](b)(NewCategories(names, true))
	for i := 0; b.Loop(); i++ {
		c.Encode(names[i*7919%len(names)])
	}
}

func BenchmarkBuckets(b *testing.B) {
	d := must[*Buckets](b)(NewBuckets(Axis{0, 1, 1000}, true))
	for i := 0; b.Loop(); i++ {
		d.Encode(float64(i%1500) / 1000)
	}
}
