package distribution

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"

	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/question/gradient"
	"github.com/confetti-dp/confetti/plan"
)

// gradientPart is how many devices share a stream of randomness: changing it changes what a
// seed gives.
const gradientPart = 100

// drawGradient lets every device report: no shorter law of so many directions is known. Aggregators of whole gradients add
// their noise.
// Which devices are in a batch is drawn first.
func drawGradient(p plan.Plan, q *gradient.Question, values Values, stream Stream, progress func(done int)) ([]tally.Crowd, error) {
	const forReports, forBatches = 0, 1
	counted, smallest := dealt(stream(forBatches), p, len(values))
	if len(counted) == 0 {
		progress(len(values))
		return []tally.Crowd{{}}, nil
	}
	crowd := tally.Crowd{Tally: q.NewTally(), Respondents: len(counted), Smallest: smallest}
	parts := make(chan int)
	var mu sync.Mutex // guards what follows, and the crowd
	var unfit unfits
	var failed error
	done := 0
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for part := range parts {
				who := counted[part*gradientPart : min(len(counted), (part+1)*gradientPart)]
				own, bad, err := reported(q, values, who, stream(forReports, uint64(part)))
				mu.Lock()
				if err == nil {
					err = crowd.Tally.Merge(own)
				}
				for i, e := range bad {
					unfit.add(who[i], e)
				}
				failed = cmp.Or(failed, err)
				done += len(who)
				progress(done)
				mu.Unlock()
			}
		})
	}
	for part := 0; part*gradientPart < len(counted); part++ {
		parts <- part
	}
	close(parts)
	workers.Wait()
	if sums, ok := crowd.Tally.(*tally.Sums); ok && failed == nil {
		failed = addNoise(sums.N, p, stream)
	}
	if failed != nil {
		return nil, failed
	}
	return []tally.Crowd{crowd}, unfit.err()
}

// reported returns the tally of some devices, and which of their values do not fit.
func reported(q *gradient.Question, values Values, who []int, r *rand.Rand) (tally.Tally, map[int]*question.OutOfDomainError, error) {
	t, bad := q.NewTally(), map[int]*question.OutOfDomainError{}
	var failed error
	err := q.Draw(r, func(yield func(question.Symbol) bool) {
		for i, at := range who {
			symbol, err := q.Encode(values[at])
			unfit, err := question.Fits(err)
			if err != nil {
				failed = fmt.Errorf("value %d: %w", at+1, err)
				return
			}
			if unfit != nil {
				bad[i] = unfit
			}
			if !yield(symbol) {
				return
			}
		}
	}, t)
	return t, bad, cmp.Or(failed, err)
}
