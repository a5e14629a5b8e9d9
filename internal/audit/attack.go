package audit

import (
	"math/rand/v2"
	"runtime"
	"sync"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/seeded"
)

// View draws what an observer sees of one collection in which the respondent attacked holds
// the first or the second of two records, and returns its score: larger, the more it looks
// like the second. It is for one goroutine.
type View func(r *rand.Rand, second bool) float64

// Observed is a mechanism as an observer meets it.
type Observed struct {
	Sees string      // completes "likelihood ratio of"
	Work int         // about how many random numbers a view takes
	New  func() View // for each goroutine one
}

// Repeated returns the view of so many rounds with the same records and fresh randomness.
func (o Observed) Repeated(rounds int) Observed {
	if rounds == 1 {
		return o
	}
	once := o.New
	o.Work *= rounds
	o.New = func() View {
		view := once()
		return func(r *rand.Rand, second bool) (score float64) {
			for range rounds {
				score += view(r, second)
			}
			return score
		}
	}
	return o
}

// part is how many views share a stream of randomness: what a seed gives does not depend on
// the number of processors.
const part = 256

const (
	budget  = 100_000_000 // random numbers of an attack whose number of runs is not asked for
	fewest  = 4 * part
	mostRun = 1_000_000
)

// Runs returns how many views an attack draws by default: those that take some ten seconds.
func (o Observed) Runs() int { return max(fewest, min(mostRun, budget/max(1, o.Work))/part*part) }

// scores draws so many views, rounded up to whole parts, of either record in turn. progress
// is told how many are done, of how many.
func (o Observed) scores(runs int, seed uint64, progress func(done, of int)) Scored {
	parts := (runs + part - 1) / part
	all := make([]Scored, parts)
	var next, done int
	var mu sync.Mutex
	take := func(finished bool) int {
		mu.Lock()
		defer mu.Unlock()
		if finished {
			done++
			progress(done*part, parts*part)
		}
		next++
		return next - 1
	}
	var workers sync.WaitGroup
	for range min(parts, runtime.GOMAXPROCS(0)) {
		workers.Go(func() {
			view := o.New()
			for at := take(false); at < parts; at = take(true) {
				all[at] = draw(view, seeded.New(seed, uint64(at)))
			}
		})
	}
	workers.Wait()
	var s Scored
	for _, one := range all {
		s.First, s.Second = append(s.First, one.First...), append(s.Second, one.Second...)
	}
	return s
}

func draw(view View, r *rand.Rand) (s Scored) {
	for range part / 2 {
		s.First, s.Second = append(s.First, view(r, false)), append(s.Second, view(r, true))
	}
	return s
}

// Attack draws views and says what they prove of a claim against their observer.
func (o Observed) Attack(claim account.Guarantee, runs int, seed uint64, progress func(done, of int)) Finding {
	s := o.scores(runs, seed, progress)
	return Finding{
		Attack: "likelihood ratio of " + o.Sees, Assumes: nothing, Claimed: claim,
		Lower: s.Lower(claim.Delta, 1-Confidence), Sure: s.Lower(claim.Delta, sure),
		Runs: len(s.First) + len(s.Second), Guesses: len(s.First) + len(s.Second),
	}
}
