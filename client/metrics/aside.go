package metrics

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/confetti-dp/confetti/client"
	"github.com/confetti-dp/confetti/internal/strictjson"
)

// asideName names the store's entry for calls that were made while this package was not loaded.
const asideName = "counted"

// aside tells a writer that knows no rule what it may write down without this package, and until when.
type aside struct {
	Number   int               `json:"number"`        // of the calls that are taken next; those of an earlier number were taken
	Registry string            `json:"registry"`      // the SHA-256 of its text and the publishers
	Next     time.Time         `json:"next,omitzero"` // when this package is needed; zero: not before consent or another registry
	Windows  []window          `json:"windows"`       // of values, by season
	Steps    []window          `json:"steps"`         // of the steps of sequences
	Arms     map[string]string `json:"arms"`          // what experiments show
	Unshown  []string          `json:"unshown"`       // experiments of which it is written down when they show their arm first
	Fresh    []string          `json:"fresh"`         // in words, what the person has not agreed to
}

// window bounds the time in which calls of some metrics count.
type window struct {
	Season  string    `json:"season,omitempty"`
	From    time.Time `json:"from"`
	Until   time.Time `json:"until"`
	Metrics []string  `json:"metrics"`
}

// counted keeps the calls that were written down.
type counted struct {
	Number int                         `json:"number"`
	Calls  map[string]map[string][]run `json:"calls"` // as they came, by season and metric
	Steps  map[string][]timed          `json:"steps"`
	Shown  map[string]time.Time        `json:"shown"` // when experiments showed the arm that was drawn
	First  map[string]bool             `json:"first"` // experiments that showed their first arm, and had drawn none
}

// run counts equal calls, one after the other.
type run struct {
	Value any `json:"value"` // a number or a text
	Times int `json:"times"`
}

// timed keeps one step of a sequence with its time.
type timed struct {
	Value string    `json:"value"`
	At    time.Time `json:"at"`
}

// value returns what so many calls come to; ok is false for what the metric does not take.
func (m Metric) value(c run) (v value, ok bool) {
	switch x := c.Value.(type) {
	case string:
		v, ok = value{Text: x}, slices.Contains(texts, m.Kind) && m.Kind != "sequence"
	case float64:
		v, ok = value{N: x}, m.Kind == "number" || m.Kind == "counter" && x == math.Trunc(x)
		if m.Kind == "counter" {
			v.N *= float64(c.Times)
		}
	}
	if !ok || c.Times < 1 {
		return value{}, false
	}
	v, _ = m.fits(v)
	return v, v.Some
}

// fold takes the calls that were written down, as of the time when they came, and gives what comes next another number. The
// caller keeps the state and then removes them: a crash between the two leaves calls of a number that was taken.
func (s *state) fold(store client.Store, r Registry, listed map[string]Metric) error {
	if s.Aside == nil {
		return nil
	}
	text, err := store.Load(asideName)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("metrics: %w", err)
	}
	var all counted
	if strictjson.JSON(text, &all) != nil || all.Number != s.Aside.Number {
		return nil
	}
	s.Aside.Number++
	s.showed(all.First, listed)
	s.foldSteps(all, r, listed)
	for _, series := range r.Series {
		for number := series.From; number <= series.Until; number++ {
			calls, one := all.Calls[id(series, number)], s.Seasons[id(series, number)]
			if len(calls) == 0 || one == nil {
				continue
			}
			taken := map[string]value{}
			for _, m := range series.Metrics {
				for _, c := range calls[m.Name] {
					if v, ok := m.value(c); ok {
						taken[m.Name] = m.add(taken[m.Name], v)
					}
				}
			}
			from, _ := asked(series.Metrics[0].Every, number, one.Round)
			s.record(series, number, listed, taken, from)
		}
	}
	return nil
}

