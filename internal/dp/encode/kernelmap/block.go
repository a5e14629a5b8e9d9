package kernelmap

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"gonum.org/v1/gonum/blas/blas32"
)

// MapAll maps each row of x: out has as many rows, of Channels columns.
// It uses all processors. An error names the first bad row; out is then undefined.
func (f *Features) MapAll(x, out blas32.General) error { return f.all(x, out, f.family.features) }

// QueryAll queries each row of y.
func (f *Features) QueryAll(y, out blas32.General) error { return f.all(y, out, f.family.queries) }

func (f *Features) all(x, out blas32.General, write func(blas32.General, []float32, blas32.General)) error {
	if out.Rows != x.Rows || out.Cols != f.Channels() {
		panic(fmt.Sprintf("encode: room for %d x %d features of %d x %d", out.Rows, out.Cols, x.Rows, f.Channels()))
	}
	scale := make([]float32, x.Rows)
	for i := range scale {
		var err error
		if scale[i], err = f.check(row(x, i)); err != nil {
			return fmt.Errorf("encode: row %d: %w", i, err)
		}
	}
	const rows = 64
	var next atomic.Int64
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), (x.Rows+rows-1)/rows) {
		workers.Go(func() {
			for {
				from := int(next.Add(rows)) - rows
				if from >= x.Rows {
					return
				}
				to := min(from+rows, x.Rows)
				write(part(x, from, to), scale[from:to], part(out, from, to))
			}
		})
	}
	workers.Wait()
	return nil
}

func row(x blas32.General, i int) []float32 { return x.Data[i*x.Stride : i*x.Stride+x.Cols] }

// part returns the rows from from to before to.
func part(x blas32.General, from, to int) blas32.General {
	x.Rows = to - from
	x.Data = x.Data[from*x.Stride:]
	return x
}
