package results

import (
	"math"
	"testing"

	"github.com/confetti-dp/confetti/internal/dp/estimate"
	"github.com/confetti-dp/confetti/internal/dp/noise"
)

// each calls f with all that noise makes of the counts of a cluster, and how likely it is; what is left out is below 1e-9.
func each(counts []float64, decay float64, f func(p float64, noisy []estimate.Value)) {
	z := noise.DiscreteLaplace{Decay: decay}
	far, sd := int(math.Ceil(23/decay)), math.Sqrt(z.Variance())
	noisy := make([]estimate.Value, len(counts))
	var from func(at int, p float64)
	from = func(at int, p float64) {
		if at == len(counts) {
			f(p, noisy)
			return
		}
		for x := -far; x <= far; x++ {
			noisy[at] = estimate.Value{Mean: counts[at] + float64(x), StdErr: sd}
			from(at+1, p*math.Exp(z.LogProb(x)))
		}
	}
	from(0, 1)
}

// Of every cluster the mean of what is said of the chosen label is that of its true count, and errors are at most as large as is said: the whole
// law of the noisy counts is enumerated. The twin takes the largest noisy count for the count.
func TestTheChosenLabelIsNotFlattered(t *testing.T) {
	for _, c := range []struct {
		counts []float64
		decay  float64
	}{
		{[]float64{50, 50}, 0.1}, {[]float64{50, 51}, 0.7}, {[]float64{52, 50}, 0.4}, {[]float64{40, 60}, 0.3}, {[]float64{10, 12}, 2},
		{[]float64{30, 30, 30}, 0.6}, {[]float64{30, 32, 31}, 0.6}, {[]float64{30, 20, 30}, 0.6}, {[]float64{36, 30, 30}, 0.5}, {[]float64{0, 0, 1}, 1.2},
	} {
		var bias, flattered, square, stated, fieller, statedFieller, all float64
		truth := make([]float64, len(c.counts)) // of each label: chosen by the noise, and held
		of := make([]float64, len(c.counts))
		total := 0.0
		for _, n := range c.counts {
			total += n
		}
		each(c.counts, c.decay, func(p float64, noisy []estimate.Value) {
			chosen := top(noisy)
			own, others := unflattered(noisy, chosen, c.decay)
			a, b := estimate.Sum(own), estimate.Sum(others)
			e := a.Mean - c.counts[chosen]
			all += p
			bias += p * e
			flattered += p * (noisy[chosen].Mean - c.counts[chosen])
			square += p * e * e
			stated += p * a.StdErr * a.StdErr
			r := c.counts[chosen] / total
			f := (1-r)*e - r*(b.Mean-(total-c.counts[chosen]))
			fieller += p * f * f
			statedFieller += p * ((1-r)*(1-r)*a.StdErr*a.StdErr + r*r*b.StdErr*b.StdErr)
			truth[chosen] += p * c.counts[chosen]
			for y, v := range own {
				of[y] += p * v.Mean
			}
		})
		if math.Abs(all-1) > 1e-8 {
			t.Fatalf("%v: the law adds up to %v", c, all)
		}
		if math.Abs(bias) > 1e-6 {
			t.Errorf("%v: the count of the chosen label is too large by %v", c, bias)
		}
		for y := range of {
			if math.Abs(of[y]-truth[y]) > 1e-6 {
				t.Errorf("%v: of label %d, %v are said to be right, and %v are", c, y, of[y], truth[y])
			}
		}
		if math.Abs(c.counts[0]-c.counts[1]) < 3 && flattered < 0.01 {
			t.Errorf("%v: the largest noisy count is too large by %v alone", c, flattered)
		}
		if square > stated || fieller > statedFieller {
			t.Errorf("%v: the squared errors are %v and %v, and stated as %v and %v", c, square, fieller, stated, statedFieller)
		}
	}
}
