package flags

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/internal/dp/lift"
	"github.com/confetti-dp/confetti/internal/dp/lift/power"
	"github.com/confetti-dp/confetti/internal/table"
	"github.com/confetti-dp/confetti/plan"
)

// Experiment describes what is compared, and what is known of it.
type Experiment struct {
	Arms   []string  `help:"Names of the arms; others are compared with the first." placeholder:"A"`
	Shares []float64 `help:"Shares of people whom chance puts into each arm, together 1; without, equal ones." placeholder:"P"`
	Metric []string  `help:"Name of a number that is compared; the first of several decides." sep:"none" placeholder:"NAME"`
	Before []string  `help:"Name of the same number before the experiment, of which a part is subtracted: for the first metric, or one for each; - for none." sep:"none" placeholder:"NAME"`
	Per    []string  `help:"Name of the number that a metric is divided by, such as views: likewise." sep:"none" placeholder:"NAME"`
	Range  []string  `help:"Instead of --like: the ends of a metric, which is then called capped; of zeros and ones 0,1 cut nothing. Likewise." sep:"none" placeholder:"LOW,HIGH"`
	Like   string    `help:"Public table of other people, or made up, with columns of these names: ranges and what is subtracted follow from it. Never of those who will be asked." type:"path" placeholder:"FILE"`

	Earlier string `help:"In the place of --like: folder of an earlier release of tables, of other people or charged to these, with columns of these names." type:"path" placeholder:"RELEASE"`
	After   string `help:"Ask the next look of an experiment: folder of the release of the look before. All that was asked stays as it is, and other people answer." type:"path" placeholder:"RELEASE"`

	Lift  string  `help:"The smallest change that is to be seen, such as 2%: people needed follow from it." placeholder:"SHARE"`
	Power float64 `help:"How often it is to be seen." default:"0.8"`
	Looks int     `help:"How often it is looked at, at most, each time at other people." default:"1"`
}

