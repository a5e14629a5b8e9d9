package distribution

import (
	"cmp"
	"runtime"
	"sync"

	"github.com/confetti-dp/confetti/internal/dp/tally"
)

// part is how many devices share a stream of randomness: changing it changes what a seed gives.
const part = 100

// inParts adds to a tally what each part of the respondents says, on all processors.
func inParts(counted []int, t tally.Tally, say func(at int, who []int) (tally.Tally, error), progress func(done int)) error {
	parts := make(chan int)
	var mu sync.Mutex // guards what follows, and the tally
	var failed error
	done := 0
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for at := range parts {
				who := counted[at*part : min(len(counted), (at+1)*part)]
				own, err := say(at, who)
				mu.Lock()
				if err == nil {
					err = t.Merge(own)
				}
				failed = cmp.Or(failed, err)
				done += len(who)
				progress(done)
				mu.Unlock()
			}
		})
	}
	for at := 0; at*part < len(counted); at++ {
		parts <- at
	}
	close(parts)
	workers.Wait()
	return failed
}
