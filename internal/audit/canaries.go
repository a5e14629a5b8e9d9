package audit

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"sync"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/dp/vector"
	"github.com/confetti-dp/confetti/internal/seeded"
)

// Sums are rounds of a sum of vectors, one description each, and its respondents. The
// first so many of them are canaries: each holds its own coordinate direction or the
// opposite, half the largest distance long, by a fair coin that is the same in all rounds.
// The others hold zero. Directions are orthogonal, so that canaries hardly disturb each
// other; there are at most as many as dimensions.
type Sums struct {
	Rounds   []vector.Spec
	Users    int
	Canaries int
}

// summing is a vector.Mechanism, or a twin of one.
type summing interface {
	Spec() vector.Spec
	Draw(r *rand.Rand, v []float32, c vector.Counts)
	Estimate(c vector.Counts, n int) (vector.Sum, error)
	NewCounts() vector.Counts
}

// EnoughCanaries refuses so few that no guess of theirs says anything.
func EnoughCanaries(n int) error {
	if n < 4 {
		return fmt.Errorf("audit: %d canaries: give at least 4", n)
	}
	return nil
}

// Validate says what is wrong with the rounds or the number of canaries.
func (s Sums) Validate() error {
	for _, spec := range s.Rounds {
		if err := spec.Validate(); err != nil {
			return err
		}
	}
	if most := min(s.Users, s.Rounds[0].Dimension); s.Canaries < 4 || s.Canaries > most {
		return fmt.Errorf("audit: %d canaries: give 4 to %d, one for a respondent and a dimension", s.Canaries, most)
	}
	return nil
}

// Attack returns one run of all rounds. Of it two bounds are computed: without an assumption,
// and assuming that the sums are Gaussian.
func (s Sums) Attack(claim account.Guarantee, seed uint64, progress func(done, of int)) ([]Finding, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	rounds := make([]summing, len(s.Rounds))
	for i, spec := range s.Rounds {
		m, err := vector.New(spec)
		if err != nil {
			return nil, err
		}
		rounds[i] = m
	}
	return s.attack(rounds, claim, seed, progress)
}

func (s Sums) attack(rounds []summing, claim account.Guarantee, seed uint64, progress func(done, of int)) ([]Finding, error) {
	c := Guessed{Score: make([]float64, s.Canaries), Second: make([]bool, s.Canaries)}
	coins := seeded.New(seed)
	for i := range c.Second {
		c.Second[i] = coins.Uint64()>>63 == 1
	}
	for round, m := range rounds {
		counts := s.collect(m, c.Second, func(block int) *rand.Rand { return seeded.New(seed, uint64(round), uint64(block)) }, func(done int) {
			progress(round*s.Users+done, len(rounds)*s.Users)
		})
		sum, err := m.Estimate(counts, s.Users)
		if err != nil {
			return nil, err
		}
		for i := range c.Score {
			c.Score[i] += sum.Vector[i]
		}
	}
	return c.Findings(fmt.Sprintf("%d canaries in orthogonal directions, in the sums of %s", s.Canaries, inRounds(len(rounds))), claim)
}

// Finding returns the bound of one run that rests on nothing.
func (c Guessed) Finding(attack string, claim account.Guarantee) Finding {
	return Finding{
		Attack: attack, Assumes: fromOneRun, Claimed: claim, Runs: 1, Guesses: len(c.Score),
		Lower: c.Lower(claim.Delta, 1-Confidence), Sure: c.Lower(claim.Delta, sure),
	}
}

// Findings returns both bounds of one run: the one that rests on nothing, and the one of Gaussian sums.
func (c Guessed) Findings(attack string, claim account.Guarantee) ([]Finding, error) {
	found := c.Finding(attack, claim)
	normal := found
	normal.Assumes = gaussian
	var err error
	if normal.Lower, err = c.Gaussian(claim.Delta, 1-Confidence); err != nil {
		return nil, err
	}
	if normal.Sure, err = c.Gaussian(claim.Delta, sure); err != nil {
		return nil, err
	}
	return []Finding{found, normal}, nil
}

// held is what respondent i holds.
func (s Sums) held(spec vector.Spec, i int, second bool, v []float32) {
	clear(v)
	if i < s.Canaries {
		v[i] = float32(math.Sqrt(spec.SquaredDistance) / 2)
		if !second {
			v[i] = -v[i]
		}
	}
}

// block is how many respondents share a stream of randomness.
const block = 64

// inBlocks calls work for all of n numbers, block by block on all processors, each worker
// with what start gives it; done is told how many are.
func inBlocks[T any](n int, start func() T, work func(own T, block, from, to int), done func(n int)) (all []T) {
	blocks := make(chan int)
	var workers sync.WaitGroup
	var mu sync.Mutex
	finished := 0
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			own := start()
			for b := range blocks {
				from, to := b*block, min(n, (b+1)*block)
				work(own, b, from, to)
				mu.Lock()
				finished += to - from
				done(finished)
				mu.Unlock()
			}
			mu.Lock()
			all = append(all, own)
			mu.Unlock()
		})
	}
	for b := 0; b*block < n; b++ {
		blocks <- b
	}
	close(blocks)
	workers.Wait()
	return all
}

// collect counts the reports of all respondents of a round, as the analyzer does.
func (s Sums) collect(m summing, second []bool, stream func(block int) *rand.Rand, done func(n int)) vector.Counts {
	type worker struct {
		counts vector.Counts
		v      []float32
	}
	all := m.NewCounts()
	for _, w := range inBlocks(s.Users, func() worker {
		return worker{m.NewCounts(), make([]float32, m.Spec().Dimension)}
	}, func(w worker, block, from, to int) {
		r := stream(block)
		for i := from; i < to; i++ {
			s.held(m.Spec(), i, i < s.Canaries && second[i], w.v)
			m.Draw(r, w.v, w.counts)
		}
	}, done) {
		all.Merge(w.counts)
	}
	return all
}
