package console

import (
	"context"
	"slices"
	"time"

	"github.com/confetti-dp/confetti/internal/release/trend"
	"github.com/confetti-dp/confetti/internal/service/analyzerd"
)

// Bands tell when a metric leaves one: a *bands.Outbox.
type Bands interface {
	// Titles are of the studies that they are of.
	Titles() []string
	// Step tells what there is to tell of the newest rounds, of plans that stand.
	Step(ctx context.Context, newest []trend.Told, stands func(plan string) bool) error
}

// bandsEvery is how long after one look at bands the next one comes.
const bandsEvery = time.Minute

// watchBands looks at bands until the context ends.
func (c *Console) watchBands(ctx context.Context) {
	for ctx.Err() == nil {
		if err := c.tellBands(ctx); err != nil && ctx.Err() == nil {
			c.o.Log.Error("bands could not be looked at", "error", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(bandsEvery):
		}
	}
}

// tellBands reads the newest round of each study that bands are of, and tells what left its band.
func (c *Console) tellBands(ctx context.Context) error {
	all, err := c.analyzer.list(ctx)
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(p analyzerd.Plan) bool { return p.Standing() != analyzerd.Released })
	var newest []trend.Told
	for _, title := range c.bands.Titles() {
		i := slices.IndexFunc(all, func(p analyzerd.Plan) bool { return p.Title == title && p.Study != "" }) // the newest first
		if i < 0 {
			continue
		}
		one, err := c.analyzer.round(ctx, all[i].Plan)
		if err != nil {
			return err
		}
		newest = append(newest, trend.Told{Title: title, Plan: all[i].Plan, Round: one.Round})
	}
	return c.bands.Step(ctx, newest, func(plan string) bool {
		return slices.ContainsFunc(all, func(p analyzerd.Plan) bool { return p.Plan == plan })
	})
}
