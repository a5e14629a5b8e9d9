package queue

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"
)

// BenchmarkPut measures durable accepts of contributions of 64 envelopes of
// 160 bytes, by so many callers that each wait for theirs.
func BenchmarkPut(b *testing.B) {
	for _, size := range []int{160, 64 * 160} {
		for _, callers := range []int{1, 16, 64} {
			b.Run(fmt.Sprintf("bytes=%d/callers=%d", size, callers), func(b *testing.B) {
				ctx := context.Background()
				box := box(b, open(b, b.TempDir()), "in")
				body := make([]byte, size)
				next := make(chan int)
				var wg sync.WaitGroup
				for range callers {
					wg.Go(func() {
						for i := range next {
							if _, err := box.Put(ctx, fmt.Sprintf("%064d", i), "0", body); err != nil {
								b.Error(err)
							}
						}
					})
				}
				start := time.Now()
				for i := range b.N {
					next <- i
				}
				close(next)
				wg.Wait()
				b.ReportMetric(float64(b.N)/time.Since(start).Seconds(), "puts/s")
			})
		}
	}
}
