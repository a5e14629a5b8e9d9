package nn

import "math"

// clip returns the factor that brings a vector of this squared norm down to the bound, and zero for a norm
// that is not finite: such an example counts for nothing.
// It is rounded down, so that single precision does not carry the norm beyond it.
func clip(sq float32, bound float64) float32 {
	if sq-sq != 0 {
		return 0
	}
	if norm := math.Sqrt(float64(sq)); norm > bound {
		return math.Nextafter32(float32(bound/norm), 0)
	}
	return 1
}

// Softmax turns each row of scores (n x classes) into probabilities in place.
func Softmax(scores []float32, classes int) {
	for row := scores; len(row) > 0; row = row[classes:] {
		top := row[0]
		for _, v := range row[:classes] {
			top = max(top, v)
		}
		sum := float32(0)
		for i, v := range row[:classes] {
			row[i] = float32(math.Exp(float64(v - top)))
			sum += row[i]
		}
		for i := range row[:classes] {
			row[i] /= sum
		}
	}
}

// CrossEntropy sets dy to the derivative of each example's loss
// -sum target log softmax(scores), both n x classes, and gives the mean loss.
// Targets of an example add up to one: a label, or how likely each label is.
func CrossEntropy(scores, targets, dy []float32, classes int) (mean float64) {
	copy(dy, scores)
	Softmax(dy, classes)
	n := len(scores) / classes
	for i, target := range targets {
		if target > 0 {
			mean -= float64(target) * math.Log(max(float64(dy[i]), math.SmallestNonzeroFloat32)) / float64(n)
		}
		dy[i] -= target
	}
	return mean
}

// Likelihood is CrossEntropy for labels that were reported through a public
// channel: likely (n x classes) is how likely each example's report was for each true
// class, and the loss is -log sum_c softmax(scores)_c likely_c.
func Likelihood(scores, likely, dy []float32, classes int) (mean float64) {
	copy(dy, scores)
	Softmax(dy, classes)
	n := len(scores) / classes
	for i := range n {
		p, q := dy[i*classes:(i+1)*classes], likely[i*classes:(i+1)*classes]
		sum := 0.0
		for c := range p {
			sum += float64(p[c]) * float64(q[c])
		}
		sum = max(sum, math.SmallestNonzeroFloat32)
		mean -= math.Log(sum) / float64(n)
		for c := range p { // softmax less its posterior
			p[c] -= float32(float64(p[c]) * float64(q[c]) / sum)
		}
	}
	return mean
}

// Squares returns half the squared distance of answers and targets, added up over an
// example; dy is its derivative.
func Squares(answers, targets, dy []float32, outputs int) (mean float64) {
	for i := range answers {
		dy[i] = answers[i] - targets[i]
		mean += float64(dy[i]) * float64(dy[i]) / 2
	}
	return mean / float64(len(answers)/outputs)
}

// Bernoulli returns the loss of probabilities given by their logits, for targets
// between 0 and 1, added up over an example; dy is its derivative.
func Bernoulli(logits, targets, dy []float32, outputs int) (mean float64) {
	for i, z := range logits {
		x := float64(z)
		mean += max(x, 0) - x*float64(targets[i]) + math.Log1p(math.Exp(-math.Abs(x)))
		dy[i] = float32(1/(1+math.Exp(-x))) - targets[i]
	}
	return mean / float64(len(logits)/outputs)
}
