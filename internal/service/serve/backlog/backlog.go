// Package backlog publishes how much work is waiting that processes share. Used by internal/service/analyzerd and
// internal/service/shufflerd.
package backlog

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/metric"
)

// Show has a meter of serve.Metrics tell how much there is to do that any number of processes
// share, for whoever, or whatever, decides how many they are. ask says how many pieces wait for somebody, how many
// somebody is at, and since when the oldest of all is there; the zero time: there is none.
// done takes down how long this process was at a piece that it has finished. What is shown is
// confetti_NAME_ready, confetti_NAME_leased, confetti_NAME_oldest_seconds, all three the same
// at every process, and the histogram confetti_NAME_duration_seconds, whose _count is how many
// this process has finished. NAME is a plural.
func Show(m metric.Meter, name string, ask func(context.Context) (ready, leased int, oldest time.Time, err error)) (done func(time.Duration)) {
	ready := must(m.Int64ObservableGauge(name+"_ready", metric.WithDescription("Pieces of shared work that wait for somebody, wherever.")))
	leased := must(m.Int64ObservableGauge(name+"_leased", metric.WithDescription("Pieces of shared work that somebody is at, or was when they stopped, wherever.")))
	oldest := must(m.Float64ObservableGauge(name+"_oldest", metric.WithUnit("s"), metric.WithDescription("For how long the oldest piece of shared work that nobody has finished is there.")))
	took := must(m.Float64Histogram(name+"_duration", metric.WithUnit("s"), metric.WithDescription("How long this process was at each piece of shared work that it has finished."),
		metric.WithExplicitBucketBoundaries(.01, .03, .1, .3, 1, 3, 10, 30, 100, 300)))
	must(m.RegisterCallback(func(ctx context.Context, o metric.Observer) error {
		waiting, held, since, err := ask(ctx)
		if err != nil {
			return err
		}
		o.ObserveInt64(ready, int64(waiting))
		o.ObserveInt64(leased, int64(held))
		age := 0.0
		if !since.IsZero() {
			age = max(0, time.Since(since).Seconds())
		}
		o.ObserveFloat64(oldest, age)
		return nil
	}, ready, leased, oldest))
	return func(d time.Duration) { took.Record(context.Background(), d.Seconds()) }
}

// must panics on errors of names and options that stand in the program.
func must[T any](v T, err error) T {
	if err != nil {
		panic("backlog: " + err.Error())
	}
	return v
}
