package encode

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas32"
)

// MapAll is Map for each row of x: out has as many rows, of Channels columns.
// It uses all processors. An error names the first bad row; out is then undefined.
func (f *Features) MapAll(x, out blas32.General) error { return f.all(x, out, 1) }

// QueryAll is Query for each row of y.
func (f *Features) QueryAll(y, out blas32.General) error { return f.all(y, out, float32(f.Bound())) }

func (f *Features) all(x, out blas32.General, scale float32) error {
	if out.Rows != x.Rows || out.Cols != f.Channels() {
		panic(fmt.Sprintf("encode: room for %d x %d features of %d x %d", out.Rows, out.Cols, x.Rows, f.Channels()))
	}
	inverse := make([]float32, x.Rows)
	for i := range inverse {
		var err error
		if inverse[i], err = f.check(row(x, i)); err != nil {
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
				f.products(x, out, from, to)
				for i := from; i < to; i++ {
					features := row(out, i)
					f.finish(features, inverse[i])
					if scale != 1 {
						blas32.Scal(scale, vector(features))
					}
				}
			}
		})
	}
	workers.Wait()
	return nil
}

// products writes the weights times the rows from to to. A panel of weights that
// stays in the second-level cache meets all of these rows before the next
// does; whole-length dot products make this 1.7 times as fast as gonum's
// matrix product, which works on pieces of 64 (BenchmarkMapAll, BenchmarkProduct).
func (f *Features) products(x, out blas32.General, from, to int) {
	if f.spec.Kernel == InnerIdentity {
		for i := from; i < to; i++ {
			copy(row(out, i), row(x, i))
		}
		return
	}
	const cached = 1 << 16 // float32 of a panel: 256 KiB
	panel := f.weights
	for at := 0; at < f.weights.Rows; at += panel.Rows {
		panel.Rows = min(max(cached/panel.Cols, 1), f.weights.Rows-at)
		panel.Data = f.weights.Data[at*panel.Stride:]
		for i := from; i < to; i++ {
			blas32.Gemv(blas.NoTrans, 1, panel, vector(row(x, i)), 0, vector(row(out, i)[at:at+panel.Rows]))
		}
	}
}

func row(x blas32.General, i int) []float32 { return x.Data[i*x.Stride : i*x.Stride+x.Cols] }
