package metrics

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/confetti-dp/confetti/client/metrics"
	"github.com/confetti-dp/confetti/cmd/internal/plans"
	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/internal/plan/author"
	"github.com/confetti-dp/confetti/internal/storage/atomicfile"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol/design"
)

// file is confetti.toml: what an app asks of its people.
type file struct {
	Version    int                 `json:"version"`
	App        string              `json:"app"`
	Publishers []string            `json:"publishers"` // public keys, any of whom may sign the registry
	Day        *budget             `json:"day"`
	Week       *budget             `json:"week"`
	Month      *budget             `json:"month"`
	Metric     map[string]declared `json:"metric"`
	Reviewed   []review            `json:"reviewed"`
}

// budget is what an installation pays a season, and how many people a round needs, in each crowd.
type budget struct {
	Epsilon float64 `json:"epsilon"`
	Delta   float64 `json:"delta"`
	Minimum int     `json:"minimum"`
	Crowds  string  `json:"crowds"` // "4 quarters": by that in which somebody agreed first
	Points  float64 `json:"points"` // to within how much of 100 a tenth has to be known; 0: usual
}

// usual is to within how much of 100 a tenth has to be known, where a file says nothing.
const usual = 5

// quarters returns how many crowds there are; 0: one, of everybody.
func (b budget) quarters() (n int, err error) {
	if b.Crowds == "" {
		return 0, nil
	}
	number, unit, _ := strings.Cut(b.Crowds, " ")
	n, err = strconv.Atoi(number)
	switch {
	case strings.HasPrefix(unit, "week") || strings.HasPrefix(unit, "day"):
		return 0, errors.New("crowds by the week or day of an installation are refused: a crowd is public beside its sender's address, and a week is half a name. Quarters are taken")
	case err != nil || unit != "quarters" || n < 2 || n > metrics.MaxQuarters:
		return 0, fmt.Errorf(`crowds is such as "4 quarters", from 2 to %d: those in which people agreed first, and each needs its minimum`, metrics.MaxQuarters)
	}
	return n, nil
}

// declared is a metric; one that is alone has a budget of its own.
type declared struct {
	Kind     string               `json:"kind"`
	Values   []string             `json:"values"`
	Edges    []float64            `json:"edges"`
	Keep     string               `json:"keep"`
	Most     int                  `json:"most"`
	Letters  string               `json:"alphabet"`
	Longest  int                  `json:"longest"`
	Steps    []string             `json:"steps"`
	Within   string               `json:"within"`
	After    string               `json:"after"`
	Of       []string             `json:"of"`     // of a table: two metrics
	Coarse   map[string][]float64 `json:"coarse"` // of a table: other edges of these
	Arms     []string             `json:"arms"`
	Outcomes []string             `json:"outcomes"`
	Every    string               `json:"every"`
	Why      string               `json:"why"`
	Owner    string               `json:"owner"`
	Ends     string               `json:"ends"`
	Epsilon  float64              `json:"epsilon"`
	Delta    float64              `json:"delta"`
	Minimum  int                  `json:"minimum"`
	Points   float64              `json:"points"`
}

// review is somebody's word that more may be asked than before.
type review struct {
	Change string `json:"change"` // which change: what check printed
	By     string `json:"by"`
	On     string `json:"on"`
	Says   string `json:"says"`
}

// group is what one plan asks.
type group struct {
	metrics []metrics.Metric
	budget  budget
}

// readFile reads confetti.toml, and reports all that is wrong with it.
func readFile(path string) (f file, err error) {
	text, err := atomicfile.Read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return f, terminal.Usagef("there is no %s: declare what the app counts there (docs/metrics.md)", path)
	}
	if err != nil {
		return f, err
	}
	if err := author.Read(text, &f); err != nil {
		return f, terminal.Usagef("%s: %s", path, strings.TrimPrefix(err.Error(), "plan: "))
	}
	if err := f.validate(); err != nil {
		return f, terminal.Usage(fmt.Errorf("%s: %w", path, err))
	}
	return f, nil
}

