package encode

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

const end = string(End)

func TestPrefixes(t *testing.T) {
	p := must[*Prefixes](t)(NewPrefixes([]string{"an", "aé", "b" + end, end}, 0))
	for value, want := range map[string]uint32{
		"an": 0, "and": 0, "aér": 1, "b": 2, "be": 4, "": 3, "a": 4, "ae\u0301": 4, "zz": 4, "b\x00": 4,
	} {
		if got := must[[]uint32](t)(p.Encode(value)); got[0] != want {
			t.Errorf("%q is in %d, want %d", value, got[0], want)
		}
	}
	for _, bad := range []string{"secret\xff", "b" + end, end, "secret" + end + "x"} {
		if got := must[[]uint32](t)(p.Encode(bad)); got[0] != 4 {
			t.Errorf("what is no plain text is in %d", got[0])
		}
	}
	var names []string
	for i := range p.Size() {
		names = append(names, p.Name(i))
	}
	if got := strings.Join(names, "|"); got != "an…|aé…|b||others" {
		t.Errorf("candidates are called %s", got)
	}
	// Once all are whole, longer strings are others.
	whole := must[*Prefixes](t)(NewPrefixes([]string{"a" + end, "bcd" + end}, 0))
	for value, want := range map[string]uint32{"a": 0, "bcd": 1, "bc": 2, "bcde": 2} {
		if got := must[[]uint32](t)(whole.Encode(value)); got[0] != want {
			t.Errorf("%q is in %d, want %d", value, got[0], want)
		}
	}
	for rule, bad := range map[string][]string{
		"a domain of 1":       {},
		"0 is empty":          {""},
		"1 is not valid":      {"ab", "a\xff"},
		"0 is not valid":      {"a" + end + "b"},
		"1 is not valid UTF-": {"ab", end + end},
		"1 is shorter":        {"abc", "ab"},
		"0 and 1 are the":     {"ab", "ab"},
	} {
		_, err := NewPrefixes(bad, 0)
		refused(t, err, rule, "")
	}
}

func TestExtend(t *testing.T) {
	ab := []rune("ab")
	first := must[[]string](t)(Extend([]string{""}, ab))
	if want := []string{"a", "b", end}; !slices.Equal(first, want) {
		t.Errorf("the first candidates are %q", first)
	}
	second := must[[]string](t)(Extend([]string{"b", end}, ab))
	if want := []string{"ba", "bb", "b" + end, end}; !slices.Equal(second, want) {
		t.Errorf("the second candidates are %q", second)
	}
	must[*Prefixes](t)(NewPrefixes(second, 0))
	for rule, bad := range map[string][]rune{"no alphabet": nil, "there twice": []rune("aba"), "is U+0003": {'a', End}, "no Unicode character": {0xD800}} {
		_, err := Extend([]string{""}, bad)
		refused(t, err, rule, "")
	}
	big := make([]rune, 0, 1<<16)
	for c := rune(0x10000); c < 0x20000; c++ {
		big = append(big, c)
	}
	_, err := Extend(slices.Repeat([]string{"a"}, 1<<11), big)
	refused(t, err, "more than", "")
}

// Candidates of a round part the strings: each is in the cell of the only candidate that
// it begins with, and whoever begins with an extended candidate began with the kept one.
func TestExtendedCandidatesPartStrings(t *testing.T) {
	alphabet := []rune("aé")
	rapid.Check(t, func(t *rapid.T) {
		kept := []string{""}
		var s string
		for range rapid.IntRange(0, 6).Draw(t, "length") {
			s += string(rapid.SampledFrom(alphabet).Draw(t, "character"))
		}
		for round := range 4 {
			next, err := Extend(kept, alphabet)
			if err != nil {
				t.Fatal(err)
			}
			p, err := NewPrefixes(next, 0)
			if err != nil {
				t.Fatal(err)
			}
			cell, err := p.Encode(s)
			if err != nil {
				t.Fatal(err)
			}
			begins := func(c string) bool { return strings.HasPrefix(s+end, c) }
			if at := slices.IndexFunc(next, begins); at >= 0 && cell[0] != uint32(at) || at < 0 && int(cell[0]) != len(next) {
				t.Fatalf("round %d: %q is in %d, candidates %q", round, s, cell[0], next)
			}
			if slices.ContainsFunc(next, begins) != slices.ContainsFunc(kept, begins) {
				t.Fatalf("round %d: extending lost or made %q", round, s)
			}
			kept = kept[:0]
			for _, c := range next {
				if rapid.Bool().Draw(t, "kept") {
					kept = append(kept, c)
				}
			}
			if len(kept) == 0 {
				return
			}
		}
	})
}

func BenchmarkPrefixes(b *testing.B) {
	d := must[*Prefixes](b)(NewPrefixes([]string{"the", "and", "a" + end}, 0))
	for b.Loop() {
		d.Encode("antidisestablishmentarianism")
	}
}
