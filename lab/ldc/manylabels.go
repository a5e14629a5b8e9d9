package ldc

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/confetti-dp/confetti/internal/dp/noise"
	"github.com/confetti-dp/confetti/internal/dp/randomize"
	"github.com/confetti-dp/confetti/internal/prob"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/lab/labeldp"
	"github.com/confetti-dp/confetti/release"
)

// crowded is a made-up population of public clusters, one for each label: nine in ten of a cluster have its label, and the
// others any.
type crowded struct{ labels, size int }

// others have any label.
func (c crowded) others() int { return c.size / 10 }

// named returns how often the label with the largest number is the cluster's own, where numbers of two labels have these laws;
// a tie is broken by a coin. Numbers count as independent: those of reports are nearly so, and a test draws them.
func (c crowded) named(own, other []float64) (share float64) {
	n, below := float64(c.labels-1), 0.0
	for at, p := range own {
		same := 0.0
		if at < len(other) {
			same = other[at]
		}
		switch { // over how many of the others are as large
		case (n+1)*same > below:
			share += p * (math.Pow(below+same, n+1) - math.Pow(below, n+1)) / ((n + 1) * same)
		case same > 0:
			part := same / below
			share += p * math.Pow(below, n) * math.Expm1((n+1)*math.Log1p(part)) / ((n + 1) * part)
		default:
			share += p * math.Pow(below, n)
		}
		below = math.Min(1, below+same)
	}
	return math.Min(1, share)
}

// reported returns how often a cluster is named rightly by reports that hold the own label with one probability, and each other
// label with another.
func (c crowded) reported(keep, flip float64) float64 {
	any := (keep + float64(c.labels-1)*flip) / float64(c.labels)
	stray := binomial(c.others(), any)
	return c.named(convolved(binomial(c.size-c.others(), keep), stray), convolved(binomial(c.size-c.others(), flip), stray))
}

// counted returns it of a curator's counts with noise, of which an exchanged label moves two.
func (c crowded) counted(epsilon float64) float64 {
	d := noise.DiscreteLaplace{Decay: epsilon / 2}
	reach := int(math.Ceil(50 / d.Decay))
	law := make([]float64, 2*reach+1)
	for z := range law {
		law[z] = math.Exp(-d.Decay*math.Abs(float64(z-reach))) * math.Tanh(d.Decay/2)
	}
	other := convolved(law, binomial(c.others(), 1/float64(c.labels)))
	return c.named(append(make([]float64, c.size-c.others()), other...), other)
}

// response returns the probabilities of k-ary randomized response.
func (c crowded) response(epsilon float64) (keep, flip float64) {
	m := randomize.KRR{K: c.labels, Epsilon: epsilon}
	return m.Prob(0, 0), m.Prob(0, 1)
}

// subsets returns those of subset selection: a report is a set of labels.
func (c crowded) subsets(epsilon float64) (keep, flip float64) {
	k, w := float64(c.labels), float64(randomize.SubsetSize(c.labels, epsilon))
	keep = w * math.Exp(epsilon) / (k + w*math.Expm1(epsilon))
	return keep, (w - keep) / (k - 1)
}

// twoStages returns it of LP-2ST, drawn in so many clusters. Whoever learns knows the law of the population, and takes the
// likeliest label: of reports of half of a cluster for those to ask the others for, and in the end of all.
func (c crowded) twoStages(r *rand.Rand, epsilon float64, clusters int) float64 {
	first, k := c.size/2, float64(c.labels)
	keep, flip := c.response(epsilon)
	heldBy := func(report func(y int) int, people int) map[int]float64 {
		said := map[int]float64{}
		for range people {
			y := 0 // the cluster's own
			if r.IntN(10) == 0 {
				y = r.IntN(c.labels)
			}
			said[report(y)]++
		}
		return said
	}
	mixed := func(p, any float64) float64 { return 0.9*p + 0.1*any }
	odds := math.Log(mixed(keep, 1/k) / mixed(flip, 1/k))
	right := 0.0
	for range clusters {
		early := heldBy(func(y int) int { return randomize.KRR{K: c.labels, Epsilon: epsilon}.Randomize(r, y) }, first)
		score, total := make([]float64, c.labels), 0.0
		for y := range score {
			score[y] = odds * early[y]
		}
		top := slices.Max(score)
		for _, l := range score {
			total += math.Exp(l - top)
		}
		expected := make([]float32, c.labels)
		for y, l := range score {
			expected[y] = float32(mixed(math.Exp(l-top)/total, 1/k))
		}
		p, err := labeldp.Expect(expected, epsilon)
		if err != nil {
			return math.NaN()
		}
		late, n := heldBy(func(y int) int { return p.Randomize(r, y) }, c.size-first), float64(c.size-first)
		any := 1 / float64(len(p.Kept))
		hit, miss := math.Log(mixed(p.Law(p.Kept[0], p.Kept[0]), any)), math.Log(any)
		if len(p.Kept) > 1 {
			miss = math.Log(mixed(p.Law(p.Kept[0], p.Kept[1]), any))
		}
		for y := range score {
			score[y] += n * math.Log(any)
		}
		for _, y := range p.Kept {
			score[y] += late[y]*hit + (n-late[y])*miss - n*math.Log(any)
		}
		most, ties := slices.Max(score), 0.0
		for _, l := range score {
			if l == most {
				ties++
			}
		}
		if score[0] == most {
			right += 1 / ties
		}
	}
	return right / float64(clusters)
}

func binomial(n int, p float64) []float64 {
	law := make([]float64, n+1)
	for k := range law {
		law[k] = prob.BinomialPMF(k, n, p)
	}
	return law
}

func convolved(a, b []float64) []float64 {
	out := make([]float64, len(a)+len(b)-1)
	for i, x := range a {
		for j, y := range b {
			out[i+j] += x * y
		}
	}
	return out
}

// ManyLabels returns how many clusters are named rightly by the number of labels, and Theorem 5 in numbers.
func ManyLabels() []release.Table {
	const people, drawn, forStages = 500_000, 100, 0x25f
	sizes := []int{100, 300, 1000, 3000, 10_000}
	t := release.Table{
		Title:   "Clusters whose label is named rightly, in percent, of 500,000 people in one cluster for each label",
		Columns: []release.Column{{Title: "labels are told by"}, {Title: "epsilon"}, {Title: "who sees them"}},
	}
	for _, k := range sizes {
		t.Columns = append(t.Columns, release.Column{Title: fmt.Sprintf("%d labels, %d in a cluster", k, people/k), Unit: release.Share})
	}
	for _, way := range []struct {
		name, sees string
		share      func(c crowded, epsilon float64) float64
	}{
		{"UniformRR: one label, by randomized response", "nobody", func(c crowded, e float64) float64 { return c.reported(c.response(e)) }},
		{"LP-2ST, whose second half is asked for few labels", "nobody", func(c crowded, e float64) float64 {
			return c.twoStages(seeded.New(forStages, uint64(c.labels)), e, drawn)
		}},
		{"ours: a set of labels (`subset`)", "nobody", func(c crowded, e float64) float64 { return c.reported(c.subsets(e)) }},
		{"counts with noise", "a curator", crowded.counted},
	} {
		for _, epsilon := range []float64{0.5, 1, 2, 4} {
			row := []release.Cell{release.Text(way.name), release.Text(fmt.Sprint(epsilon)), release.Text(way.sees)}
			for _, k := range sizes {
				row = append(row, release.Number(way.share(crowded{k, people / k}, epsilon), 0))
			}
			t.Rows = append(t.Rows, row)
		}
	}
	return append([]release.Table{t}, association().Tables...)
}
