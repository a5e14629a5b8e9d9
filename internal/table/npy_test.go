package table

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/internal/testkit/costlimit"
)

// npy builds a version 1 file round the given header dictionary.
func npy(dict string, elements any) []byte {
	var b bytes.Buffer
	b.WriteString("\x93NUMPY\x01\x00")
	binary.Write(&b, le, uint16(len(dict)))
	b.WriteString(dict)
	binary.Write(&b, le, elements)
	return b.Bytes()
}

func dict(descr string, fortran bool, shape string) string {
	order := "False"
	if fortran {
		order = "True"
	}
	return fmt.Sprintf("{'descr': '%s', 'fortran_order': %s, 'shape': (%s), }\n", descr, order, shape)
}

func TestMatrixTypesAndOrders(t *testing.T) {
	want := []float32{1, 2, 3, 4, 5, 6}
	for name, file := range map[string][]byte{
		"float16": npy(dict("<f2", false, "2, 3"), []uint16{0x3c00, 0x4000, 0x4200, 0x4400, 0x4500, 0x4600}),
		"float32": npy(dict("<f4", false, "2, 3"), want),
		"float64": npy(dict("<f8", false, "2, 3"), []float64{1, 2, 3, 4, 5, 6}),
		"fortran": npy(dict("<f4", true, "2, 3"), []float32{1, 4, 2, 5, 3, 6}),
		"int8":    npy(dict("|i1", false, "2, 3"), []int8{1, 2, 3, 4, 5, 6}),
		"uint8":   npy(dict("|u1", false, "2, 3"), []uint8{1, 2, 3, 4, 5, 6}),
		"int64":   npy("{'shape': (2, 3), 'fortran_order': False, 'descr': '<i8'}", []int64{1, 2, 3, 4, 5, 6}),
	} {
		x, err := decodeMatrix(bytes.NewReader(file), int64(len(file)), false)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if x.Rows != 2 || x.Cols != 3 || x.Stride != 3 || fmt.Sprint(x.Data) != fmt.Sprint(want) {
			t.Errorf("%s: read %+v", name, x)
		}
	}
}

func TestVersionTwoHeader(t *testing.T) {
	d := dict("<i4", false, "3,")
	var b bytes.Buffer
	b.WriteString("\x93NUMPY\x02\x00")
	binary.Write(&b, le, uint32(len(d)))
	b.WriteString(d)
	binary.Write(&b, le, []int32{4, 0, 2})
	y, err := decodeLabels(&b, int64(b.Len()))
	if err != nil || fmt.Sprint(y) != "[4 0 2]" {
		t.Errorf("read %v, %v", y, err)
	}
}

func TestFloat16(t *testing.T) {
	for h, want := range map[uint16]float32{
		0x0000: 0, 0x0001: 0x1p-24, 0x03ff: 1023 * 0x1p-24, 0x0400: 0x1p-14,
		0x3555: 0.333251953125, 0xc000: -2, 0x7bff: 65504, 0x8001: -0x1p-24,
	} {
		if got := float16(h); got != want {
			t.Errorf("float16(%#04x) = %v, want %v", h, got, want)
		}
	}
	if !math.IsInf(float64(float16(0xfc00)), -1) || float16(0x7e00) == float16(0x7e00) {
		t.Error("infinity or NaN lost")
	}
}

func TestBadFiles(t *testing.T) {
	long := strings.Repeat(" ", 70000)
	for name, c := range map[string]struct {
		file []byte
		want string
	}{
		"empty":          {nil, "not a .npy file"},
		"other format":   {[]byte("PK\x03\x04 something else"), "not a .npy file"},
		"version 9":      {[]byte("\x93NUMPY\x09\x00\x10\x00"), "version 9"},
		"cut in header":  {npy(dict("<f4", false, "2, 3"), []byte{})[:30], "does not fit"},
		"long header":    {npy(long[:65535], []byte{}), "header is not"},
		"truncated":      {npy(dict("<f4", false, "2, 3"), []float32{1, 2}), "damaged or truncated"},
		"too long":       {npy(dict("<f4", false, "1, 1"), []float32{1, 2}), "damaged or truncated"},
		"huge":           {npy(dict("<f4", false, "1099511627776, 1099511627776"), []byte{}), "shape is too large"},
		"overflow":       {npy(dict("<f8", false, "99999999999999999999, 2"), []byte{}), "shape is too large"},
		"large":          {npy(dict("<f4", false, "1000000, 1000000"), []byte{}), "damaged or truncated"},
		"negative":       {npy(dict("<f4", false, "-1, 2"), []byte{}), "header is not"},
		"structured":     {npy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,), }", []byte{}), "header is not"},
		"big-endian":     {npy(dict(">f4", false, "1, 1"), []float32{1}), "not supported"},
		"object":         {npy(dict("|O", false, "1, 1"), []float32{1}), "not supported"},
		"one dimension":  {npy(dict("<f4", false, "2,"), []float32{1, 2}), "1 dimensions"},
		"scalar":         {npy(dict("<f4", false, ""), []float32{1}), "0 dimensions"},
		"no rows":        {npy(dict("<f4", false, "0, 2"), []float32{}), "empty"},
		"NaN":            {npy(dict("<f4", false, "2, 2"), []float32{1, 2, 3, float32(math.NaN())}), "row 1, column 1"},
		"float64 beyond": {npy(dict("<f8", false, "1, 2"), []float64{1, 1e39}), "row 0, column 1"},
		"half infinity":  {npy(dict("<f2", true, "2, 2"), []uint16{0, 0x7c00, 0, 0}), "row 1, column 0"},
	} {
		_, err := decodeMatrix(bytes.NewReader(c.file), int64(len(c.file)), false)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", name, err, c.want)
		}
	}
	for name, c := range map[string]struct {
		file []byte
		want string
	}{
		"floats":   {npy(dict("<f4", false, "1,"), []float32{1}), "not integers"},
		"negative": {npy(dict("<i4", false, "2,"), []int32{1, -1}), "row 1"},
		"matrix":   {npy(dict("<i4", false, "1, 1"), []int32{1}), "2 dimensions"},
	} {
		_, err := decodeLabels(bytes.NewReader(c.file), int64(len(c.file)))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("labels, %s: error %v, want one with %q", name, err, c.want)
		}
	}
}

func FuzzNPY(f *testing.F) {
	f.Add(npy(dict("<f4", false, "2, 3"), []float32{1, 2, 3, 4, 5, 6}))
	f.Add(npy(dict("<i8", false, "2,"), []int64{1, 0}))
	f.Add(npy(dict("<f2", true, "1, 1"), []uint16{0x3c00}))
	f.Fuzz(func(t *testing.T, b []byte) {
		costlimit.Heap(t, costlimit.Factor, len(b), func() {
			if x, err := decodeMatrix(bytes.NewReader(b), int64(len(b)), false); err == nil {
				for _, v := range x.Data {
					if v != v || math.IsInf(float64(v), 0) {
						t.Fatal("accepted a number that is not finite")
					}
				}
				if len(x.Data) != x.Rows*x.Cols || len(x.Data) > len(b) {
					t.Fatalf("%d elements from %d bytes", len(x.Data), len(b))
				}
			}
			if y, err := decodeLabels(bytes.NewReader(b), int64(len(b))); err == nil && len(y) > len(b) {
				t.Fatalf("%d labels from %d bytes", len(y), len(b))
			}
		})
	})
}