func (f file) validate() error {
	var errs []error
	require := func(ok bool, format string, a ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, a...))
		}
	}
	require(f.Version == 1, "version is %d: this build reads version 1", f.Version)
	require(f.App != "", "app is missing: it names the registry, and the store of a device")
	require(len(f.Publishers) > 0, "publishers is missing: the public key of who signs (confetti keys show)")
	require(len(f.Metric) > 0, "there is no [metric.NAME]")
	for _, name := range slices.Sorted(maps.Keys(f.Metric)) {
		d, m := f.Metric[name], f.metric(name)
		if err := errors.Join(f.tabled(name), m.Validate()); err != nil {
			errs = append(errs, err)
			continue
		}
		if m.Alone() {
			errs = append(errs, d.own().validate("metric "+name+" is a plan by itself"))
			continue
		}
		require(d.own() == budget{}, "metric %s: epsilon, delta, minimum and points are those of [%s]: leave them out", name, m.Every)
		require(f.period(m.Every) != nil, "metric %s: there is no [%s] with its epsilon, delta and minimum", name, m.Every)
	}
	for _, every := range []string{"day", "week", "month"} {
		if b := f.period(every); b != nil {
			errs = append(errs, b.validate(every))
		}
	}
	return errors.Join(errs...)
}

func (b budget) validate(of string) error {
	if !(b.Epsilon > 0) || !(b.Delta > 0 && b.Delta < 1) || b.Minimum < 1 || b.Minimum > plan.MaxCrowd {
		return fmt.Errorf("%s: it needs an epsilon above 0, a delta between 0 and 1, and a minimum of people from 1 to %d", of, plan.MaxCrowd)
	}
	if b.Points < 0 || b.Points > 100 {
		return fmt.Errorf("%s: points is how exactly a tenth has to be known, of 100: give up to 100, or leave it out for %d", of, usual)
	}
	_, err := b.quarters()
	if err != nil {
		return fmt.Errorf("%s: %w", of, err)
	}
	return nil
}

func (f file) period(every string) *budget {
	return map[string]*budget{"day": f.Day, "week": f.Week, "month": f.Month}[every]
}

func (d declared) own() budget {
	return budget{Epsilon: d.Epsilon, Delta: d.Delta, Minimum: d.Minimum, Points: d.Points}
}

// metric returns what is declared by a name.
func (f file) metric(name string) metrics.Metric {
	d := f.Metric[name]
	m := metrics.Metric{
		Name: name, Kind: d.Kind, Values: d.Values, Edges: d.Edges, Keep: d.Keep, Most: d.Most, Alphabet: d.Letters, Longest: d.Longest,
		Steps: d.Steps, Within: d.Within, After: d.After, Arms: d.Arms, Outcomes: d.Outcomes, Every: d.Every, Why: d.Why, Owner: d.Owner, Ends: d.Ends,
	}
	for _, of := range d.Of {
		if of != name {
			m.Of = append(m.Of, f.metric(of).Axis(d.Coarse[of]))
		}
	}
	return m
}

// tabled refuses a table of what is not declared, or ends earlier.
func (f file) tabled(name string) error {
	var errs []error
	d := f.Metric[name]
	for _, of := range d.Of {
		switch o, declared := f.Metric[of]; {
		case !declared:
			errs = append(errs, fmt.Errorf("metric %s: there is no [metric.%s], of which it is a table", plan.Quoted(name), of))
		case o.Kind == "table":
			errs = append(errs, fmt.Errorf("metric %s: a table of the table %s: name two other metrics", plan.Quoted(name), of))
		case o.Every != d.Every || o.Ends < d.Ends:
			errs = append(errs, fmt.Errorf("metric %s: it is of %s, which is asked of another period or ends earlier", plan.Quoted(name), of))
		}
	}
	for of, edges := range d.Coarse {
		if !slices.Contains(d.Of, of) || len(f.Metric[of].Edges) == 0 || len(edges) == 0 {
			errs = append(errs, fmt.Errorf("metric %s: coarse gives edges to %s, which is no counter or number that it is of", plan.Quoted(name), plan.Quoted(of)))
		}
	}
	return errors.Join(errs...)
}

