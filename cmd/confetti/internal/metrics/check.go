package metrics

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/client"
	"github.com/confetti-dp/confetti/client/metrics"
	"github.com/confetti-dp/confetti/internal/cli/terminal"
)

// asked are the flags of who looks at confetti.toml beside what was signed last.
type asked struct {
	File     string `arg:"" optional:"" default:"confetti.toml" help:"What the app asks." type:"path"`
	Registry string `help:"The registry that was signed last, where there is one." default:"confetti.registry.json" type:"path" placeholder:"FILE"`
	On       string `help:"As of this day, such as 2027-01-31; today without it." placeholder:"DAY"`

	now func() time.Time // nil: the machine's
}

// today returns the time.
func (a asked) today() time.Time {
	if a.now != nil {
		return a.now()
	}
	return time.Now().UTC()
}

// day returns as of when the file is looked at.
func (a asked) day() (time.Time, error) {
	if a.On == "" {
		return a.today(), nil
	}
	at, err := time.Parse(time.DateOnly, a.On)
	if err != nil {
		return at, terminal.Usagef("--on %q is no day such as 2027-01-31", a.On)
	}
	return at, nil
}

type check struct {
	asked
	terminal.Form
}

func (check) Help() string {
	return `Says in words what changes for a person, and what an installation pays: a season, the
worst 30 days and the worst year, beside the cap that a device has. It reads two files and
asks nobody. Where more is asked than before it exits with 3, unless somebody who may
decide has added the lines that it prints.

Example:
  confetti metrics check
  confetti metrics check confetti.toml --registry app/confetti.registry.json`
}

func (c check) Run(std terminal.Streams) error {
	f, r, err := c.read()
	if err != nil {
		return err
	}
	at, err := c.day()
	if err != nil {
		return err
	}
	found, err := compare(f, r, at, c.today())
	if err != nil {
		return err
	}
	if c.JSON {
		err = terminal.WriteJSON(std.Out, found)
	} else {
		err = found.write(std.Out)
	}
	if err != nil {
		return err
	}
	return found.verdict()
}

// read reads both files.
func (a asked) read() (file, metrics.Registry, error) {
	f, err := readFile(a.File)
	if err != nil {
		return f, metrics.Registry{}, err
	}
	r, err := readRegistry(a.Registry, f)
	return f, r, err
}

// found collects what check prints.
type found struct {
	App     string     `json:"app"`
	Changes []change   `json:"changes"`
	Before  []price    `json:"before"`
	Now     []price    `json:"now"`
	Month   cost       `json:"month"`  // the worst 30 days, from now on
	Year    cost       `json:"year"`   // the worst 365
	Exact   []foretold `json:"exact"`  // how exact a round of the fewest people will be
	More    []string   `json:"more"`   // why somebody has to decide
	Change  string     `json:"change"` // the name of the change
	By      string     `json:"reviewed_by,omitempty"`

	of         prices
	paid, pays map[string][]due // by the keys of series: as signed, and from now on
}

// change names a metric that changed, and says how.
type change struct {
	What string `json:"what"` // "added", "changed", "gone", "ends"
	Name string `json:"name"`
	Says string `json:"says"`
}

// soon is how long before its end a metric is mentioned.
const soon = 60 * 24 * time.Hour

