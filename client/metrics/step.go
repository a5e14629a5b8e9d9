package metrics

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/confetti-dp/confetti/client"
	"github.com/confetti-dp/confetti/internal/rng"
)

const (
	// wake is how long an app sleeps at most, and how long after a failure it tries again.
	wake = time.Hour
	// backwards is by how much a clock may be set back without a word.
	backwards = time.Hour
)

// Step does what is due: it draws a period of each season that has begun, keeps what was counted, and answers once a drawn
// period is over and its random delay too. It says when to come again. An error names the season, and nothing of
// what was counted; what could not be said now is said later, once, or never.
func (a *App) Step(ctx context.Context) (next time.Time, err error) {
	a.stepping.Lock()
	defer a.stepping.Unlock()
	o, r, listed := a.opened()
	if listed == nil {
		return next, errClosed
	}
	now := o.Now()
	next = now.Add(wake)
	if off() {
		a.take()
		return next, client.ErrOff
	}
	if err := a.keep(); err != nil {
		return next, err
	}
	var errs []error
	for _, s := range r.Series {
		for season := range current(s, now) {
			due, err := a.settle(ctx, s, season, now)
			if err != nil {
				errs = append(errs, fmt.Errorf("metrics: season %s: %w", id(s, season), err))
			}
			if !due.IsZero() && due.Before(next) {
				next = due
			}
		}
	}
	if a.Aside {
		errs = append(errs, a.lay(o, r, listed, now))
	}
	return next, errors.Join(errs...)
}

// current returns the seasons of a series that have begun and may still be answered.
func current(s Series, now time.Time) func(func(int) bool) {
	return func(yield func(int) bool) {
		every := s.Metrics[0].Every
		for season := s.From; season <= s.Until; season++ {
			first, _ := asked(every, season, 1)
			if !first.After(now) && now.Before(Times(every, season).Closes) && !yield(season) {
				return
			}
		}
	}
}

// keep draws what has to be drawn, and keeps what is pending of the periods that were drawn: nothing of others. The caller holds
// stepping.
func (a *App) keep() error {
	o, r, listed := a.opened()
	if listed == nil {
		return errClosed
	}
	if some, err := kept(o.Store); !some { // nobody has agreed yet: what was counted is gone, and nothing is drawn
		a.take()
		return err
	}
	now := o.Now()
	drawn, err := draws(o, r, now)
	if err != nil {
		return err
	}
	taken, first := a.take(), a.takeFirst()
	var back error
	var written []string
	if a.Aside {
		written = []string{asideName} // where it stays, its number says that it was taken
	}
	err = a.change(o.Store, func(s *state) error {
		if err := s.fold(o.Store, r, listed); err != nil {
			return err
		}
		if now.Before(s.Seen.Add(-backwards)) {
			back = refuse("clock-back", "metrics: the device's clock shows %s, and showed %s before: it was set back; what was said is not said again", now.UTC().Format(time.RFC3339), s.Seen.UTC().Format(time.RFC3339))
		}
		if len(s.Agreed) > 0 { // before, the device keeps nothing, not even when it was used
			s.Seen = now.UTC()
		}
		s.showed(first, listed)
		s.expose(taken)
		for name, one := range drawn {
			if s.Seasons[name] == nil {
				s.Seasons[name] = one
			}
		}
		s.begun(r, listed, taken, now)
		open := map[string]bool{}
		for _, series := range r.Series {
			for number := range current(series, now) {
				open[id(series, number)] = true
				s.record(series, number, listed, taken, now)
			}
		}
		for name, one := range s.Seasons {
			if !open[name] { // nobody asks for what is kept of it any more
				one.Kept = nil
			}
		}
		return nil
	}, written...)
	if err != nil {
		a.restore(taken)
		a.restoreFirst(first)
	}
	return errors.Join(err, back)
}

// record keeps what was counted, where a season's drawn period is now.
func (s *state) record(series Series, number int, listed map[string]Metric, taken map[string]value, now time.Time) {
	one := s.Seasons[id(series, number)]
	if one == nil || one.Said || one.Over || one.Study != series.study(number) {
		return
	}
	from, until := asked(series.Metrics[0].Every, number, one.Round)
	for _, m := range series.Metrics {
		v, some := taken[m.Name]
		if !some || !s.counts(m, listed, from) {
			continue
		}
		before, was := one.Kept[m.Name]
		switch {
		case m.Kind == "sequence":
			earliest, latest := m.began(from, until)
			if v, some = m.follow(before, was, v.steps, earliest, latest); !some {
				continue
			}
		case now.Before(from) || !now.Before(until), m.Kind == "experiment" && (v.Text == "" || s.Arms[m.Name].Since.IsZero()):
			continue
		default:
			before.Some = was
			v = m.add(before, v)
			v.Since = time.Time{} // of an experiment its arm has it
		}
		if one.Kept == nil {
			one.Kept = map[string]value{}
		}
		one.Kept[m.Name] = v
	}
}

// expose notes since when arms are shown.
func (s *state) expose(taken map[string]value) {
	for name, a := range s.Arms {
		if v := taken[name]; a.Arm != "" && a.Since.IsZero() && !v.Since.IsZero() {
			a.Since = v.Since.UTC()
			s.Arms[name] = a
		}
	}
}

