package nn

import (
	"runtime"
	"sync"
)

// batch is how many examples go through a model together.
const batch = 250

// inBatches works on n examples, a batch on each processor at a time, and then ends each of these batches
// in their order: what is added up there does not depend on how many processors there are.
func inBatches(n int, work func(worker, from, to int), end func(worker int)) {
	workers := min(runtime.GOMAXPROCS(0), (n+batch-1)/batch)
	for first := 0; first < n; first += workers * batch {
		var all sync.WaitGroup
		now := min(workers, (n-first+batch-1)/batch)
		for w := range now {
			from := first + w*batch
			all.Go(func() { work(w, from, min(n, from+batch)) })
		}
		all.Wait()
		for w := range now {
			end(w)
		}
	}
}

// Classify gives the class with the largest answer of each of n examples.
func Classify(m *Model, example func(i int) []float32, n int) []int {
	classes := make([]int, n)
	k, passes := m.Outputs(), make([]*Pass, runtime.GOMAXPROCS(0))
	inBatches(n, func(worker, from, to int) {
		if passes[worker] == nil {
			passes[worker] = NewPass(m)
		}
		x := make([]float32, 0, (to-from)*m.Inputs())
		for i := from; i < to; i++ {
			x = append(x, example(i)...)
		}
		scores := passes[worker].Forward(x, to-from)
		for i := from; i < to; i++ {
			row := scores[(i-from)*k:][:k]
			for c, v := range row {
				if v > row[classes[i]] {
					classes[i] = c
				}
			}
		}
	}, func(int) {})
	return classes
}

// A learner is a pass with what goes into it and comes out.
type learner struct {
	pass           *Pass
	x, target, sum []float32
	dy             []float32
}

// ClippedSum adds up the gradients of the cross entropy at n examples, each scaled down to a
// length of at most bound, on all processors.
func ClippedSum(m *Model, bound float64, example func(i int) (x []float32, class int), n int) []float64 {
	total, k := make([]float64, len(m.Params)), m.Outputs()
	learners := make([]*learner, runtime.GOMAXPROCS(0))
	inBatches(n, func(worker, from, to int) {
		l := learners[worker]
		if l == nil {
			l = &learner{pass: NewPass(m), sum: make([]float32, len(m.Params))}
			learners[worker] = l
		}
		target := room(&l.target, (to-from)*k)
		clear(target)
		l.x = l.x[:0]
		for i := from; i < to; i++ {
			x, class := example(i)
			l.x = append(l.x, x...)
			target[(i-from)*k+class] = 1
		}
		dy := room(&l.dy, len(target))
		CrossEntropy(l.pass.Forward(l.x, to-from), target, dy, k)
		l.pass.Backward(dy)
		clear(l.sum)
		l.pass.Clipped(bound, l.sum)
	}, func(worker int) {
		for i, v := range learners[worker].sum {
			total[i] += float64(v)
		}
	})
	return total
}
