package dataset

import (
	"bytes"
	"compress/gzip"
	"testing"

	"github.com/confetti-dp/confetti/internal/testkit/costlimit"
)

func zipped(b ...byte) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	w.Write(b)
	w.Close()
	return out.Bytes()
}

func TestIDX(t *testing.T) {
	shape, data, err := decodeIDX(bytes.NewReader(zipped(0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 2, 9, 8, 7, 6)), 3)
	if err != nil || len(shape) != 3 || shape[0] != 2 || shape[2] != 2 || !bytes.Equal(data, []byte{9, 8, 7, 6}) {
		t.Errorf("read %v %v, %v", shape, data, err)
	}
	for name, file := range map[string][]byte{
		"not gzip":         {0, 0, 8, 1, 0, 0, 0, 1, 5},
		"floats":           zipped(0, 0, 13, 1, 0, 0, 0, 1, 5, 5, 5, 5),
		"dimensions":       zipped(0, 0, 8, 2, 0, 0, 0, 1, 0, 0, 0, 1, 5),
		"truncated":        zipped(0, 0, 8, 1, 0, 0, 0, 2, 5),
		"too long":         zipped(0, 0, 8, 1, 0, 0, 0, 1, 5, 5),
		"huge":             zipped(0, 0, 8, 1, 255, 255, 255, 255, 5),
		"empty":            zipped(0, 0, 8, 1, 0, 0, 0, 0),
		"cut in the gzip":  zipped(0, 0, 8, 1, 0, 0, 0, 1, 5)[:20],
		"cut in the shape": zipped(0, 0, 8, 1, 0, 0),
	} {
		if _, _, err := decodeIDX(bytes.NewReader(file), 1); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func FuzzIDX(f *testing.F) {
	f.Add(zipped(0, 0, 8, 1, 0, 0, 0, 2, 1, 2))
	f.Fuzz(func(t *testing.T, b []byte) {
		costlimit.Heap(t, costlimit.Factor, len(b), func() {
			shape, data, err := decodeIDX(bytes.NewReader(b), 1)
			if err == nil && shape[0] != len(data) {
				t.Fatalf("shape %v, %d bytes", shape, len(data))
			}
		})
	})
}
