package nn

import (
	"math"
	"runtime"
	"slices"
	"sync"
)

// batch returns how many examples go through a model together: fewer, where one takes much room, so that
// what a layer leaves is still near when the next one takes it.
func (m *Model) batch() int {
	numbers := 0
	for _, l := range m.Layers {
		_, out, _ := l.Shape()
		numbers += out
	}
	if numbers > 1<<12 {
		return 32
	}
	return 250
}

// inBatches works on n examples, a batch on each processor at a time, and then ends each of these
// batches in their order: what is added up there does not depend on how many processors there are.
func (m *Model) inBatches(n int, work func(worker, from, to int), end func(worker int)) {
	size := m.batch()
	workers := min(runtime.GOMAXPROCS(0), (n+size-1)/size)
	for first := 0; first < n; first += workers * size {
		var all sync.WaitGroup
		now := min(workers, (n-first+size-1)/size)
		for w := range now {
			from := first + w*size
			all.Go(func() { work(w, from, min(n, from+size)) })
		}
		all.Wait()
		for w := range now {
			end(w)
		}
	}
}

// answer hands the model's answers to each of n examples over, on all processors.
func (m *Model) answer(example func(i int) []float32, n int, take func(i int, scores []float32)) {
	k, passes := m.Outputs(), make([]*Pass, runtime.GOMAXPROCS(0))
	m.inBatches(n, func(worker, from, to int) {
		if passes[worker] == nil {
			passes[worker] = NewPass(m)
		}
		x := make([]float32, 0, (to-from)*m.Inputs())
		for i := from; i < to; i++ {
			x = append(x, example(i)...)
		}
		for i, scores := from, passes[worker].Forward(x, to-from); i < to; i++ {
			take(i, scores[(i-from)*k:][:k])
		}
	}, func(int) {})
}

// Classify gives the class with the largest answer of each of n examples.
func Classify(m *Model, example func(i int) []float32, n int) []int {
	classes := make([]int, n)
	m.answer(example, n, func(i int, scores []float32) {
		for c, v := range scores {
			if v > scores[classes[i]] {
				classes[i] = c
			}
		}
	})
	return classes
}

// Losses returns the cross entropies at n examples, whose class is given.
func Losses(m *Model, example func(i int) (x []float32, class int), n int) []float64 {
	losses := make([]float64, n)
	m.answer(func(i int) []float32 { x, _ := example(i); return x }, n, func(i int, scores []float32) {
		_, class := example(i)
		top, sum := slices.Max(scores), 0.0
		for _, v := range scores {
			sum += math.Exp(float64(v - top))
		}
		losses[i] = math.Log(sum) - float64(scores[class]-top)
	})
	return losses
}

// Outer gives what the layers but the last make of each of n examples, n x the last layer's inputs.
func Outer(m *Model, example func(i int) []float32, n int) []float32 {
	last := len(m.Layers) - 1
	in, _, _ := m.Layers[last].Shape()
	_, _, own := m.Layers[last].Shape()
	before, all := &Model{Layers: m.Layers[:last], Params: m.Params[:len(m.Params)-own]}, make([]float32, n*in)
	before.answer(example, n, func(i int, y []float32) { copy(all[i*in:], y) })
	return all
}

// A learner is a pass with what goes into it and comes out.
type learner struct {
	pass           *Pass
	x, target, sum []float32
	dy             []float32
}

// ClippedSum adds up the gradients of the cross entropy at n examples, each scaled down to a
// length of at most bound, which may be infinite, on all processors.
func ClippedSum(m *Model, bound float64, example func(i int) (x []float32, class int), n int) []float64 {
	total, k := make([]float64, len(m.Params)), m.Outputs()
	learners := make([]*learner, runtime.GOMAXPROCS(0))
	m.inBatches(n, func(worker, from, to int) {
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
		if math.IsInf(bound, 1) {
			l.pass.Gradient(l.sum)
		} else {
			l.pass.Clipped(bound, l.sum)
		}
	}, func(worker int) {
		for i, v := range learners[worker].sum {
			total[i] += float64(v)
		}
	})
	return total
}
