package terminal

import (
	"io"
	"sync"
	"time"

	"github.com/confetti-dp/confetti/internal/prob"
)

// Counting draws on a terminal how many million terms the accountant looks at, until finish is called.
func Counting(w io.Writer, stage string) (finish func()) {
	report, clear := Progress(w)
	stop := count(func(millions int) { report(stage+", million terms", millions, -1) }) // nobody knows how many there will be
	return func() { stop(); clear() }
}

// count reports the millions until stop is called, and once more then.
func count(report func(millions int)) (stop func()) {
	before, ended := prob.Counted(), make(chan struct{})
	var wait sync.WaitGroup
	wait.Go(func() {
		tick := time.NewTicker(time.Second / 5)
		defer tick.Stop()
		for over := false; !over; {
			select {
			case <-ended:
				over = true
			case <-tick.C:
			}
			report(int((prob.Counted() - before) / 1_000_000))
		}
	})
	return func() { close(ended); wait.Wait() }
}