// begun follows the sequences that will be over in the first period of the season that comes next: nobody has drawn it yet. Once it
// is drawn they go where its values are kept, or are forgotten.
func (s *state) begun(r Registry, listed map[string]Metric, taken map[string]value, now time.Time) {
	for name, m := range listed {
		if m.Kind != "sequence" {
			continue
		}
		v, some := s.Ahead[name]
		if season := Next(m.Every, v.Since); some && Next(m.Every, now) != season {
			s.arrive(r, m, v, season, now)
			delete(s.Ahead, name)
			some = false
		}
		if _, agreed := s.Agreed[name]; !agreed {
			continue
		}
		earliest, latest := m.began(asked(m.Every, Next(m.Every, now), 1))
		if v, some = m.follow(v, some, taken[name].steps, earliest, latest); some {
			if s.Ahead == nil {
				s.Ahead = map[string]value{}
			}
			s.Ahead[name] = v
		}
	}
}

// arrive keeps a sequence that began before a season, if the device has drawn the first period of it.
func (s *state) arrive(r Registry, m Metric, v value, season int, now time.Time) {
	for _, series := range r.Series {
		for number := range current(series, now) {
			one := s.Seasons[id(series, number)]
			if number != season || one == nil || one.Round != 1 || one.Said || one.Over || one.Study != series.study(number) {
				continue
			}
			if !slices.ContainsFunc(series.Metrics, func(o Metric) bool { return o.Name == m.Name && o.hash() == m.hash() }) {
				continue
			}
			if one.Kept == nil {
				one.Kept = map[string]value{}
			}
			one.Kept[m.Name] = v
		}
	}
}

// study returns the name of a season's.
func (s Series) study(season int) string { of := s.Of(season); return of.Name() }

// draws draws a period of each season that has begun and that the device has not met, before it looks at any value.
// Somebody who has not agreed is drawn for nothing.
func draws(o client.Options, r Registry, now time.Time) (map[string]*season, error) {
	s, err := load(o.Store)
	if err != nil {
		return nil, err
	}
	drawn := map[string]*season{}
	for _, series := range r.Series {
		for number := range current(series, now) {
			name := id(series, number)
			if s.Seasons[name] != nil {
				continue
			}
			of := series.Of(number)
			joined, err := o.Join(of)
			if errors.Is(err, client.ErrNotOptedIn) {
				return nil, nil
			}
			if err != nil {
				return nil, err
			}
			from, until := asked(series.Metrics[0].Every, number, joined.Round)
			drawn[name] = &season{Study: of.Name(), Round: joined.Round, Wait: time.Duration(rng.New().Int64N(int64(until.Sub(from) / 4)))}
		}
	}
	return drawn, nil
}

// settle answers a season that is due, and says when to come again; zero: for nothing.
func (a *App) settle(ctx context.Context, series Series, number int, now time.Time) (time.Time, error) {
	o, _, listed := a.opened()
	s, err := load(o.Store)
	if err != nil {
		return now.Add(wake), err
	}
	name, of := id(series, number), series.Of(number)
	one := s.Seasons[name]
	if one == nil || one.Over {
		return time.Time{}, nil
	}
	if one.Study != of.Name() {
		return time.Time{}, refuse("other-study", "the device has met another study of it, which was signed earlier: this one is not answered")
	}
	from, until := asked(series.Metrics[0].Every, number, one.Round)
	if due := until.Add(one.Wait); now.Before(due) {
		return due, nil
	}
	signed, with, err := client.FetchURL(ctx, strings.TrimSuffix(of.Plan.Analyzer.URL, "/")+"/v1/studies/"+one.Study, o)
	if err != nil {
		return now.Add(wake), err
	}
	switch round := signed.Plan.Round.Number; {
	case round < one.Round:
		return now.Add(wake), nil // the coordinator is late
	case round > one.Round:
		return time.Time{}, end(o, name)
	}
	answers := client.Answers{}
	for _, m := range series.Metrics {
		answers[m.field()] = s.says(m, series, one.Kept, listed, from, until)
	}
	if series.Quarters > 0 {
		answers["crowd"] = crowd(series.Metrics[0].Every, number, series.Quarters, s.First)
	}
	c, err := client.Open(signed, with)
	if err != nil {
		return now.Add(wake), err
	}
	defer c.Close()
	if one.Said {
		err = c.Deliver(ctx)
	} else {
		err = c.Report(ctx, answers)
	}
	return a.said(name, one, err, now)
}

// said marks what became of an attempt, by what the ledger has: the answer is drawn there first, and what was kept is
// removed afterwards. An end between the two says nothing twice.
func (a *App) said(name string, one *season, attempt error, now time.Time) (time.Time, error) {
	o, _, _ := a.opened()
	l, err := client.ReadLedger(o.Store)
	if err != nil {
		return now.Add(wake), errors.Join(attempt, err)
	}
	at := slices.IndexFunc(l.Entries, func(e client.Entry) bool { return e.Study == one.Study })
	if at < 0 {
		if errors.Is(attempt, client.ErrClosed) {
			return time.Time{}, end(o, name)
		}
		return now.Add(wake), attempt
	}
	if err := o.Failpoint("metrics-answered"); err != nil {
		return now.Add(wake), err
	}
	if !l.Entries[at].Waiting() {
		return time.Time{}, end(o, name)
	}
	if err := change(o.Store, func(s *state) error { s.Seasons[name].Said, s.Seasons[name].Kept = true, nil; return nil }); err != nil {
		return now.Add(wake), err
	}
	next := now.Add(wake)
	if waiting, is := errors.AsType[*client.WaitingError](attempt); is {
		if !waiting.Next.IsZero() {
			next = waiting.Next
		}
		if errors.Is(waiting.Cause, client.ErrDelayed) {
			return next, nil
		}
	}
	return next, attempt
}

// end notes that nothing is to be done of a season any more.
func end(o client.Options, name string) error {
	return change(o.Store, func(s *state) error { s.Seasons[name].Over, s.Seasons[name].Kept = true, nil; return nil })
}
