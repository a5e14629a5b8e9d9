package treecode

import (
	"encoding/hex"
	"encoding/json"
	"math"
	"os"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/confetti-dp/confetti/internal/testkit/costlimit"
	"github.com/confetti-dp/confetti/internal/testkit/crosscheck"
)

func newCode(t testing.TB, s Shape) *Code {
	t.Helper()
	c, err := New(s, [32]byte{1, 2, 3})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// everyString lists all of a code, the reserved one first.
func everyString(c *Code) (all [][]uint8) {
	all = [][]uint8{nil}
	for from := 0; from < len(all); from++ {
		if at := all[from]; len(at) < c.Length() {
			for s := 1; s < c.Symbols(); s++ {
				all = append(all, append(append([]uint8{}, at...), uint8(s)))
			}
		}
	}
	return all
}

// widest returns the largest squared distance of two strings' vectors, and the largest squared norm.
func widest(all [][]float32) (distance, norm float64) {
	for i, v := range all {
		squares := 0.0
		for _, x := range v {
			squares += float64(x) * float64(x)
		}
		norm = max(norm, squares)
		for _, w := range all[:i] {
			squares := 0.0
			for k, x := range v {
				squares += float64(x-w[k]) * float64(x-w[k])
			}
			distance = max(distance, squares)
		}
	}
	return distance, norm
}

// vectorsOf returns those of all strings of a code.
func vectorsOf(c *Code) (all [][]float32) {
	for _, s := range everyString(c) {
		v := make([]float32, c.Numbers())
		c.Write(s, v)
		all = append(all, v)
	}
	return all
}

// No two strings of small codes are further apart than is charged for, and some are as far: of every
// pair, the reserved string among them. A code with an entry below zero is caught.
func TestGapIsEnumerated(t *testing.T) {
	const rounding = 1e-6
	for name, s := range map[string]Shape{
		"two letters":   {Alphabet: "ab", Longest: 4, Cells: 4, Hashes: 1, Tail: 2, Buckets: 3, Pairs: 0.1},
		"three letters": {Alphabet: "abc", Longest: 3, Cells: 5, Hashes: 2, Tail: 1, Buckets: 2, Pairs: 0.3},
		"one bucket":    {Alphabet: "ab", Longest: 3, Cells: 8, Hashes: 1, Tail: 3, Buckets: 1, Pairs: 0.1},
		"without pairs": {Alphabet: "ab", Longest: 3, Cells: 4, Hashes: 1, Tail: 2, Buckets: 4},
		"one byte":      {Longest: 1, Cells: 16, Hashes: 1, Tail: 4, Buckets: 3, Pairs: 0.1},
	} {
		all := vectorsOf(newCode(t, s))
		distance, norm := widest(all)
		if distance > SquaredDistance+rounding || norm > 1+rounding {
			t.Errorf("%s: a squared distance of %v and a squared norm of %v, where %v and 1 are charged", name, distance, norm, SquaredDistance)
		}
		if distance < SquaredDistance-0.2 {
			t.Errorf("%s: the squared distance is %v at most, and %v is charged", name, distance, SquaredDistance)
		}
		for i := range all[0] {
			all[0][i] = -all[1][i]
		}
		if distance, _ := widest(all); distance <= SquaredDistance+rounding {
			t.Errorf("%s: a vector with entries below zero was not seen", name)
		}
	}
}

// The vectors are what Python computes from docs/wire-reports.md.
func TestVectorsHaveASecondOrigin(t *testing.T) {
	const file = "testdata/vectors/v1/strings.json"
	crosscheck.Check(t, "testdata/vectors/origin.py", regexp.MustCompile(`(?s)"(?:places|entries)": \[[^]]*?([0-9])`), file)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var golden struct {
		Cases []struct {
			Shape
			Seed    string
			Strings []struct {
				Text    string
				Fits    bool
				Places  []int
				Entries []float64
			}
		}
	}
	if err := json.Unmarshal(text, &golden); err != nil || len(golden.Cases) < 4 {
		t.Fatal(err)
	}
	for i, g := range golden.Cases {
		seed, err := hex.DecodeString(g.Seed)
		if err != nil {
			t.Fatal(err)
		}
		c, err := New(g.Shape, [32]byte(seed))
		if err != nil {
			t.Fatal(err)
		}
		v := make([]float32, c.Numbers())
		for _, s := range g.Strings {
			symbols, err := c.Encode(s.Text)
			if (err == nil) != s.Fits {
				t.Errorf("case %d: %q: %v, fits %v", i, s.Text, err, s.Fits)
			}
			if text, ok := c.Decode(symbols); ok != s.Fits || ok && text != s.Text {
				t.Errorf("case %d: %q reads back as %q", i, s.Text, text)
			}
			c.Write(symbols, v)
			for k, at := range s.Places {
				if math.Abs(float64(v[at])-s.Entries[k]) > 1e-6 {
					t.Errorf("case %d: %q has %v at %d, want %v", i, s.Text, v[at], at, s.Entries[k])
				}
				v[at] = 0
			}
			for at, x := range v {
				if x != 0 {
					t.Errorf("case %d: %q has %v at %d, want none", i, s.Text, x, at)
				}
			}
		}
	}
}

func TestShapesAreRefused(t *testing.T) {
	good := Shape{Alphabet: "ab", Longest: 4, Cells: 4, Hashes: 1, Tail: 2, Buckets: 3, Pairs: 0.1}
	for want, spoil := range map[string]func(s *Shape){
		"twice":         func(s *Shape) { s.Alphabet = "aba" },
		"UTF-8":         func(s *Shape) { s.Alphabet = "a\xff" },
		"alphabet of":   func(s *Shape) { s.Alphabet = strings.Repeat("a", 200) },
		"strings of up": func(s *Shape) { s.Longest = 0 },
		"cells":         func(s *Shape) { s.Cells = 300 },
		"beginning":     func(s *Shape) { s.Hashes = 9 },
		"the whole":     func(s *Shape) { s.Tail = 0 },
		"buckets":       func(s *Shape) { s.Buckets = 0 },
		"a share":       func(s *Shape) { s.Pairs = math.NaN() },
		"vectors of":    func(s *Shape) { s.Buckets = maxNumbers },
	} {
		s := good
		if spoil(&s); s.Validate() == nil || !strings.Contains(s.Validate().Error(), want) {
			t.Errorf("%s: %v", want, s.Validate())
		}
	}
	if err := good.Validate(); err != nil {
		t.Error(err)
	}
}

// A cut leaves whole characters, and what it leaves fits.
func TestCutLeavesWholeCharacters(t *testing.T) {
	for _, c := range []struct{ alphabet, text, want string }{
		{"", "née", "née"}, {"", "neéé", "neé"}, {"", "李张", "李"}, {"äb", "äbäbäb", "äbäb"}, {"äb", "äb", "äb"},
	} {
		code := newCode(t, Shape{Alphabet: c.alphabet, Longest: 4, Cells: 4, Hashes: 1, Tail: 1, Buckets: 2})
		got := code.Cut(c.text)
		if _, err := code.Encode(got); got != c.want || err != nil {
			t.Errorf("%q is cut to %q, want %q (%v)", c.text, got, c.want, err)
		}
	}
}

func FuzzEncode(f *testing.F) {
	f.Add("zebra", false)
	f.Add("李\x00張", true)
	f.Add("\xff", true)
	f.Fuzz(func(t *testing.T, text string, any bool) {
		s := Shape{Alphabet: "abcdez r", Longest: 8, Cells: 8, Hashes: 1, Tail: 2, Buckets: 3, Pairs: 0.1}
		if any {
			s.Alphabet = ""
		}
		c := newCode(t, s)
		costlimit.Heap(t, costlimit.Factor, len(text), func() {
			symbols, err := c.Encode(text)
			if err != nil {
				return
			}
			if back, ok := c.Decode(symbols); !ok || back != text || !utf8.ValidString(text) {
				t.Errorf("%q reads back as %q", text, back)
			}
		})
	})
}
