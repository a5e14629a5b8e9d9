package envelope

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/confetti-dp/confetti/internal/envelope/sizes"
	"github.com/confetti-dp/confetti/internal/testkit/costlimit"
)

func drawBatch(t *rapid.T) Batch {
	size := rapid.IntRange(sizes.Min, sizes.Min+40).Draw(t, "size")
	return Batch{
		Plan:        [32]byte(rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(t, "plan")),
		Instance:    rapid.Uint16().Draw(t, "instance"),
		Crowd:       rapid.Uint32().Draw(t, "crowd"),
		Hop:         rapid.Uint8().Draw(t, "hop"),
		Respondents: uint64(rapid.Uint32().Draw(t, "respondents")),
		Envelopes:   rapid.SliceOfN(rapid.SliceOfN(rapid.Byte(), size, size), 1, 5).Draw(t, "envelopes"),
	}
}

func TestMessagesComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := drawBatch(t)
		data, err := b.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		got, err := ParseBatch(data)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(b, got); d != "" {
			t.Fatal(d)
		}
		c := Contribution{Plan: b.Plan, Instance: b.Instance, Crowd: b.Crowd, Envelopes: b.Envelopes}
		if data, err = c.Marshal(); err != nil {
			t.Fatal(err)
		}
		back, err := ParseContribution(data)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(c, back); d != "" {
			t.Fatal(d)
		}
		if _, err := ParseBatch(data); err == nil {
			t.Fatal("a contribution was read as a batch")
		}
	})
}

func TestMessagesWithNoEncoding(t *testing.T) {
	ok := make([]byte, sizes.Min)
	for name, envelopes := range map[string][][]byte{
		"none": {}, "too short": {ok[1:]}, "too long": {make([]byte, sizes.Max+1)}, "two lengths": {ok, append(ok, 0)},
	} {
		if _, err := (Contribution{Envelopes: envelopes}).Marshal(); err == nil {
			t.Errorf("contribution with %s was encoded", name)
		}
		if _, err := (Batch{Envelopes: envelopes}).Marshal(); err == nil {
			t.Errorf("batch with %s was encoded", name)
		}
	}
}

// TestHostileLengths states huge contents in a short message: it must be
// refused before anything of that size is asked for.
func TestHostileLengths(t *testing.T) {
	data, err := Batch{Envelopes: [][]byte{make([]byte, sizes.Min)}}.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []uint32{0, 2, 1 << 31, 1<<32 - 1} {
		for _, size := range []uint32{0, 1, sizes.Min, sizes.Max, sizes.Max + 1, 1<<32 - 1} {
			hostile := bytes.Clone(data)
			binary.BigEndian.PutUint32(hostile[40:], n)
			binary.BigEndian.PutUint32(hostile[44:], size)
			var parseErr error
			allocated := testing.AllocsPerRun(1, func() { _, parseErr = ParseBatch(hostile) })
			if parseErr == nil {
				t.Errorf("%d envelopes of %d bytes were read from %d bytes", n, size, len(hostile))
			}
			if allocated > 20 { // the error's own few
				t.Errorf("%d allocations before the refusal", int(allocated))
			}
		}
	}
}

func FuzzParseContribution(f *testing.F) {
	for _, v := range readMessageVectors(f) {
		f.Add([]byte(v.Bytes))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		costlimit.Heap(t, costlimit.Factor, len(data), func() {
			if c, err := ParseContribution(data); err == nil {
				if again, err := c.Marshal(); err != nil || !bytes.Equal(again, data) {
					t.Fatalf("accepted, but encoded otherwise: %v", err)
				}
			}
		})
	})
}

func FuzzParseBatch(f *testing.F) {
	for _, v := range readMessageVectors(f) {
		f.Add([]byte(v.Bytes))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		costlimit.Heap(t, costlimit.Factor, len(data), func() {
			if b, err := ParseBatch(data); err == nil {
				if again, err := b.Marshal(); err != nil || !bytes.Equal(again, data) {
					t.Fatalf("accepted, but encoded otherwise: %v", err)
				}
			}
		})
	})
}
