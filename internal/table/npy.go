package table

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/blas/blas32"
)

// The .npy format, versions 1 to 3: "\x93NUMPY", major and minor version, the
// header's length (2 bytes in version 1, 4 later, little-endian), the header
// (a Python dictionary), the elements.

// ReadMatrix reads a two-dimensional .npy array of float16, float32, float64
// or integers (little-endian, either order) as float32 rows. A value that is
// not finite as float32 is an error naming its row and column.
func ReadMatrix(path string) (blas32.General, error) { return readMatrix(path, false) }

// readMatrix reads numbers that are not finite too, where any may be.
func readMatrix(path string, any bool) (blas32.General, error) {
	f, size, err := open(path)
	if err != nil {
		return blas32.General{}, err
	}
	defer f.Close()
	x, err := decodeMatrix(f, size, any)
	if err != nil {
		return blas32.General{}, fmt.Errorf("%s: %w", path, err)
	}
	return x, nil
}

// ReadLabels reads a one-dimensional .npy array of integers.
func ReadLabels(path string) ([]int, error) {
	f, size, err := open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	y, err := decodeLabels(f, size)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return y, nil
}

func decodeMatrix(r io.Reader, size int64, any bool) (blas32.General, error) {
	h, err := readHeader(r, size)
	if err != nil {
		return blas32.General{}, err
	}
	if len(h.shape) != 2 {
		return blas32.General{}, fmt.Errorf("array has %d dimensions: features need two, records by features", len(h.shape))
	}
	rows, cols := h.shape[0], h.shape[1]
	if rows == 0 || cols == 0 {
		return blas32.General{}, fmt.Errorf("array is empty")
	}
	x := blas32.General{Rows: rows, Cols: cols, Stride: cols, Data: make([]float32, rows*cols)}
	err = h.each(r, func(i int, b []byte) error {
		at := i
		if h.fortran {
			at = i%rows*cols + i/rows
		}
		v := float32(h.kind.float(b))
		if !any && v-v != 0 {
			return fmt.Errorf("row %d, column %d is not a finite float32", at/cols, at%cols)
		}
		x.Data[at] = v
		return nil
	})
	return x, err
}

func decodeLabels(r io.Reader, size int64) ([]int, error) {
	h, err := readHeader(r, size)
	if err != nil {
		return nil, err
	}
	if len(h.shape) != 1 {
		return nil, fmt.Errorf("array has %d dimensions: labels need one", len(h.shape))
	}
	if h.kind.integer == nil {
		return nil, fmt.Errorf("labels are not integers: save them with astype('int64')")
	}
	y := make([]int, h.shape[0])
	err = h.each(r, func(i int, b []byte) error {
		v := h.kind.integer(b)
		if int64(int(v)) != v || v < 0 {
			return fmt.Errorf("label of row %d is out of range", i)
		}
		y[i] = int(v)
		return nil
	})
	return y, err
}

// kind is an element type; integer is nil for floating point.
type kind struct {
	size    int
	float   func([]byte) float64
	integer func([]byte) int64
}

func integers(size int, read func([]byte) int64) kind {
	return kind{size, func(b []byte) float64 { return float64(read(b)) }, read}
}

var le = binary.LittleEndian

var kinds = map[string]kind{
	"<f2": {2, func(b []byte) float64 { return float64(float16(le.Uint16(b))) }, nil},
	"<f4": {4, func(b []byte) float64 { return float64(math.Float32frombits(le.Uint32(b))) }, nil},
	"<f8": {8, func(b []byte) float64 { return math.Float64frombits(le.Uint64(b)) }, nil},
	"|i1": integers(1, func(b []byte) int64 { return int64(int8(b[0])) }),
	"|u1": integers(1, func(b []byte) int64 { return int64(b[0]) }),
	"<i2": integers(2, func(b []byte) int64 { return int64(int16(le.Uint16(b))) }),
	"<u2": integers(2, func(b []byte) int64 { return int64(le.Uint16(b)) }),
	"<i4": integers(4, func(b []byte) int64 { return int64(int32(le.Uint32(b))) }),
	"<u4": integers(4, func(b []byte) int64 { return int64(le.Uint32(b)) }),
	"<i8": integers(8, func(b []byte) int64 { return int64(le.Uint64(b)) }),
}

