package metrics

import (
	"context"
	"time"
)

// Backlog shows how much there is to do that any number of processes
// share, for whoever, or whatever, decides how many they are. ask says how many pieces wait for somebody, how many
// somebody is at, and since when the oldest of all is there; the zero time: there is none.
// done takes down how long this process was at a piece that it has finished. What is shown is
// confetti_NAME_ready, confetti_NAME_leased, confetti_NAME_oldest_seconds, all three the same
// at every process, and the histogram confetti_NAME_duration_seconds, whose _count is how many
// this process has finished. NAME is a plural.
func (s *Set) Backlog(name string, ask func(context.Context) (ready, leased int, oldest time.Time, err error)) (done func(time.Duration)) {
	s.Gauges(func(ctx context.Context) ([]float64, error) {
		ready, leased, oldest, err := ask(ctx)
		age := 0.0
		if !oldest.IsZero() {
			age = max(0, time.Since(oldest).Seconds())
		}
		return []float64{float64(ready), float64(leased), age}, err
	},
		Gauge{Name: name + "_ready", Help: "Pieces of shared work that wait for somebody, wherever."},
		Gauge{Name: name + "_leased", Help: "Pieces of shared work that somebody is at, or was when they stopped, wherever."},
		Gauge{Name: name + "_oldest_seconds", Help: "For how long the oldest piece of shared work that nobody has finished is there."},
	)
	took := s.Histogram(name+"_duration", "How long this process was at each piece of shared work that it has finished.", []float64{.01, .03, .1, .3, 1, 3, 10, 30, 100, 300})
	return func(d time.Duration) { took.Record(d) }
}