// foldSteps takes what was written down with its time: steps of sequences, and when arms were shown first.
func (s *state) foldSteps(all counted, r Registry, listed map[string]Metric) {
	taken, last := map[string]value{}, time.Time{}
	for name, at := range all.Shown {
		taken[name] = value{Some: true, Since: at}
	}
	s.expose(taken)
	clear(taken)
	for name, steps := range all.Steps {
		m := listed[name]
		for _, one := range steps {
			if v, err := m.fits(value{Text: one.Value}); err == nil && m.Kind == "sequence" {
				v.steps = []stepped{{one.At, v.Text}}
				taken[name] = m.add(taken[name], v)
				if one.At.After(last) {
					last = one.At
				}
			}
		}
	}
	if len(taken) == 0 {
		return
	}
	s.begun(r, listed, taken, last)
	for _, series := range r.Series {
		for number := range current(series, last) {
			s.record(series, number, listed, taken, last)
		}
	}
}

// lay says what may be written down from now on, and when this package is needed again: where a season begins, which is
// drawn then, and where an answer is due.
func (s *state) lay(app *App, r Registry, listed map[string]Metric, now time.Time) {
	sum := sha256.Sum256([]byte(strings.Join(append([]string{string(app.Registry)}, app.Publishers...), "\n")))
	a := aside{Number: 1, Registry: hex.EncodeToString(sum[:]), Windows: []window{}, Steps: []window{}, Arms: map[string]string{}, Unshown: []string{}, Fresh: append([]string{}, s.fresh(listed)...)}
	if s.Aside != nil {
		a.Number = s.Aside.Number
	}
	s.Aside = &a
	if len(s.Agreed) == 0 {
		return
	}
	for _, series := range r.Series {
		every := series.Metrics[0].Every
		for number := series.From; number <= series.Until; number++ {
			first, _ := asked(every, number, 1)
			if first.After(now) {
				a.needs(first)
				break
			}
			one := s.Seasons[id(series, number)]
			if !now.Before(Times(every, number).Closes) || one == nil || one.Over || one.Study != series.study(number) {
				continue
			}
			from, until := asked(every, number, one.Round)
			if now.Before(until) {
				a.open(s, series, id(series, number), listed, from, until)
			}
			if due := until.Add(one.Wait); now.Before(due) {
				a.needs(due)
			} else {
				a.needs(now.Add(wake))
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(listed)) {
		m := listed[name]
		if last, err := m.last(); m.Kind == "sequence" && s.Agreed[name].To == m.hash() { // of the season that comes
			first, _ := asked(m.Every, Next(m.Every, now), 1)
			earliest, _ := m.began(first, first)
			a.Steps = append(a.Steps, window{From: earliest, Until: first, Metrics: []string{name}})
		} else if arm := s.Arms[name]; m.Kind == "experiment" && err == nil && !m.Ended(now) && slices.Contains(m.Arms, arm.Arm) {
			a.needs(last)
			if a.Arms[name] = arm.Arm; arm.Since.IsZero() {
				a.Unshown = append(a.Unshown, name)
			}
		}
	}
}

// open lets calls be written down of what a season asks, in its drawn period.
func (a *aside) open(s *state, series Series, season string, listed map[string]Metric, from, until time.Time) {
	w := window{Season: season, From: from, Until: until}
	for _, m := range series.Metrics {
		switch {
		case !s.counts(m, listed, from) || m.Kind == "table":
		case m.Kind == "sequence":
			earliest, _ := m.began(from, until)
			a.Steps = append(a.Steps, window{From: earliest, Until: until, Metrics: []string{m.Name}})
		default:
			w.Metrics = append(w.Metrics, m.Name)
		}
	}
	if len(w.Metrics) > 0 {
		a.Windows = append(a.Windows, w)
	}
}

// needs notes a time at which this package is needed: the first counts.
func (a *aside) needs(at time.Time) {
	if at = at.UTC().Truncate(time.Second).Add(time.Second); a.Next.IsZero() || at.Before(a.Next) {
		a.Next = at
	}
}

// lay has the state say what may be written down until the next Step, where there is one: nothing is kept of somebody who has not agreed.
func (a *App) lay(o client.Options, r Registry, listed map[string]Metric, now time.Time) error {
	if some, err := kept(o.Store); !some {
		return err
	}
	return change(o.Store, func(s *state) error { s.lay(a, r, listed, now); return nil })
}