// Check refuses flags that are wrong by themselves.
func (f Experiment) Check() error {
	var errs terminal.Faults
	if f.After != "" {
		for name, given := range map[string]bool{
			"arms": f.Arms != nil, "shares": f.Shares != nil, "metric": f.Metric != nil, "before": f.Before != nil, "per": f.Per != nil, "range": f.Range != nil,
			"like": f.Like != "", "earlier": f.Earlier != "", "lift": f.Lift != "", "looks": f.Looks != 1,
		} {
			errs.Require(!given, "--%s beside --after: a look asks what the one before asked: leave it out", name)
		}
		return errors.Join(errs...)
	}
	from := f.Like != "" || f.Earlier != ""
	errs.Require(f.Like == "" || f.Earlier == "", "--like and --earlier both say what is known: leave one out")
	errs.Require(len(f.Arms) >= 2, "--arms names %d: give two or more, such as control,new", len(f.Arms))
	errs.Require(len(f.Metric) >= 1, "missing flags: --metric=NAME, the number that is compared")
	for name, all := range map[string][]string{"before": f.Before, "per": f.Per, "range": f.Range} {
		errs.Require(len(all) <= len(f.Metric), "--%s is given %d times, and there are %d metrics: give one for each, - for none", name, len(all), len(f.Metric))
	}
	errs.Require(from || len(f.Range) == len(f.Metric), "nothing is known of the metrics: name a public table of other people with --like, or an earlier release with --earlier, or give the --range of each")
	errs.Require(f.Looks >= 1 && f.Looks <= lift.MostLooks, "--looks is %d: give 1 to %d", f.Looks, lift.MostLooks)
	errs.Require(f.Lift == "" || from, "--lift: people needed follow from how a metric spreads: name a public table of other people with --like, or an earlier release with --earlier")
	if _, err := f.aim(); f.Lift != "" && err != nil {
		errs = append(errs, err)
	}
	for i := range f.Metric {
		if _, _, err := f.ends(i); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// aim reads the lift and the power.
func (f Experiment) aim() (power.Aim, error) {
	text, percent := strings.CutSuffix(strings.TrimSpace(f.Lift), "%")
	x, err := strconv.ParseFloat(text, 64)
	if percent {
		x /= 100
	}
	a := power.Aim{Lift: x, Power: f.Power}
	if err == nil {
		err = a.Check()
	}
	if err != nil {
		return a, terminal.Usagef("--lift is %q, and --power %v: give a share from above 0 to 10, such as 2%%, and a power from 0.5 to below 1", f.Lift, f.Power)
	}
	return a, nil
}

// named returns the flag of a metric, "" where there is none.
func named(all []string, metric int) string {
	if metric >= len(all) || all[metric] == "-" {
		return ""
	}
	return all[metric]
}

// Measure returns a metric with the names of what it is compared with.
func (f Experiment) Measure(i int, name string) plan.Measure {
	return plan.Measure{Name: name, Before: named(f.Before, i), Per: named(f.Per, i)}
}

// ends reads the range of a metric; given is false where there is none.
func (f Experiment) ends(metric int) (ends [2]float64, given bool, err error) {
	text := named(f.Range, metric)
	if text == "" {
		return ends, false, nil
	}
	parts := strings.Split(text, ",")
	for i := range min(2, len(parts)) {
		var wrong error
		ends[i], wrong = strconv.ParseFloat(strings.TrimSpace(parts[i]), 64)
		err = errors.Join(err, wrong)
	}
	if err != nil || len(parts) != 2 || !(ends[0] < ends[1]) {
		return ends, false, terminal.Usagef("--range is %q: give the lower end and the upper, such as 0,120", text)
	}
	return ends, true, nil
}

// Ask returns the experiment for answers that go a route, of at least so many people in each look; 0: as many as the lift
// needs. What is known of a metric comes from the public table, or from earlier.
func (f Experiment) Ask(r Route, b plan.Budget, bits, minimum int, earlier func(plan.Measure) (power.Known, error)) (power.Asked, error) {
	e := plan.Experiment{Arms: f.Arms, Shares: f.Shares, Looks: f.Looks, Look: 1}
	var route plan.Route
	if noise := r.Adds("experiment"); noise != "" {
		route = plan.Route{Kind: plan.RouteSum, Sum: &plan.Sum{Noise: noise}}
	} else {
		e.Bits = &plan.BitsSent{Answered: bits}
	}
	known, aim := make([]power.Known, len(f.Metric)), power.Aim{}
	for i, name := range f.Metric {
		m := f.Measure(i, name)
		ends, given, _ := f.ends(i)
		if given {
			m.Low, m.High, m.Capped = ends[0], ends[1], true
			if m.Before != "" || m.Per != "" {
				return power.Asked{}, terminal.Usagef("--range of %s beside --before or --per: what is subtracted follows from --like or --earlier alone", name)
			}
		} else {
			var err error
			read := f.read
			if f.Earlier != "" {
				read = earlier
			}
			if known[i], err = read(m); err != nil {
				return power.Asked{}, err
			}
		}
		e.Metrics = append(e.Metrics, m)
	}
	if f.Lift != "" {
		var err error
		if aim, err = f.aim(); err != nil {
			return power.Asked{}, err
		}
	}
	return power.Ask(e, known, aim, route, b, minimum)
}

// read reads what is known of a metric from the public table.
func (f Experiment) read(m plan.Measure) (k power.Known, err error) {
	columns := []table.Column{{Name: m.Name}}
	for _, name := range []string{m.Before, m.Per} {
		if name != "" {
			columns = append(columns, table.Column{Name: name})
		}
	}
	t, err := table.ReadColumns(f.Like, table.Missing{}, columns...)
	if err != nil {
		return k, err
	}
	numbers := make([][]float64, len(columns))
	errs := make([]error, len(columns))
	for i := range columns {
		numbers[i], errs[i] = t.Numbers(i)
	}
	if err := errors.Join(errs...); err != nil {
		return k, fmt.Errorf("%s: %w", filepath.Base(f.Like), err)
	}
	for i := range numbers[0] {
		r := power.Row{Of: numbers[0][i], People: 1}
		if m.Before != "" {
			r.Before = numbers[1][i]
		}
		if m.Per != "" {
			r.Per = numbers[len(numbers)-1][i]
		}
		k.Rows = append(k.Rows, r)
	}
	return k, nil
}

// Held returns the columns of a table of respondents that an experiment reads, behind that of the arm.
func Held(e plan.Experiment) (all []string) {
	for _, m := range e.Metrics {
		all = append(all, slices.DeleteFunc([]string{m.Name, m.Before, m.Per}, func(name string) bool { return name == "" })...)
	}
	return all
}
