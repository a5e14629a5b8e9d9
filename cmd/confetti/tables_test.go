package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go"

	"github.com/confetti-dp/confetti/internal/seeded"
)

// records are made-up people of two classes, in turn: the coordinates of the
// first lie around 1, those of the second around -1, with a little noise.
func records(rows, cols int) (x [][]float32, class []int32) {
	r := seeded.New(1)
	for i := range rows {
		v := make([]float32, cols)
		for j := range v {
			v[j] = float32(1-2*(i%2)) + float32(r.NormFloat64())/2
		}
		x, class = append(x, v), append(class, int32(i%2))
	}
	return x, class
}

func csvTable(x [][]float32, class []int32) []byte {
	var b bytes.Buffer
	for j := range x[0] {
		fmt.Fprintf(&b, "v%d,", j)
	}
	b.WriteString("class\n")
	for i, v := range x {
		for _, f := range v {
			fmt.Fprintf(&b, "%g,", f)
		}
		fmt.Fprintf(&b, "%s\n", []string{"cats", "dogs"}[class[i]])
	}
	return b.Bytes()
}

func parquetTable(w io.Writer, x [][]float32, class []int32) error {
	type person struct {
		Class  int32     `parquet:"class"`
		Vector []float32 `parquet:"vector,list"`
	}
	p := parquet.NewGenericWriter[person](w)
	for i, v := range x {
		if _, err := p.Write([]person{{class[i], v}}); err != nil {
			return err
		}
	}
	return p.Close()
}

func npyMatrix(x [][]float32) []byte {
	b := npyHeader("<f4", fmt.Sprintf("%d, %d", len(x), len(x[0])))
	for _, v := range x {
		b, _ = binary.Append(b, binary.LittleEndian, v)
	}
	return b
}

func npyLabels(class []int32) []byte {
	b, _ := binary.Append(npyHeader("<i4", fmt.Sprintf("%d,", len(class))), binary.LittleEndian, class)
	return b
}

// npyHeader is that of the numpy array format, version 1.0: magic, version, and a
// dictionary padded so that the data begins at a multiple of 64.
func npyHeader(kind, shape string) []byte {
	dict := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", kind, shape)
	const before = 10 // magic, version and length
	length := (before+len(dict)+1+63)/64*64 - before
	b := append([]byte("\x93NUMPY\x01\x00"), byte(length), byte(length>>8))
	return fmt.Appendf(b, "%-*s\n", length-1, dict)
}

// peopleTable is of people of two regions who drink, are of an age, have been
// shopping, and are somewhere.
func peopleTable(rows int) []byte {
	r := seeded.New(2)
	var b bytes.Buffer
	b.WriteString("\ufeff\"drink\",age,basket,lon,lat,region\r\n")
	for i := range rows {
		drink := []string{"\"coffee, black\"", "\"coffee, black\"", "tea", "water", "\"\"\"milk\"\"\""}[i%5]
		basket := []string{"bread", "bread; milk", "eggs;milk ;bread"}[i%3]
		fmt.Fprintf(&b, "%s,%.1f,%s,%.3f,%.3f,%s\r\n", drink, 40+15*r.NormFloat64(), basket, 10+3*r.NormFloat64(), 50+4*r.NormFloat64(), []string{"north", "south"}[i%2])
	}
	return b.Bytes()
}
