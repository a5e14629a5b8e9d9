package advise

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/cli/flags"
	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/internal/release/page"
	"github.com/confetti-dp/confetti/internal/storage/atomicfile"
	"github.com/confetti-dp/confetti/lab/advise"
	"github.com/confetti-dp/confetti/release"
)

// checkPlot refuses a file that could not be drawn, before the work is done.
func (c Command) checkPlot() error {
	if c.Plot == "" {
		return nil
	}
	if ext := filepath.Ext(c.Plot); ext != ".png" && ext != ".svg" {
		return terminal.Usagef("--plot %s: end the name in .png or .svg", c.Plot)
	}
	_, err := os.Stat(filepath.Dir(c.Plot))
	return err
}

// Each figure has so many points, a factor apart, with the task in the middle.
const (
	plotPoints  = 7
	epsilonStep = 2
	usersStep   = 3.1622776601683795 // two to a decade
)

// draw writes the two figures beside each other. Both have the task itself, on which there is advice already.
func (c Command) draw(std terminal.Streams, task advise.Task, advice advise.Advice) error {
	report, finish := terminal.Progress(std.Err)
	defer finish()
	done := 0
	compare := func(t advise.Task) (advise.Advice, error) {
		done++
		defer func() { report("drawing", done, 2*plotPoints) }()
		if t == task {
			return advice, nil
		}
		return advise.Compare(t)
	}
	var epsilons, users []advise.Task
	for i := range plotPoints {
		k := float64(i - plotPoints/2)
		e, n := task, task
		e.Epsilon *= math.Pow(epsilonStep, k)
		if task.Epsilon == 0 {
			e.LocalEpsilon *= math.Pow(epsilonStep, k)
		}
		n.Users = int(math.Round(float64(n.Users) * math.Pow(usersStep, k)))
		epsilons, users = append(epsilons, e), append(users, n)
	}
	what := fmt.Sprintf("%s bits", terminal.Thousands(task.Repetitions))
	if task.Domain > 0 {
		what = fmt.Sprintf("%s values", terminal.Thousands(task.Domain))
	}
	axis, at, title := "epsilon", func(t advise.Task) float64 { return t.Epsilon }, fmt.Sprintf("epsilon %g, delta %g", task.Epsilon, task.Delta)
	if task.Epsilon == 0 {
		axis, at, title = "local epsilon", func(t advise.Task) float64 { return t.LocalEpsilon }, fmt.Sprintf("local epsilon %g", task.LocalEpsilon)
	}
	figures := []struct {
		suffix string
		figure release.Figure
		tasks  []advise.Task
		point  func(advise.Task, advise.Option) (x, y float64)
	}{
		{"-epsilon", release.Figure{
			Name: "error-by-epsilon", Title: fmt.Sprintf("Error: %s respondents, %s, delta %g", terminal.Thousands(task.Users), what, task.Delta),
			Alt: "Root mean squared error of one sum, for each protocol, as epsilon grows: all fall.",
			X:   release.Axis{Title: axis},
			Y:   release.Axis{Title: "RMSE of one sum"},
		}, epsilons, func(t advise.Task, o advise.Option) (x, y float64) { return at(t), o.RMSE }},
		{"-users", release.Figure{
			Name: "error-by-users", Title: fmt.Sprintf("Error: %s, %s", what, title),
			Alt: "Root mean squared error of one sum as a share of the respondents, for each protocol, as their number grows: all fall.",
			X:   release.Axis{Title: "respondents (n)"},
			Y:   release.Axis{Title: "RMSE of one sum (% of n)"},
		}, users, func(t advise.Task, o advise.Option) (x, y float64) {
			return float64(t.Users), 100 * o.RMSE / float64(t.Users)
		}},
	}
	for _, f := range figures {
		f.figure.Kind = release.Lines
		f.figure.X.Log, f.figure.Y.Log = true, true
		var err error
		if f.figure.Series, err = errorSeries(f.tasks, f.point, compare); err != nil {
			return flags.Refused(err, "plot", "users", "epsilon", "local-epsilon")
		}
		var b bytes.Buffer
		ext := filepath.Ext(c.Plot)
		write := page.WritePNG
		if ext == ".svg" {
			write = page.WriteSVG
		}
		if err := write(&b, f.figure); err != nil {
			return err
		}
		file := strings.TrimSuffix(c.Plot, ext) + f.suffix + ext
		if err := atomicfile.Replace(file, b.Bytes(), 0o644); err != nil {
			return err
		}
		fmt.Fprintf(std.Err, "wrote %s\n", file)
	}
	return nil
}

// errorSeries returns one curve for each protocol, over the tasks that it and the
// accountant can do. Curators come first, so that what reaches them covers them.
func errorSeries(tasks []advise.Task, point func(advise.Task, advise.Option) (x, y float64), compare func(advise.Task) (advise.Advice, error)) ([]release.Series, error) {
	var curators, shuffled []*release.Series
	curve := map[string]*release.Series{}
	var last error
	for _, t := range tasks {
		a, err := compare(t)
		if err != nil { // beyond what is advised on: an epsilon above 20, say
			last = err
			continue
		}
		for _, o := range a.Options {
			if o.Excluded != "" || math.IsInf(o.RMSE, 1) {
				continue
			}
			s := curve[o.Protocol]
			if s == nil {
				s = &release.Series{Title: o.Protocol}
				curve[o.Protocol] = s
				if o.Guarantee.Trust == account.Central {
					curators = append(curators, s)
				} else {
					shuffled = append(shuffled, s)
				}
			}
			x, y := point(t, o)
			s.X, s.Y = append(s.X, x), append(s.Y, y)
		}
	}
	var series []release.Series
	for _, s := range append(curators, shuffled...) {
		series = append(series, *s)
	}
	if len(series) == 0 {
		return nil, last
	}
	return series, nil
}
