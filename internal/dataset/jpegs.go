package dataset

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"image/jpeg"
	"io"
	"path/filepath"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/internal/table"
)

// The form of cifar10_subset: gzipped records to the end of the file, each the class (one
// byte), a length (two bytes, big-endian), and so many bytes of a JPEG of 32x32.

const jpegSide = 32

func loadJPEGs(dir string) (s *Set, err error) {
	s = &Set{}
	if s.Classes, err = Lines(filepath.Join(dir, "classes.txt")); err != nil {
		return nil, err
	}
	for name, to := range map[string]*Labelled{"train": &s.Train, "test": &s.Test} {
		path := filepath.Join(dir, name+".jpegs.gz")
		f, err := table.Open(path)
		if err != nil {
			return nil, err
		}
		*to, err = decodeJPEGs(f)
		f.Close()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	return s, nil
}

// decodeJPEGs reads pictures of three colours, pixel by pixel, each scaled to unit length.
func decodeJPEGs(r io.Reader) (l Labelled, err error) {
	unzip, err := gzip.NewReader(bufio.NewReader(r))
	if err != nil {
		return l, errors.New("not a gzip file")
	}
	l.X = blas32.General{Cols: 3 * jpegSide * jpegSide, Stride: 3 * jpegSide * jpegSide}
	var head [3]byte
	for {
		if _, err := io.ReadFull(unzip, head[:]); err == io.EOF {
			return l, l.Normalize()
		} else if err != nil {
			return l, fmt.Errorf("picture %d is cut off", l.X.Rows+1)
		}
		b := make([]byte, binary.BigEndian.Uint16(head[1:]))
		if _, err := io.ReadFull(unzip, b); err != nil {
			return l, fmt.Errorf("picture %d is cut off", l.X.Rows+1)
		}
		if l.X.Data, err = appendJPEG(l.X.Data, b); err != nil {
			return l, fmt.Errorf("picture %d: %w", l.X.Rows+1, err)
		}
		l.X.Rows++
		l.Y = append(l.Y, int(head[0]))
	}
}

func appendJPEG(to []float32, b []byte) ([]float32, error) {
	if c, err := jpeg.DecodeConfig(bytes.NewReader(b)); err != nil || c.Width != jpegSide || c.Height != jpegSide {
		return to, fmt.Errorf("not a JPEG of %dx%d", jpegSide, jpegSide)
	}
	picture, err := jpeg.Decode(bytes.NewReader(b))
	if err != nil {
		return to, err
	}
	for y := range jpegSide {
		for x := range jpegSide {
			r, g, b, _ := picture.At(picture.Bounds().Min.X+x, picture.Bounds().Min.Y+y).RGBA()
			to = append(to, float32(r)/0xffff, float32(g)/0xffff, float32(b)/0xffff)
		}
	}
	return to, nil
}
