package account

import (
	"sync"
	"time"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/internal/prob"
)

// certify puts what is proved over every data set and what no accountant can prove
// less than side by side. It may take seconds: a terminal shows how far it is.
func (s *statement) certify(std terminal.Streams, e account.Event, delta float64) (err error) {
	report, finish := terminal.Progress(std.Err)
	stop := watch(report)
	defer func() { stop(); finish() }()
	s.certified = true
	if s.Guarantee, err = account.Certify(e, delta); err != nil {
		return err
	}
	if low, err := account.LowerEpsilon(e, delta); err == nil { // not known for every mechanism
		s.lower = &low.Epsilon
	}
	return nil
}

// watch reports how many million terms of laws the accountant looks at, until stop is called, and once more then. Nobody
// knows how many there will be.
func watch(report func(stage string, done, total int)) (stop func()) {
	const million, unknown = 1_000_000, -1
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
			report("certifying, million terms", int((prob.Counted()-before)/million), unknown)
		}
	})
	return func() { close(ended); wait.Wait() }
}
