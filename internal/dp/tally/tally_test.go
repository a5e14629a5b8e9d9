package tally

import (
	"bytes"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/confetti-dp/confetti/internal/testkit/costlimit"
)

// kinds are the tallies there are, with a generator of messages to each.
var kinds = map[string]struct {
	empty   func() Tally
	message *rapid.Generator[[]byte]
}{
	"counts": {
		func() Tally { return NewCounts(3, 2) },
		rapid.Custom(func(t *rapid.T) []byte {
			said := NewMessages(1)
			said.Say(rapid.Uint32Range(0, 2).Draw(t, "channel"), rapid.Uint8Range(0, 1).Draw(t, "symbol"))
			return said.Bodies[0]
		}),
	},
	"rows": {func() Tally { return NewRows(2) }, rapid.SliceOfN(rapid.ByteRange(0, 3), 2, 2)},
}

func encoded(t interface{ Fatal(...any) }, tally Tally) []byte {
	b, err := tally.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Messages counted in any order, in any number of parts that are merged or kept as
// bytes in between, give the same bytes.
func TestATallyIsASumWithOneEncoding(t *testing.T) {
	for name, kind := range kinds {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				messages := rapid.SliceOfN(kind.message, 0, 30).Draw(t, "messages")
				whole, merged := kind.empty(), kind.empty()
				parts := make([]Tally, 3)
				for i := range parts {
					parts[i] = kind.empty()
				}
				for i, m := range messages {
					if i%2 == 0 { // as it lies in a payload that is longer
						m = append(bytes.Clone(m), 0, 0)
					}
					if err := whole.Add(m); err != nil {
						t.Fatal(err)
					}
				}
				for _, m := range rapid.Permutation(messages).Draw(t, "order") {
					if err := parts[rapid.IntRange(0, 2).Draw(t, "part")].Add(m); err != nil {
						t.Fatal(err)
					}
				}
				for _, part := range parts {
					kept := kind.empty()
					if err := kept.UnmarshalBinary(encoded(t, part)); err != nil {
						t.Fatal(err)
					}
					if err := merged.Merge(kept); err != nil {
						t.Fatal(err)
					}
				}
				if !bytes.Equal(encoded(t, whole), encoded(t, merged)) {
					t.Fatalf("%x and %x", encoded(t, whole), encoded(t, merged))
				}
			})
		})
	}
}

func TestTalliesRefuseOneAnother(t *testing.T) {
	for name, pair := range map[string][2]Tally{
		"counts with rows":      {NewCounts(1, 2), NewRows(2)},
		"rows with counts":      {NewRows(2), NewCounts(1, 2)},
		"rows of other lengths": {NewRows(2), NewRows(4)},
	} {
		if pair[0].Merge(pair[1]) == nil {
			t.Errorf("merged %s", name)
		}
	}
}

// What is read as a tally is what would be written for it, and takes no more memory
// than it says: nothing else is one.
func FuzzUnmarshal(f *testing.F) {
	for _, data := range [][]byte{
		{}, {0}, {0, 0, 0, 0, 0, 0}, {1, 2, 3, 4, 5, 0x80}, {0x80, 0, 0, 0, 0, 0, 0}, {1, 2, 3, 4, 5, 0x80, 1},
		{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 0, 0, 0, 0, 0}, {2, 0, 1, 0, 2}, {2, 0, 2, 0, 1}, {2, 0, 1, 0}, {0x81, 0, 1, 2},
	} {
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for name, kind := range kinds {
			costlimit.Heap(t, 4*costlimit.Factor, len(data), func() {
				tally := kind.empty()
				if tally.UnmarshalBinary(data) == nil && !bytes.Equal(encoded(t, tally), data) {
					t.Errorf("%x reads as other %s: %x", data, name, encoded(t, tally))
				}
			})
		}
	})
}

func crowd(respondents, smallest int) Crowd {
	return Crowd{Tally: NewCounts(1, 2), Respondents: respondents, Smallest: smallest}
}

// A batch that nobody measured leaves the smallest one unknown; a crowd that is not
// there adds nothing.
func TestACrowdKeepsItsSmallestBatch(t *testing.T) {
	for want, batches := range map[int][]Crowd{
		7: {{}, crowd(9, 9), crowd(7, 7), crowd(0, 0), {}, crowd(8, 8)},
		0: {crowd(9, 9), crowd(7, 0), crowd(8, 8)},
	} {
		var all Crowd
		for _, b := range batches {
			if err := all.Merge(b); err != nil {
				t.Fatal(err)
			}
		}
		if all.Smallest != want || all.Respondents != 24 {
			t.Errorf("smallest of %d batches: %d, want %d; %d respondents", len(batches), all.Smallest, want, all.Respondents)
		}
	}
}

func TestACrowdRefuses(t *testing.T) {
	full := NewCounts(1, 2)
	full.N[1] = math.MaxUint64
	for name, other := range map[string]Crowd{
		"a count that overflows": {full, 1, 1}, "too many respondents": crowd(math.MaxInt, 1),
		"negative respondents": crowd(-1, 1), "another tally": {NewRows(1), 1, 1},
	} {
		all := crowd(3, 3)
		all.Tally.(*Counts).N[1] = 1
		before := Crowd{&Counts{1, 2, []uint64{0, 1}}, 3, 3}
		if all.Merge(other) == nil {
			t.Errorf("merged %s", name)
		}
		if diff := cmp.Diff(before, all); diff != "" {
			t.Errorf("%s changed the crowd: %s", name, diff)
		}
	}
}
