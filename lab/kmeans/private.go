package kmeans

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	learned "github.com/confetti-dp/confetti/lab/train/cluster"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/dp/encode/cluster"
	"github.com/confetti-dp/confetti/internal/kernel"
	"github.com/confetti-dp/confetti/lab/train/dpsgd"
	"github.com/confetti-dp/confetti/lab/train/featuremap"
)

// Private is k-means on private rows, of which nothing is told but how many they are, and noisy sums and numbers of the
// rows in each cluster (Blum, Dwork, McSherry, Nissim 2005, with Gaussian noise): first the mean of all, then clusters
// that are parted at random until there are enough, then rounds of k-means.
type Private struct {
	Clusters        int
	Rounds          int     // after there are enough clusters
	NoiseMultiplier float64 // deviation over how far one row moves all sums and numbers
}

// parted is how many rounds come before clusters are parted again.
const parted = 1

func (p Private) noise() dpsgd.Training {
	steps := 1
	for have := 1; have < p.Clusters; have = min(2*have, p.Clusters) {
		steps += parted
	}
	// A row of length one and its number move sums by sqrt 2; all rows take part in every round.
	return dpsgd.Training{Sampling: 1, NoiseMultiplier: p.NoiseMultiplier, Steps: steps + p.Rounds, Clip: math.Sqrt2, Expected: 1, Rate: 1}
}

// Keeping has the least noise that keeps epsilon at delta of each of so many rows, where one counts for nothing in its
// place (zeroing-out), and says what it then keeps.
func (p Private) Keeping(rows int, epsilon, delta float64) (Private, account.Guarantee, error) {
	t, g, err := p.noise().Keeping(rows, epsilon, delta)
	p.NoiseMultiplier = t.NoiseMultiplier
	return p, g, err
}

// clearCentre is how long the noise of a typical centre may be, where rows have length one: a quarter of that. Of 30, 60, 120
// and 500 clusters of MNIST the second were best, which have that much (docs/noisy-records-how.md).
const clearCentre = 0.25

// Most returns the largest number of clusters, up to p.Clusters and at least one, at which a typical one of so many rows has a
// centre that can be told from its noise, at epsilon and delta of each row. It is of public numbers alone.
func (p Private) Most(rows, columns int, epsilon, delta float64) (int, error) {
	p, _, err := p.Keeping(rows, epsilon, delta)
	if err != nil {
		return 0, err
	}
	noise := p.NoiseMultiplier * p.noise().Clip * math.Sqrt(float64(columns)) // of a sum, in length
	return max(1, min(p.Clusters, int(clearCentre*float64(rows)/noise))), nil
}

// Fit makes clusters of rows whose length is one at most; longer ones are shortened. The noise is drawn by
// r, and by chance along which directions clusters are parted, which is no secret.
func (p Private) Fit(r, chance *rand.Rand, x blas32.General, tell featuremap.Progress) (*cluster.State, error) {
	how := p.noise()
	if err := how.Validate(); err != nil {
		return nil, err
	}
	if p.Clusters < 1 || p.Clusters > cluster.Most || p.Rounds < 0 || x.Rows < 1 {
		return nil, fmt.Errorf("cluster: %d private clusters in %d rounds: give 1 to %d", p.Clusters, p.Rounds, cluster.Most)
	}
	x = shortened(x)
	s := &cluster.State{Centres: zeros(1, x.Cols), Sizes: []int{0}}
	for round := range how.Steps {
		tell("private k-means", round, how.Steps)
		if have := s.Len(); round > 0 && have < p.Clusters {
			s = part(chance, s, min(2*have, p.Clusters))
		}
		if err := s.Prepare(); err != nil {
			return nil, err
		}
		p.round(r, how, s, x)
	}
	return s, s.Prepare()
}

// round moves the centres to the noisy means of their rows; a cluster that is lost in the noise stays where it
// is, and holds nobody.
func (p Private) round(r *rand.Rand, how dpsgd.Training, s *cluster.State, x blas32.General) {
	wide, sums := x.Cols+1, sumsOf(s, x)
	how.Noise(r, sums)
	least := 3 * how.NoiseMultiplier * how.Clip
	for c := range s.Len() {
		n := sums[c*wide+x.Cols]
		s.Sizes[c] = max(0, int(math.Round(n)))
		if n < least {
			s.Sizes[c] = 0
			continue
		}
		for j := range x.Cols {
			s.Centres.Data[c*s.Centres.Stride+j] = float32(sums[c*wide+j] / n)
		}
	}
}

// sumsOf returns of each cluster the sum of its rows, and then their number. A row of length one at most moves all of
// them by sqrt 2 at most.
func sumsOf(s *cluster.State, x blas32.General) []float64 {
	wide := x.Cols + 1
	sums := make([]float64, s.Len()*wide)
	for i, c := range learned.All(s, x) {
		sum := sums[c*wide:][:wide]
		for j, v := range row(x, i) {
			sum[j] += float64(v)
		}
		sum[x.Cols]++
	}
	return sums
}

// apart is how far the halves of a parted cluster begin from each other.
const apart = 0.2

// part makes so many clusters: the largest become two, each a step from where it was.
func part(chance *rand.Rand, s *cluster.State, n int) *cluster.State {
	out := &cluster.State{Centres: zeros(n, s.Centres.Cols), Sizes: make([]int, n)}
	copy(out.Centres.Data, s.Centres.Data)
	order := make([]int, s.Len())
	for c := range order {
		order[c] = c
	}
	slices.SortStableFunc(order, func(a, b int) int { return s.Sizes[b] - s.Sizes[a] })
	for k, c := range order[:n-s.Len()] {
		step, squares := make([]float32, out.Centres.Cols), 0.0
		for j := range step {
			step[j] = float32(chance.NormFloat64())
			squares += float64(step[j]) * float64(step[j])
		}
		by := float32(apart / 2 / math.Sqrt(squares))
		copy(row(out.Centres, s.Len()+k), row(s.Centres, c))
		kernel.Axpy(row(out.Centres, s.Len()+k), step, by)
		kernel.Axpy(row(out.Centres, c), step, -by)
	}
	return out
}

// shortened are rows with a length of one at most. One with a number that is not finite is zero.
func shortened(x blas32.General) blas32.General {
	out := blas32.General{Rows: x.Rows, Cols: x.Cols, Stride: x.Cols, Data: make([]float32, 0, x.Rows*x.Cols)}
	for i := range x.Rows {
		squares := 0.0
		for _, v := range row(x, i) {
			squares += float64(v) * float64(v)
		}
		by := float32(1 / math.Max(1, math.Sqrt(squares)*(1+0x1p-20)))
		for _, v := range row(x, i) {
			if v *= by; !(squares <= math.MaxFloat32) {
				v = 0
			}
			out.Data = append(out.Data, v)
		}
	}
	return out
}

func zeros(rows, cols int) blas32.General {
	return blas32.General{Rows: rows, Cols: cols, Stride: cols, Data: make([]float32, rows*cols)}
}

func row(x blas32.General, i int) []float32 { return x.Data[i*x.Stride:][:x.Cols] }
