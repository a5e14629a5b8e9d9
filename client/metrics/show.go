package metrics

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/confetti-dp/confetti/client"
	"github.com/confetti-dp/confetti/plan"
)

// Shown is a season as a device has it, for people who look.
type Shown struct {
	Season string       `json:"season"` // "week/12"
	From   time.Time    `json:"from"`   // of the period that was drawn
	Until  time.Time    `json:"until"`
	Kept   []shownValue `json:"kept,omitempty"` // before the answer
	Said   string       `json:"said,omitempty"` // in words, once it is drawn
	State  string       `json:"state"`          // "comes", "counts", "waits", "said", "silent"
}

// shownValue says what a device keeps of a metric, and how it would tell it.
type shownValue struct {
	Metric string `json:"metric"`
	Value  string `json:"value"` // as it would be told without noise
	Told   string `json:"told"`  // in words: by what chance
}

// Show returns what a store keeps for the seasons of a registry, and what was said of them. It changes nothing, and draws no answer to
// show: a second draw would be a second answer.
func Show(store client.Store, r Registry, now time.Time) ([]Shown, error) {
	if some, err := kept(store); err != nil || !some {
		return nil, err
	}
	s, err := load(store)
	if err != nil {
		return nil, err
	}
	l, err := client.ReadLedger(store)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	asks := map[string]Series{} // by the seasons' names; what is over has left the registry, and what was said of it stays
	for _, series := range r.Series {
		for number := series.From; number <= series.Until; number++ {
			asks[id(series, number)] = series
		}
	}
	var all []Shown
	for name, one := range s.Seasons {
		key, text, _ := strings.Cut(name, "/")
		number, err := strconv.Atoi(text[strings.LastIndex(text, "/")+1:])
		if err != nil || !slices.Contains(periods, key) {
			continue
		}
		shown := Shown{Season: name}
		shown.From, shown.Until = asked(key, number, one.Round)
		series, listed := asks[name]
		at := slices.IndexFunc(l.Entries, func(e client.Entry) bool { return e.Study == one.Study })
		switch {
		case at >= 0 && l.Entries[at].Waiting():
			shown.State, shown.Said = "waits", l.Entries[at].Said
		case at >= 0:
			shown.State, shown.Said = "said", l.Entries[at].Said
		case one.Over || !listed || one.Study != series.study(number) || !now.Before(Times(key, number).Closes):
			shown.State = "silent"
		case now.Before(shown.From):
			shown.State = "comes"
		default:
			if shown.State = "counts"; !now.Before(shown.Until) {
				shown.State = "waits"
			}
			shown.Kept = s.laws(series, one.Kept, r, shown.From, shown.Until)
		}
		all = append(all, shown)
	}
	slices.SortFunc(all, func(a, b Shown) int {
		return cmp.Or(a.From.Compare(b.From), strings.Compare(a.Season, b.Season))
	})
	return all, nil
}

// laws returns what is kept of each metric of a series, with its law.
func (s *state) laws(series Series, kept map[string]value, r Registry, from, until time.Time) (all []shownValue) {
	listed := map[string]Metric{}
	for _, m := range r.Metrics {
		listed[m.Name] = m
	}
	for i, m := range series.Metrics {
		all = append(all, shownValue{m.Name, words(s.says(m, series, kept, listed, from, until), m), law(series.Study.Plan, i)})
	}
	return all
}

// words returns a value as people read it.
func words(said any, m Metric) string {
	switch v := said.(type) {
	case []string:
		if len(v) == 0 {
			return "none of them"
		}
		return strings.Join(v, ", ")
	case string:
		if m.Kind == "string" && len(v) > m.Longest {
			return "no text"
		}
		return v
	}
	return ""
}

// law returns in words how a plan tells the value of one of its attributes.
func law(p plan.Plan, i int) string {
	h := p.Question.Histogram
	if h == nil || h.Attributes[i].Items() != 1 || h.Randomizer.Name != "krr" {
		if c, _, err := client.Forecast(p, nil); err == nil && c.Local >= 0 {
			return fmt.Sprintf("with noise: whoever reads it learns no more than epsilon %.3g allows, though everyone colludes", c.Local)
		}
		return "with noise"
	}
	cells := float64(h.Attributes[i].Domain())
	e := math.Exp(h.Randomizer.Epsilon)
	told := fmt.Sprintf("as it is with probability %.3g, otherwise one of %.0f at random", (e-1)/(e+cells-1), cells)
	if n := len(h.Attributes); n > 1 {
		return fmt.Sprintf("one of %d metrics is drawn; if this one, then %s", n, told)
	}
	return told
}
