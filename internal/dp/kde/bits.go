package kde

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/internal/dp/bitsum"
	"github.com/confetti-dp/confetti/internal/dp/encode/kernelmap"
)

// streamRows are the rows that share one stream of randomness. They fix what a seed
// gives: changing them changes every simulation.
const streamRows = 128

// blockRows returns the rows mapped at once, whole streams of them: a thousand, or as many
// as have 2^24 features (64 MiB) where there are many to a row.
func blockRows(f *kernelmap.Features) int {
	return max(1, min(8, (1<<24)/(streamRows*f.Channels()))) * streamRows
}

// SumBits does the rounding of KDE, Algorithm 1 for n values at once: each
// channel of f(x)/R becomes one bit, 1 with probability (1+f(x)/R)/2, and ones
// counts them per channel. row(i) is value i.
//
// Rows draw from the streams stream(0), stream(1), ..., streamRows to each, so
// that the result does not depend on the number of processors. progress, if
// not nil, is told how many rows are done, from one goroutine.
func SumBits(f *kernelmap.Features, n int, row func(i int) []float32, stream func(part int) *rand.Rand, progress func(done int)) (ones []int, err error) {
	d, channels := f.Spec().Dimension, f.Channels()
	productRows := blockRows(f)
	x := blas32.General{Cols: d, Stride: d, Data: make([]float32, min(n, productRows)*d)}
	mapped := blas32.General{Cols: channels, Stride: channels, Data: make([]float32, min(n, productRows)*channels)}
	ones = make([]int, channels)
	parts := make([][]int32, (min(n, productRows)+streamRows-1)/streamRows)
	for i := range parts {
		parts[i] = make([]int32, channels)
	}
	for from := 0; from < n; from += productRows {
		rows := min(productRows, n-from)
		x.Rows, mapped.Rows = rows, rows
		for i := range rows {
			v := row(from + i)
			if len(v) != d {
				return nil, fmt.Errorf("kde: row %d has %d features, the plan has %d", from+i+1, len(v), d)
			}
			copy(x.Data[i*d:], v)
		}
		if err := f.MapAll(x, mapped); err != nil {
			return nil, fmt.Errorf("kde: counting from row %d: %w", from+1, err)
		}
		var next sync.WaitGroup
		tickets := make(chan int, len(parts))
		for p := 0; p*streamRows < rows; p++ {
			tickets <- p
		}
		close(tickets)
		for range runtime.GOMAXPROCS(0) {
			next.Go(func() {
				bits := make([]bool, channels)
				for p := range tickets {
					r := stream((from + p*streamRows) / streamRows)
					clear(parts[p])
					for i := p * streamRows; i < min(rows, (p+1)*streamRows); i++ {
						bitsum.RoundAll(r, mapped.Data[i*channels:(i+1)*channels], bits)
						for c, b := range bits {
							var one int32
							if b { // a conditional move: which way a random bit goes is not foreseen
								one = 1
							}
							parts[p][c] += one
						}
					}
				}
			})
		}
		next.Wait()
		for p := 0; p*streamRows < rows; p++ {
			for c, k := range parts[p] {
				ones[c] += int(k)
			}
		}
		if progress != nil {
			progress(from + rows)
		}
	}
	return ones, nil
}
