package metrics

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/client/metrics"
	"github.com/confetti-dp/confetti/cmd/confetti/internal/fetched"
	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/internal/storage/atomicfile"
)

type page struct {
	asked
	Out    string   `help:"Where to write the page." required:"" type:"path" placeholder:"FILE"`
	Trends []string `help:"What confetti study fetch wrote of a season: the page has the newest number of each metric, with its range." type:"path" placeholder:"DIR" sep:"none"`
}

func (page) Help() string {
	return "Writes one file that loads nothing from anywhere: what the signed registry asks, for everybody.\n\nExample:\n  confetti metrics page --out dictionary.html\n  confetti metrics page --trends fetched --out dictionary.html"
}

//go:embed page.html
var pageHTML string

var dictionary = template.Must(template.New("page").Funcs(template.FuncMap{
	"day": func(text string) string {
		day, err := time.Parse(time.DateOnly, text)
		if err != nil {
			return text
		}
		return day.Format("2 January 2006")
	},
}).Parse(pageHTML))

// section is what one plan asks.
type section struct {
	Title   string
	Rounds  int
	Every   string
	Minimum int
	Crowds  []string // by quarters; none: one, of everybody
	Verdict string
	Year    string
	Metrics []metrics.Metric
}

func (c page) Run(std terminal.Streams) error {
	f, r, err := c.read()
	if err != nil {
		return err
	}
	if r.Version == 0 {
		return terminal.Usagef("there is no %s yet: sign one with confetti metrics sign", c.Registry)
	}
	newest, err := told(r, c.Trends)
	if err != nil {
		return err
	}
	text, err := draw(f, r, newest)
	if err != nil {
		return err
	}
	return atomicfile.Replace(c.Out, text, 0o644)
}

// told returns the newest numbers of each metric, from folders of confetti study fetch.
func told(r metrics.Registry, folders []string) (map[string][]fetched.Newest, error) {
	signed, all := map[string]bool{}, map[string][]fetched.Newest{}
	for _, s := range r.Series {
		for season := s.From; season <= s.Until; season++ {
			of := s.Of(season)
			signed[of.Name()] = true
		}
	}
	for _, folder := range folders {
		if err := fetched.Numbers(folder, signed, all); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// draw returns the page of a registry, with what was reviewed and the newest numbers where there are any.
func draw(f file, r metrics.Registry, newest map[string][]fetched.Newest) ([]byte, error) {
	of := prices{known: map[string]price{}}
	paid, err := of.signed(r)
	if err != nil {
		return nil, err
	}
	var sections []section
	asked := newestSeries(r)
	for _, key := range slices.Sorted(maps.Keys(asked)) {
		s := asked[key]
		every, alone, _ := strings.Cut(key, "/")
		title := "Each " + every
		if alone != "" {
			title += ", by itself"
		}
		year, _ := worstOf(map[string][]due{key: paid[key]}, 365)
		dearest, minimum := paid[key][0], paid[key][0].Minimum
		for _, one := range paid[key] {
			if minimum = min(minimum, one.Minimum); one.Epsilon > dearest.Epsilon {
				dearest = one
			}
		}
		season := account.Guarantee{Epsilon: dearest.Epsilon, Delta: dearest.Delta, Adjacency: account.Replacement}
		sections = append(sections, section{
			Title: title, Every: every, Rounds: s.Study.Rounds, Minimum: minimum, Metrics: s.Metrics,
			Verdict: season.Verdict(), Year: year.words(), Crowds: s.Of(s.Until).Plan.Crowd.Names,
		})
	}
	month, _ := worstOf(paid, 30)
	year, _ := worstOf(paid, 365)
	worst := account.Guarantee{Epsilon: month.Epsilon, Delta: month.Delta, Adjacency: account.Replacement}
	var gone []string
	for _, s := range r.Series {
		for _, m := range s.Metrics {
			if !slices.ContainsFunc(r.Metrics, func(l metrics.Metric) bool { return l.Name == m.Name }) && !slices.Contains(gone, m.Name) {
				gone = append(gone, m.Name)
			}
		}
	}
	lifted := false
	for _, all := range newest {
		lifted = lifted || slices.ContainsFunc(all, func(n fetched.Newest) bool { return n.Lifted != "" })
	}
	var text bytes.Buffer
	err = dictionary.Execute(&text, map[string]any{
		"App": r.App, "Version": r.Version, "Count": len(r.Metrics), "Sections": sections, "Reviewed": f.Reviewed, "Gone": gone, "Newest": newest, "Lifted": lifted,
		"Sure": account.Percent(worst.Posterior(0.5)), "Month": fmt.Sprintf("%.3g", month.Epsilon), "Delta": fmt.Sprintf("%.2g", month.Delta), "Year": fmt.Sprintf("%.3g", year.Epsilon), "Local": year.local(),
	})
	return text.Bytes(), err
}
