package seeded

import "testing"

// The golden stream. Do not edit it to make the test pass: a change means that no
// simulation or published experiment can be repeated, and is announced as a break.
func TestGoldenStream(t *testing.T) {
	for _, c := range []struct {
		seed   uint64
		stream []uint64
		want   [3]uint64
	}{
		{0, nil, [3]uint64{0xb50532c22c3a92a, 0x280ea9a9d38c80ee, 0x4bc4f8739150e30d}},
		{1, nil, [3]uint64{0x48ada4ca8d2a0b2f, 0x1ec39d240df0142a, 0x9f8463631cc69905}},
		{1, []uint64{0}, [3]uint64{0x70fcaead3b44f853, 0x2b78d1128eea5c77, 0xea7f8cc390c1f7b6}},
		{1, []uint64{0, 7}, [3]uint64{0x14a92b91a5d94404, 0xec6d1e7ccb527b76, 0x8503b1b8a18e071f}},
	} {
		r := New(c.seed, c.stream...)
		if got := [3]uint64{r.Uint64(), r.Uint64(), r.Uint64()}; got != c.want {
			t.Errorf("New(%d, %d...) starts with %#x, want %#x", c.seed, c.stream, got, c.want)
		}
	}
}

func TestStreamsDiffer(t *testing.T) {
	seen := map[uint64]bool{}
	for seed := range uint64(10) {
		for stream := range uint64(10) {
			seen[New(seed, stream).Uint64()] = true
			seen[New(seed, stream, 0).Uint64()] = true
		}
	}
	if len(seen) != 200 {
		t.Fatalf("%d different first words from 200 streams", len(seen))
	}
}
