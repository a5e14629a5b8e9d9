// Package latent learns classifiers from the codes that devices tell with noise, by public prototypes (Learning to
// noise, LTN). Used by internal/release/results, and by the lab.
package latent

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"sync"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/internal/dp/latent"
	"github.com/confetti-dp/confetti/internal/dp/randomize"
	"github.com/confetti-dp/confetti/internal/nn"
)

// Training of the classifier of codes: the same whatever the data and the epsilon.
const (
	hidden = 50 // LTN, appendix E
	epochs = 30
	batch  = 500
	rate   = 5e-3
	length = 3 // mean length of a prototype, as the network takes it
)

// Weights returns how likely each of n reports is to have come of each public prototype: in proportion
// to how many records it stands for, and to the probability of the report, whose logarithm need
// be known but for a constant. A row each.
func Weights(n int, sizes []int, logProb func(report, prototype int) float64) []float32 {
	k := len(sizes)
	out := make([]float32, n*k)
	var wait sync.WaitGroup
	workers := runtime.GOMAXPROCS(0)
	for w := range workers {
		wait.Go(func() {
			logs := make([]float64, k)
			for i := w * n / workers; i < (w+1)*n/workers; i++ {
				most := math.Inf(-1)
				for j, size := range sizes {
					logs[j] = math.Log(float64(size)) + logProb(i, j)
					most = max(most, logs[j])
				}
				sum := 0.0
				for j := range logs {
					logs[j] = math.Exp(logs[j] - most)
					sum += logs[j]
				}
				for j := range logs {
					out[i*k+j] = float32(logs[j] / sum)
				}
			}
		})
	}
	wait.Wait()
	return out
}

// Reported returns the weights of reports by which a mechanism told vectors of an encoder.
func Reported(e *latent.Encoder, how latent.Mechanism, reports [][]byte) []float32 {
	x, of := e.Prototypes, make([]func([]byte) float64, e.Prototypes.Rows)
	for j := range of {
		of[j] = how.LogProb(x.Data[j*x.Stride:][:x.Cols])
	}
	return Weights(len(reports), e.Sizes, func(i, j int) float64 { return of[j](reports[i]) })
}

// Means returns those of prototypes, by the weights that each report gives them: what is known of its record.
func Means(weights []float32, prototypes blas32.General) blas32.General {
	k := prototypes.Rows
	n := len(weights) / k
	out := blas32.General{Rows: n, Cols: prototypes.Cols, Stride: prototypes.Cols, Data: make([]float32, n*prototypes.Cols)}
	for i := range n {
		for c, w := range weights[i*k:][:k] {
			for j, v := range prototypes.Data[c*prototypes.Stride:][:prototypes.Cols] {
				out.Data[i*out.Cols+j] += w * v
			}
		}
	}
	return out
}

// Classifier scores the classes of codes.
type Classifier struct {
	net *nn.Model
	by  float32 // what codes are multiplied by
}

// ByPrototypes learns from reports of a vector and a class told by k-ary response: it
// maximizes how likely the told classes are when a report came of a prototype as often as its
// weight says. So the classifier never sees noise.
func ByPrototypes(r *rand.Rand, prototypes blas32.General, weights []float32, told []int, epsilon float64, classes int, tell func(stage string, done, total int)) (*Classifier, error) {
	k := prototypes.Rows
	if len(weights) != len(told)*k || len(told) == 0 || classes < 2 {
		return nil, fmt.Errorf("latent: %d weights of %d reports for %d prototypes", len(weights), len(told), k)
	}
	response := randomize.KRR{K: classes, Epsilon: epsilon}
	truth, lie := response.Prob(0, 0), response.Prob(0, 1)
	c := &Classifier{by: scale(prototypes)}
	var err error
	if c.net, err = nn.New(r, nn.Dense{In: prototypes.Cols, Out: hidden}, nn.ReLU{Size: hidden}, nn.Dense{In: hidden, Out: classes}); err != nil {
		return nil, err
	}
	pass, adam, sum := nn.NewPass(c.net), nn.Adam{}, make([]float32, len(c.net.Params))
	x, shares, dy, likely := c.scaled(prototypes), make([]float32, k*classes), make([]float32, k*classes), make([]float32, k*classes)
	steps := max(1, len(told)/batch)
	for step := range epochs * steps {
		if step%steps == 0 {
			tell("epochs", step/steps, epochs)
		}
		copy(shares, pass.Forward(x, k))
		nn.Softmax(shares, classes)
		clear(likely)
		for range batch {
			i := r.IntN(len(told))
			addLikely(likely, weights[i*k:][:k], shares, told[i], classes, lie, truth-lie)
		}
		for j := range k { // through the softmax
			inner := float32(0)
			for y := range classes {
				inner += likely[j*classes+y] * shares[j*classes+y]
			}
			for y := range classes {
				dy[j*classes+y] = shares[j*classes+y] * (inner - likely[j*classes+y]) / batch
			}
		}
		pass.Backward(dy)
		clear(sum)
		pass.Gradient(sum)
		adam.Rate = rate * (1 + math.Cos(math.Pi*float64(step)/float64(epochs*steps))) / 2
		adam.Step(c.net.Params, sum)
	}
	return c, nil
}

// addLikely adds the derivative of the logarithm of sum_j w_j (lie + gap p_j(told)) in p_j(told).
func addLikely(out, weights, shares []float32, told, classes int, lie, gap float64) {
	sum := 0.0
	for j, w := range weights {
		sum += float64(w) * (lie + gap*float64(shares[j*classes+told]))
	}
	by := float32(gap / sum)
	for j, w := range weights {
		out[j*classes+told] += by * w
	}
}

// scale returns what brings prototypes to their mean length: public.
func scale(x blas32.General) float32 {
	squares := 0.0
	for _, v := range x.Data {
		squares += float64(v) * float64(v)
	}
	if squares == 0 {
		return 1
	}
	return float32(length / math.Sqrt(squares/float64(x.Rows)))
}

func (c *Classifier) scaled(x blas32.General) []float32 {
	out := make([]float32, 0, x.Rows*x.Cols)
	for i := range x.Rows {
		for _, v := range x.Data[i*x.Stride:][:x.Cols] {
			out = append(out, v*c.by)
		}
	}
	return out
}

// Shares returns how likely each class is for each row of codes.
func (c *Classifier) Shares(x blas32.General) []float32 {
	out := nn.NewPass(c.net).Forward(c.scaled(x), x.Rows)
	nn.Softmax(out, c.net.Outputs())
	return out
}

// Classes returns the likeliest ones of rows of codes.
func (c *Classifier) Classes(x blas32.General) []int {
	return likeliest(c.Shares(x), c.net.Outputs())
}

// OfReports returns the likeliest classes of reports of a vector alone, given the weights of
// prototypes: how a private record is classified.
func (c *Classifier) OfReports(prototypes blas32.General, weights []float32) []int {
	k, classes := prototypes.Rows, c.net.Outputs()
	shares, out := c.Shares(prototypes), make([]float32, len(weights)/k*classes)
	for i := range len(weights) / k {
		for j, w := range weights[i*k:][:k] {
			for y := range classes {
				out[i*classes+y] += w * shares[j*classes+y]
			}
		}
	}
	return likeliest(out, classes)
}

func likeliest(shares []float32, classes int) []int {
	out := make([]int, len(shares)/classes)
	for i := range out {
		for y, s := range shares[i*classes:][:classes] {
			if s > shares[i*classes+out[i]] {
				out[i] = y
			}
		}
	}
	return out
}