// compare returns what changed from a registry to a file, as of at, with what both cost. Seasons that have begun by today stay as
// they were signed. It refuses what has no price.
func compare(f file, r metrics.Registry, at, today time.Time) (found, error) {
	found := found{App: f.App, of: prices{known: map[string]price{}}}
	before, now := newestSeries(r), f.groups(at)
	var err error
	if found.of.like, err = anybody(r); err != nil {
		return found, err
	}
	for _, key := range slices.Sorted(maps.Keys(before)) {
		s := before[key]
		one, err := found.of.study(key, s.Metrics, s.Study)
		if err != nil {
			return found, err
		}
		one.Quarters = s.Quarters
		found.Before = append(found.Before, one)
	}
	if found.paid, err = found.of.signed(r); err != nil {
		return found, err
	}
	if found.pays, err = found.of.under(r, at, today); err != nil {
		return found, err
	}
	var listed []metrics.Metric
	for _, key := range slices.Sorted(maps.Keys(now)) {
		g := now[key]
		one, err := found.of.group(f.App, key, g)
		if err != nil {
			return found, err
		}
		found.Now = append(found.Now, one)
		listed = append(listed, g.metrics...)
		exact, err := found.of.foretell(f.App, g)
		if err != nil {
			return found, err
		}
		found.Exact = append(found.Exact, exact...)
		coming, err := found.of.coming(f, key, one, at)
		if err != nil {
			return found, err
		}
		found.pays[key] = append(found.pays[key], coming...)
	}
	found.Month, _ = worstOf(found.pays, 30)
	found.Year, _ = worstOf(found.pays, 365)
	found.changes(r.Metrics, listed, f, at)
	if err := found.rises(f, r, at); err != nil {
		return found, err
	}
	found.Change = named(r.Metrics, found.Before, listed, found.Now)
	found.By = found.decided(f.Reviewed)
	return found, nil
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// decided returns who has let the change through; "" where nobody has.
func (found found) decided(all []review) string {
	for _, one := range all {
		if one.Change == found.Change && strings.TrimSpace(one.By) != "" && strings.TrimSpace(one.Says) != "" {
			return one.By
		}
	}
	return ""
}

// changes lists what changed of each metric.
func (found *found) changes(before, now []metrics.Metric, f file, at time.Time) {
	by := func(all []metrics.Metric, name string) *metrics.Metric {
		if i := slices.IndexFunc(all, func(m metrics.Metric) bool { return m.Name == name }); i >= 0 {
			return &all[i]
		}
		return nil
	}
	say := func(what, name, format string, a ...any) {
		found.Changes = append(found.Changes, change{what, name, fmt.Sprintf(format, a...)})
	}
	for _, m := range now {
		switch was := by(before, m.Name); {
		case was == nil:
			say("added", m.Name, "%s, %s", m.Kind, m.Says())
			found.more("%s is a new question: %q", m.Name, m.Why)
		case asks(*was) != asks(m):
			say("changed", m.Name, "now: %s The trend begins anew.", m.Says())
			found.more("%s asks something else: %q", m.Name, m.Why)
		case was.Why != m.Why:
			say("changed", m.Name, "now: %s", m.Says())
			found.more("%s is asked for another reason: %q", m.Name, m.Why)
		case m.Ends > was.Ends:
			say("changed", m.Name, "ends %s, and ended %s before", m.Ends, was.Ends)
			found.more("%s is asked for longer", m.Name)
		case m.Ends < was.Ends:
			say("changed", m.Name, "ends earlier, %s", m.Ends)
		}
		if ends, err := time.Parse(time.DateOnly, m.Ends); err == nil {
			if ends.Sub(at) < soon {
				say("ends", m.Name, "in %d days (%s)", int(math.Ceil(ends.Sub(at).Hours()/24)), m.Ends)
			}
			if ends.After(at.AddDate(1, 0, 0)) {
				found.more("%s ends more than a year ahead, on %s", m.Name, m.Ends)
			}
		}
	}
	for _, m := range before {
		if by(now, m.Name) == nil {
			say("gone", m.Name, "devices delete what they kept of it; seasons that have begun go on without it")
		}
	}
}

// asks returns what a metric asks, as text.
func asks(m metrics.Metric) string {
	m.Why, m.Owner, m.Ends = "", "", ""
	text, _ := json.Marshal(m) // of texts and finite numbers
	return string(text)
}

func (found *found) more(format string, a ...any) {
	found.More = append(found.More, fmt.Sprintf(format, a...))
}

// noted is a part of a price by which calibrations of one budget may differ, and which nobody is told.
const noted = 1e-3

// rises lists what costs more than before: than any season that is signed and has not begun, or than the last one.
func (found *found) rises(f file, r metrics.Registry, at time.Time) error {
	for _, p := range found.Now {
		signed := ahead(r, p.Key, metrics.Next(p.every, at))
		if len(signed) == 0 {
			found.more("each %s costs epsilon %.4g a season, and cost nothing before", p.Key, p.Epsilon)
			if p.Quarters > 0 {
				found.more("each %s tells whoever takes the answer in which of %d quarters somebody agreed first", p.Key, p.Quarters)
			}
			continue
		}
		was := price{Epsilon: math.Inf(1), Delta: math.Inf(1)}
		for _, s := range signed {
			one, err := found.of.study(p.Key, s.Metrics, s.Study)
			if err != nil {
				return err
			}
			was.Epsilon, was.Delta, was.Minimum = math.Min(was.Epsilon, one.Epsilon), math.Min(was.Delta, one.Delta), max(was.Minimum, one.Minimum)
		}
		for _, n := range []struct {
			what   string
			was, p float64
		}{{"epsilon", was.Epsilon, p.Epsilon}, {"delta", was.Delta, p.Delta}} {
			if n.p > n.was*(1+noted) {
				found.more("each %s costs more a season: %s %.4g, and %.4g before", p.Key, n.what, n.p, n.was)
			}
		}
		if p.Quarters > 0 && !slices.ContainsFunc(signed, func(s metrics.Series) bool { return s.Quarters >= p.Quarters }) {
			found.more("each %s tells whoever takes the answer in which of %d quarters somebody agreed first", p.Key, p.Quarters)
		}
		if p.Minimum < was.Minimum {
			found.more("each %s is released of fewer people: %d, and %d before", p.Key, p.Minimum, was.Minimum)
		}
		if err := found.colluding(f, r, p.Key, signed[len(signed)-1], at); err != nil {
			return err
		}
	}
	return nil
}

// colluding lists from when on a season costs more than before though everyone colludes. What ends when it was signed to end is no
// rise: that was decided. What leaves or ends earlier is one, if the rest then hides less.
func (found *found) colluding(f file, r metrics.Registry, key string, last metrics.Series, at time.Time) error {
	days := []time.Time{at}
	for _, m := range append(slices.Clone(r.Metrics), f.groups(at)[key].metrics...) {
		if ends, err := time.Parse(time.DateOnly, m.Ends); err == nil && ends.After(at) {
			days = append(days, ends.AddDate(0, 0, 1))
		}
	}
	slices.SortFunc(days, time.Time.Compare)
	for i, day := range slices.CompactFunc(days, time.Time.Equal) {
		now := f.groups(day)[key]
		was := group{budget: budget{last.Study.Plan.Budget.Epsilon, last.Study.Plan.Budget.Delta, last.Study.Plan.Crowd.Minimum, now.budget.Crowds, now.budget.Points}}
		for _, m := range r.Metrics {
			if (metrics.Series{Metrics: []metrics.Metric{m}}).Key() == key && !m.Ended(day) {
				was.metrics = append(was.metrics, m)
			}
		}
		if len(now.metrics) == 0 || len(was.metrics) == 0 || now.budget == was.budget && slices.EqualFunc(now.metrics, was.metrics, func(a, b metrics.Metric) bool { return asks(a) == asks(b) }) {
			continue
		}
		p, err := found.of.group(f.App, key, now)
		if err != nil {
			return err
		}
		before, err := found.of.group(f.App, key, was)
		if err != nil {
			return err
		}
		if unlimited(p.Local) > unlimited(before.Local)*(1+noted) {
			from := ""
			if i > 0 {
				from = "from " + day.Format(time.DateOnly) + " on "
			}
			found.more("%seach %s costs more a season though everyone colludes: epsilon %.4g, and %.4g before", from, key, unlimited(p.Local), unlimited(before.Local))
			return nil
		}
	}
	return nil
}

func unlimited(local float64) float64 {
	if local < 0 {
		return math.Inf(1)
	}
	return local
}

// named returns the name of a change: of both lists and prices, whole, so that a line for one passes no other.
func named(before []metrics.Metric, paid []price, now []metrics.Metric, pays []price) string {
	var text bytes.Buffer
	_ = json.NewEncoder(&text).Encode([]any{before, paid, now, pays}) // of texts and finite numbers
	sum := sha256.Sum256(text.Bytes())
	return hex.EncodeToString(sum[:8])
}

// verdict refuses a change for which the cap has no room, or of which nobody has decided.
func (found found) verdict() error {
	most := client.DefaultCaps.Window
	cap, err := account.NewFilter(most.Epsilon, most.Delta)
	if err != nil {
		return err
	}
	if _, spends := worstOf(found.pays, 30); !cap.Admits(spends...) {
		return terminal.Usagef("the worst 30 days cost epsilon %.4g and delta %.3g, and the cap of a device is %.4g and %.3g: it would answer less than is asked. Ask for less, or at a smaller epsilon", found.Month.Epsilon, found.Month.Delta, most.Epsilon, most.Delta)
	}
	var blurred []string
	for _, e := range found.Exact {
		if e.blurred() {
			blurred = append(blurred, fmt.Sprintf("of %s to within %.2g points, and %.2g are asked for", e.Name, 100*e.Error, e.Points))
		}
	}
	if len(blurred) > 0 {
		return terminal.Usagef("a round of the fewest people tells too little. A share of a tenth is known %s. Ask fewer metrics or more people, or give more epsilon; where that is enough, write points = %.0f beside the minimum", strings.Join(blurred, "; "), math.Ceil(100*slices.MaxFunc(found.Exact, func(a, b foretold) int { return cmp.Compare(a.Error, b.Error) }).Error))
	}
	if len(found.More) > 0 && found.By == "" {
		return terminal.Unfinishedf("more is asked than before, and no [[reviewed]] line of the change %s says that it may be", found.Change)
	}
	return nil
}
