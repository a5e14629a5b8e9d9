package dataset

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"io"
	"math"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/internal/table"
)

// The IDX format of MNIST: two zero bytes, the element type (8: unsigned
// byte), the number of dimensions, each dimension as 4 bytes big-endian, the
// elements in C order.

// maxIDX bounds what a compressed file may unfold to: 4 times MNIST.
const maxIDX = 1 << 28

// readIDX reads a gzipped IDX file of unsigned bytes with the given number of
// dimensions.
func readIDX(path string, dims int) (shape []int, data []byte, err error) {
	f, err := table.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	shape, data, err = decodeIDX(f, dims)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	return shape, data, nil
}

func decodeIDX(r io.Reader, dims int) (shape []int, data []byte, err error) {
	unzip, err := gzip.NewReader(bufio.NewReader(r))
	if err != nil {
		return nil, nil, fmt.Errorf("not a gzip file")
	}
	head := make([]byte, 4+4*dims)
	if _, err := io.ReadFull(unzip, head); err != nil || head[0] != 0 || head[1] != 0 || head[2] != 8 || int(head[3]) != dims {
		return nil, nil, fmt.Errorf("not an IDX file of bytes with %d dimensions", dims)
	}
	total := 1
	for d := range dims {
		n := int(binary.BigEndian.Uint32(head[4+4*d:]))
		if n == 0 || n > maxIDX/total {
			return nil, nil, fmt.Errorf("IDX shape is empty or above %d bytes", maxIDX)
		}
		total *= n
		shape = append(shape, n)
	}
	// The buffer grows with what arrives, whatever the header says.
	var buf bytes.Buffer
	if n, err := io.Copy(&buf, io.LimitReader(unzip, int64(total)+1)); err != nil || n != int64(total) {
		return nil, nil, fmt.Errorf("IDX header announces %d bytes, the file holds another number: it is damaged or truncated", total)
	}
	return shape, buf.Bytes(), nil
}

// readImages reads images as rows of unit length: each pixel divided by the
// Euclidean norm of its image.
func readImages(path string) (blas32.General, error) {
	shape, data, err := readIDX(path, 3)
	if err != nil {
		return blas32.General{}, err
	}
	x := matrix(shape[0], shape[1]*shape[2])
	for i := range x.Rows {
		pixels, sum := data[i*x.Cols:(i+1)*x.Cols], 0
		for _, p := range pixels {
			sum += int(p) * int(p)
		}
		if sum == 0 {
			return blas32.General{}, fmt.Errorf("%s: image %d is all black, so it has no direction", path, i)
		}
		scale := 1 / math.Sqrt(float64(sum))
		for j, p := range pixels {
			x.Data[i*x.Cols+j] = float32(float64(p) * scale)
		}
	}
	return x, nil
}

func readImageLabels(path string) ([]int, error) {
	_, data, err := readIDX(path, 1)
	if err != nil {
		return nil, err
	}
	y := make([]int, len(data))
	for i, b := range data {
		y[i] = int(b)
	}
	return y, nil
}
