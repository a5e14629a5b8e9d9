package metrics

import (
	"cmp"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/client"
	"github.com/confetti-dp/confetti/client/metrics"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol/design"
)

// price states what one installation pays for a season of a group.
type price struct {
	Key     string  `json:"plan"`    // "week", or "week/languages" of one that is alone
	Metrics int     `json:"metrics"` // how many it asks
	Epsilon float64 `json:"epsilon"` // a hop honest
	Delta   float64 `json:"delta"`
	Local   float64 `json:"local"` // though everyone colludes; negative: no limit
	Minimum int     `json:"minimum"`
	// Quarters is how many crowds there are, by that in which somebody agreed first.
	Quarters int `json:"quarters,omitempty"`
	every    string
	spends   account.Spending
}

// due dates a price by the days of its season.
type due struct {
	at plan.Times
	price
}

// seasons returns those of a price, from one to another.
func seasons(p price, from, until int) (all []due) {
	for season := from; season <= until; season++ {
		all = append(all, due{metrics.Times(p.every, season), p})
	}
	return all
}

// far counts the seasons that are priced beyond the signed ones. A year that begins anywhere in the calendar is covered.
const far = 60

// goesOn adds the seasons from one on, as if they were asked for ever.
func goesOn(all []due, p price, from int) []due { return append(all, seasons(p, from, from+far)...) }

// cost is what seasons of all groups cost together, as a device's own filter adds them up.
type cost struct {
	Answers int     `json:"answers"` // that may be given in the time, at most
	Epsilon float64 `json:"epsilon"`
	Delta   float64 `json:"delta"`
	Local   float64 `json:"local"` // a sum; negative: no limit
}

// worst returns of the seasons of a key, in their order, those that a device may answer in the worst so many days: whose time meets
// them, and whose prices add up to the most.
func worst(all []due, days int, of func(price) float64) (most []due) {
	best := -1.0
	for i, first := range all {
		until := first.at.Closes.AddDate(0, 0, days)
		n, sum := i, 0.0
		for n < len(all) && all[n].at.Opens.Before(until) {
			sum += of(all[n].price)
			n++
		}
		if sum > best {
			most, best = all[i:n], sum
		}
	}
	return most
}

// worstOf returns what an installation pays in the worst of so many days, and the answers that it gives then. Each key has the days
// that are the worst for it, and what everyone who colludes learns has its own.
func worstOf(all map[string][]due, days int) (c cost, spends []account.Spending) {
	for _, key := range slices.Sorted(maps.Keys(all)) {
		for _, p := range worst(all[key], days, func(p price) float64 { return p.Epsilon }) {
			c.Answers++
			spends = append(spends, p.spends)
		}
		for _, p := range worst(all[key], days, func(p price) float64 { return unlimited(p.Local) }) {
			c.Local += unlimited(p.Local)
		}
	}
	if math.IsInf(c.Local, 1) {
		c.Local = -1
	}
	if len(spends) > 0 {
		c.Epsilon, c.Delta = spends[0].With(spends[1:]...)
	}
	return c, spends
}

// foretold is what a round will tell of a metric, of as many people as it needs.
type foretold struct {
	Name   string  `json:"name"`
	People int     `json:"people"`
	Error  float64 `json:"error"`          // of a share of a tenth, to each side, in 95 of 100 rounds
	Points float64 `json:"points"`         // what it must be at most, of 100
	Says   string  `json:"says,omitempty"` // of strings, in the place of an error
}

// foretell returns how exact a round will be: of a value that a tenth hold, by made-up people, and of strings how many must hold
// one.
func (all prices) foretell(app string, g group) (told []foretold, err error) {
	study, err := file{App: app}.study(g, all.like, all.like.Analyzer.Releases)
	if err != nil {
		return nil, err
	}
	points := cmp.Or(g.budget.Points, usual)
	of, says, err := design.Errors(study.Plan, seeded.New(1))
	if says != "" {
		told = append(told, foretold{Name: g.metrics[0].Name, People: g.budget.Minimum, Points: points, Says: says})
	}
	for i, e := range of {
		told = append(told, foretold{Name: g.metrics[i].Name, People: g.budget.Minimum, Points: points, Error: math.Min(1, 1.96*e/float64(g.budget.Minimum))})
	}
	return told, err
}

