package rng

import (
	"encoding/binary"
	"io"
	"math/rand/v2"
)

// Reader reads the outputs of r as bytes, least significant first, for code that
// wants its randomness in that shape. It never fails.
func Reader(r *rand.Rand) io.Reader { return reader{r} }

type reader struct{ r *rand.Rand }

func (s reader) Read(b []byte) (int, error) {
	n := len(b)
	for len(b) >= 8 {
		binary.LittleEndian.PutUint64(b, s.r.Uint64())
		b = b[8:]
	}
	if len(b) > 0 {
		var last [8]byte
		binary.LittleEndian.PutUint64(last[:], s.r.Uint64())
		copy(b, last[:])
	}
	return n, nil
}