// float16 widens an IEEE 754 half: 1 sign bit, 5 of exponent (bias 15), 10 of fraction.
func float16(h uint16) float32 {
	sign, exp, frac := uint32(h>>15)<<31, uint32(h>>10)&31, uint32(h)&1023
	switch exp {
	case 0: // subnormal: fraction * 2^-24, exact in float32
		return math.Float32frombits(sign | math.Float32bits(float32(frac)*0x1p-24))
	case 31: // infinity and NaN
		return math.Float32frombits(sign | 255<<23 | frac<<13)
	}
	return math.Float32frombits(sign | (exp+127-15)<<23 | frac<<13)
}

type header struct {
	kind    kind
	fortran bool
	shape   []int
	count   int
}

// Keys may come in any order, so each is looked for by itself.
var (
	descrRE   = regexp.MustCompile(`'descr'\s*:\s*'([^']*)'`)
	fortranRE = regexp.MustCompile(`'fortran_order'\s*:\s*(True|False)`)
	shapeRE   = regexp.MustCompile(`'shape'\s*:\s*\(([0-9,\s]*)\)`)
)

// maxHeader is ample: numpy pads its own to 128 bytes for plain arrays.
const maxHeader = 64 << 10

func readHeader(r io.Reader, size int64) (header, error) {
	var h header
	var start [12]byte
	if _, err := io.ReadFull(r, start[:8]); err != nil || !bytes.Equal(start[:6], []byte("\x93NUMPY")) {
		return h, fmt.Errorf("not a .npy file")
	}
	width := 4
	switch start[6] {
	case 1:
		width = 2
	case 2, 3:
	default:
		return h, fmt.Errorf(".npy version %d is unknown: save the array again with a current numpy", start[6])
	}
	if _, err := io.ReadFull(r, start[8:8+width]); err != nil {
		return h, fmt.Errorf("truncated in the header")
	}
	length := int64(le.Uint32(start[8:])) // the unread bytes are still zero
	if length > maxHeader || int64(8+width)+length > size {
		return h, fmt.Errorf("header of %d bytes does not fit the file", length)
	}
	text := make([]byte, length)
	if _, err := io.ReadFull(r, text); err != nil {
		return h, fmt.Errorf("truncated in the header")
	}
	if err := h.parse(text); err != nil {
		return h, err
	}
	if want, have := int64(h.count)*int64(h.kind.size), size-int64(8+width)-length; want != have {
		return h, fmt.Errorf("header announces %d bytes of elements, the file holds %d: it is damaged or truncated", want, have)
	}
	return h, nil
}

func (h *header) parse(text []byte) error {
	descr, fortran, shape := descrRE.FindSubmatch(text), fortranRE.FindSubmatch(text), shapeRE.FindSubmatch(text)
	if descr == nil || fortran == nil || shape == nil {
		return fmt.Errorf("header is not that of a plain array")
	}
	var ok bool
	if h.kind, ok = kinds[string(descr[1])]; !ok {
		return fmt.Errorf("element type %.8q is not supported: save little-endian float16/32/64 or integers", descr[1])
	}
	h.fortran = string(fortran[1]) == "True"
	h.count = 1
	for _, s := range strings.Split(string(shape[1]), ",") {
		if s = strings.TrimSpace(s); s == "" {
			continue
		}
		n, err := strconv.Atoi(s)
		// Below 2^47 elements of 8 bytes nothing that follows can overflow.
		if err != nil || n > 1<<40 || (n > 0 && h.count > 1<<47/n) {
			return fmt.Errorf("shape is too large")
		}
		h.shape = append(h.shape, n)
		h.count *= n
	}
	return nil
}

// each reads the elements in file order.
func (h *header) each(r io.Reader, f func(i int, element []byte) error) error {
	in := bufio.NewReaderSize(r, 1<<18)
	for i := 0; i < h.count; {
		block := min(1<<18/h.kind.size, h.count-i)
		b, err := in.Peek(block * h.kind.size)
		if err != nil {
			return fmt.Errorf("truncated at element %d", i)
		}
		for j := range block {
			if err := f(i+j, b[j*h.kind.size:(j+1)*h.kind.size]); err != nil {
				return err
			}
		}
		in.Discard(len(b))
		i += block
	}
	return nil
}