// prices runs the accountant once for each plan.
type prices struct {
	like  plan.Plan // whose parties carry what is priced
	known map[string]price
}

// study returns what an installation pays for a season of a study.
func (all prices) study(key string, asked []metrics.Metric, study plan.Study) (price, error) {
	p := study.Plan
	p.Title = ""
	text, err := json.Marshal(p)
	if err != nil {
		return price{}, err
	}
	if one, there := all.known[key+string(text)]; there {
		one.Metrics = len(asked)
		return one, nil
	}
	c, _, err := client.Forecast(study.Plan, nil)
	d := account.Domination{Shift: c.Shift, Tail: c.Tail, Adjacency: account.Replacement}
	if d.Shift == 0 && d.Tail == 0 {
		d = account.DominateKnown(c.Epsilon, c.Delta, account.Replacement)
	}
	one := price{
		Key: key, Metrics: len(asked), Epsilon: c.Epsilon, Delta: c.Delta, Local: c.Local, Minimum: study.Plan.Crowd.Minimum,
		every: asked[0].Every, spends: account.Spending{Epsilon: c.Epsilon, Delta: c.Delta, Domination: d},
	}
	if err == nil {
		all.known[key+string(text)] = one
	}
	return one, err
}

// group returns what an installation pays for a season of what a file declares.
func (all prices) group(app, key string, g group) (price, error) {
	study, err := file{App: app}.study(g, all.like, all.like.Analyzer.Releases)
	if err != nil {
		return price{}, err
	}
	one, err := all.study(key, g.metrics, study)
	one.Quarters, _ = g.budget.quarters() // the file was validated
	return one, err
}

// signed returns the seasons of a registry by the keys of its series, as if the last ones went on for ever.
func (all prices) signed(r metrics.Registry) (map[string][]due, error) {
	paid := map[string][]due{}
	for _, key := range keysOf(r) {
		series := ahead(r, key, 0)
		for i, s := range series {
			p, err := all.study(key, s.Metrics, s.Study)
			if err != nil {
				return nil, err
			}
			if paid[key] = append(paid[key], seasons(p, s.From, s.Until)...); i == len(series)-1 {
				paid[key] = goesOn(paid[key], p, s.Until+1)
			}
		}
	}
	return paid, nil
}

// under returns the seasons of a registry that have begun at a time and are not over, by the keys of its series.
func (all prices) under(r metrics.Registry, at, today time.Time) (map[string][]due, error) {
	pays := map[string][]due{}
	for _, key := range keysOf(r) {
		every, _, _ := strings.Cut(key, "/")
		for _, s := range begun(r.Series, key, every, metrics.Next(every, at), earlier(at, today)) {
			p, err := all.study(key, s.Metrics, s.Study)
			if err != nil {
				return nil, err
			}
			pays[key] = append(pays[key], seasons(p, s.From, s.Until)...)
		}
	}
	return pays, nil
}

// coming returns the next seasons of what a file declares, given the price of one now: as metrics end, and the last one for ever.
func (all prices) coming(f file, key string, p price, at time.Time) (pays []due, err error) {
	first := metrics.Next(p.every, at)
	asked := p.Metrics
	for season := first; season < first+far; season++ {
		if g := f.groups(metrics.Times(p.every, season).Opens)[key]; len(g.metrics) > 0 && len(g.metrics) != asked {
			if p, err = all.group(f.App, key, g); err != nil {
				return nil, err
			}
			asked = len(g.metrics)
		}
		pays = append(pays, seasons(p, season, season)...)
	}
	return pays, nil
}

// keysOf returns those of a registry's series, each once.
func keysOf(r metrics.Registry) (keys []string) {
	for _, s := range r.Series {
		keys = append(keys, s.Key())
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// ahead returns the series of a key, in their order, that ask of a season or of later ones; the last one where none does.
func ahead(r metrics.Registry, key string, season int) (series []metrics.Series) {
	var last []metrics.Series
	for _, s := range r.Series {
		if s.Key() != key {
			continue
		}
		if last = []metrics.Series{s}; s.Until >= season {
			series = append(series, s)
		}
	}
	if len(series) == 0 {
		return last
	}
	return series
}