// groups returns what is asked of a time, by the keys of series.
func (f file) groups(at time.Time) map[string]group {
	all := map[string]group{}
	for _, name := range slices.Sorted(maps.Keys(f.Metric)) {
		d, m := f.Metric[name], f.metric(name)
		if m.Ended(at) {
			continue
		}
		b := d.own()
		if !m.Alone() {
			b = *f.period(m.Every)
		}
		key := metrics.Series{Metrics: []metrics.Metric{m}}.Key()
		all[key] = group{append(all[key].metrics, m), b}
	}
	return all
}

// relied is the share of respondents whose noise is not relied upon, as confetti plan new has it.
const relied = 0.1

// study returns that of a group, for the parties of another plan.
func (f file) study(g group, like plan.Plan, coordinator string) (plan.Study, error) {
	every := g.metrics[0].Every
	title := fmt.Sprintf("%s, each %s", f.App, every)
	if g.metrics[0].Alone() {
		title += ": " + g.metrics[0].Why
	}
	p, err := design.Fill(plan.Plan{
		Version: plan.Version, Title: title, Question: metrics.Question(g.metrics),
		Budget:    plan.Budget{Epsilon: g.budget.Epsilon, Delta: g.budget.Delta, Adjacency: "replacement", DishonestShare: relied},
		Crowd:     plan.Crowd{Minimum: g.budget.Minimum},
		Envelopes: plan.Envelopes{Suite: like.Envelopes.Suite}, Route: like.Route, Analyzer: like.Analyzer, Signatures: like.Signatures,
	})
	if err != nil {
		return plan.Study{}, terminal.Usage(fmt.Errorf("each %s: %w", every, err))
	}
	return plan.Study{
		Version: plan.StudyVersion, Plan: p, Rounds: metrics.Rounds(every), Takes: plan.TakesOne, Withheld: plan.WithheldRepeats, Merged: true,
		Coordinator: coordinator,
	}, nil
}

// anybody returns parties for a price, which does not depend on whose keys they have: those of the registry, where
// there are some.
func anybody(r metrics.Registry) (plan.Plan, error) {
	if len(r.Series) > 0 {
		return r.Series[len(r.Series)-1].Study.Plan, nil
	}
	p := plan.Plan{Envelopes: plan.Envelopes{Suite: "x25519"}, Route: plans.Route(1, 2), Analyzer: plan.Party{Operator: "analyzer"}}
	_, err := plans.NewKeys(&p)
	return p, err
}

// readRegistry reads the last registry that was signed; none is no error.
func readRegistry(path string, f file) (r metrics.Registry, err error) {
	text, err := atomicfile.Read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	if err == nil {
		r, err = metrics.Parse(text, plan.Trust(f.Publishers...))
	}
	if err == nil && r.App != f.App {
		err = fmt.Errorf("it is of the app %s, and confetti.toml of %s", r.App, f.App)
	}
	if err != nil {
		return r, fmt.Errorf("%s: %w", path, err)
	}
	return r, nil
}

// newestSeries returns by their keys the series that ask what a registry lists, each with that alone: of several the one that
// asks the most, since metrics end one after the other.
func newestSeries(r metrics.Registry) map[string]metrics.Series {
	all := map[string]metrics.Series{}
	for _, s := range r.Series {
		asked := s
		asked.Metrics = slices.DeleteFunc(slices.Clone(s.Metrics), func(m metrics.Metric) bool {
			return !slices.ContainsFunc(r.Metrics, func(l metrics.Metric) bool { return l.Name == m.Name })
		})
		if n := len(asked.Metrics); n > 0 && n >= len(all[s.Key()].Metrics) {
			all[s.Key()] = asked
		}
	}
	return all
}
