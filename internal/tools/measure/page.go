//go:build unix

package main

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// command is one that a page prints: a line set in by four spaces, or between backquotes.
type command struct{ page, text, name string }

// row is one of a table. By names what makes it, as its last column says: a benchmark, a metric of it other than the
// usual one, the name of its command after an @; or a sentence of the output with # in the place
// of the number.
type row struct {
	page, text, by          string
	benchmark, metric, name string
	sentence                *regexp.Regexp
	cells                   map[string]string // by the head of their column
	says, half              float64           // and half of its last digit, by which it was rounded
	unit                    string
	rate                    bool // more of it is better
}

var (
	typed  = regexp.MustCompile("(?m)^    ((?:[A-Z][A-Z0-9_]*=\\S+ )*(?:go test|go build|/usr/bin/time|bin/)[^\n]*)$|`((?:[A-Z][A-Z0-9_]*=\\S+ )*go test [^`\n]+)`")
	named  = regexp.MustCompile(`\s+# ([a-z]+)$`)
	spans  = regexp.MustCompile("`([^`]+)`")
	rate   = regexp.MustCompile(`a second|of bare`)
	number = regexp.MustCompile(`([0-9][0-9,]*\.?[0-9]*|\.[0-9]+) ?(%|ns|µs|us|ms|s|MB|kB|GB)?(?:[^\pL]|$)`)
)

// read returns the commands of a page, each once, and the rows of its tables.
func read(page, text string) (commands []command, rows []row, err error) {
	for _, found := range typed.FindAllStringSubmatch(text, -1) {
		c := command{page: page, text: cmp.Or(found[1], found[2])}
		if strings.HasSuffix(c.text, " ./...") || strings.HasSuffix(c.text, " ...") { // of everything
			continue
		}
		if name := named.FindStringSubmatch(c.text); name != nil {
			c.name, c.text = name[1], strings.TrimSuffix(c.text, name[0])
		}
		if !slices.ContainsFunc(commands, func(x command) bool { return x.text == c.text }) {
			commands = append(commands, c)
		}
	}
	var heads []string
	var before string // the first cell that is not empty, of this row or of one before
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "|") {
			heads = nil
			continue
		}
		cells := strings.Split(strings.Trim(line, "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		switch {
		case heads == nil:
			heads = cells
			continue
		case strings.Trim(line, "|-: ") == "":
			continue
		}
		before = cmp.Or(cells[0], before)
		r := row{page: page, text: before, cells: map[string]string{}}
		for i, cell := range cells[:min(len(cells), len(heads))] {
			r.cells[heads[i]] = cell
			if i == 1 && cells[0] == "" {
				r.text += ", " + cell
			}
		}
		if by := spans.FindStringSubmatch(r.cells["by"]); by != nil {
			if err := r.made(by[1], heads); err != nil {
				return nil, nil, fmt.Errorf("%s: row %q: %w", page, r.text, err)
			}
		}
		rows = append(rows, r)
	}
	for _, r := range rows {
		if r.name != "" && !slices.ContainsFunc(commands, func(c command) bool { return c.name == r.name }) {
			return nil, nil, fmt.Errorf("%s: row %q: no command is named %s", page, r.text, r.name)
		}
	}
	return commands, rows, nil
}

// made notes what makes a row, and what the page says of it: its ratio where the metric is one, or else the first number.
func (r *row) made(by string, heads []string) error {
	r.by = by
	if text, name, ok := strings.Cut(by, " @"); ok {
		by, r.name = text, name
	}
	if strings.Contains(by, "#") {
		r.sentence = regexp.MustCompile(strings.ReplaceAll(regexp.QuoteMeta(by), "#", `([0-9][0-9.,]*)`))
	} else {
		f := strings.Fields(by)
		if len(f) == 0 || len(f) > 2 {
			return fmt.Errorf("by %q: need a benchmark, a metric at most, and a name after an @", by)
		}
		if r.benchmark = f[0]; len(f) > 1 {
			r.metric = f[1]
		}
	}
	for _, ratio := range []bool{true, false} {
		for i, head := range heads {
			if i == 0 || head == "by" || ratio != isRatio(head) || ratio && r.metric != "" && r.metric != "ratio" {
				continue
			}
			if found := number.FindStringSubmatch(r.cells[head]); found != nil {
				v, err := strconv.ParseFloat(strings.ReplaceAll(found[1], ",", ""), 64)
				if err != nil {
					return err
				}
				_, decimals, _ := strings.Cut(found[1], ".")
				r.says, r.half, r.unit = v, 0.5*math.Pow10(-len(decimals)), found[2]
				r.rate = rate.MatchString(r.cells[head] + "\n" + head)
				if r.metric == "" && ratio {
					r.metric = "ratio"
				}
				return nil
			}
		}
	}
	return fmt.Errorf("by %q, and no number", by)
}

// isRatio reports whether a column has ratios.
func isRatio(head string) bool { return head == "ratio" || strings.HasPrefix(head, "ours / ") }

// of reports whether a command makes a row. A sentence may be any command's of its page.
func (r row) of(c command) bool {
	if r.by == "" || c.page != r.page || r.name != c.name {
		return false
	}
	if r.sentence != nil {
		return !strings.Contains(c.text, "-bench ")
	}
	_, pattern, ok := strings.Cut(c.text, "-bench ")
	if !ok {
		return false
	}
	if pattern, ok = strings.CutPrefix(pattern, "'"); ok {
		pattern, _, _ = strings.Cut(pattern, "'")
	} else {
		pattern, _, _ = strings.Cut(pattern, " ")
	}
	parts := strings.Split("Benchmark"+r.benchmark, "/")
	for i, p := range splitPattern(pattern) {
		found, err := regexp.MatchString(p, parts[min(i, len(parts)-1)])
		if err != nil || i < len(parts) && !found {
			return false
		}
	}
	return true
}

// splitPattern cuts a pattern at the slashes outside its brackets, as go test does.
func splitPattern(s string) (all []string) {
	depth, start := 0, 0
	for i, c := range s {
		switch {
		case c == '(' || c == '[':
			depth++
		case c == ')' || c == ']':
			depth--
		case c == '/' && depth == 0:
			all, start = append(all, s[start:i]), i+1
		}
	}
	return append(all, s[start:])
}

var line = regexp.MustCompile(`(?m)^Benchmark(\S+?)(?:-\d+)?\s+\d+\s+(.*)$`)

// benchmarks returns the medians of what go test prints, by benchmark and metric.
func benchmarks(said string) map[string]measure {
	runs := map[string][]float64{}
	for _, found := range line.FindAllStringSubmatch(said, -1) {
		f := strings.Fields(found[2])
		for i := 0; i+1 < len(f); i += 2 {
			if v, err := strconv.ParseFloat(f[i], 64); err == nil {
				runs[found[1]+" "+f[i+1]] = append(runs[found[1]+" "+f[i+1]], v)
			}
		}
	}
	all := map[string]measure{}
	for name, r := range runs {
		all[name] = middle(r)
	}
	return all
}

func middle(r []float64) measure {
	slices.Sort(r)
	return measure{(r[(len(r)-1)/2] + r[len(r)/2]) / 2, r[0], r[len(r)-1], len(r)}
}

// compared is a row beside what was found.
type compared struct {
	Page    string   `json:"page"`
	Row     string   `json:"row"`
	Made    string   `json:"made_by"`
	Command string   `json:"command"`
	Says    float64  `json:"page_says"` // seconds, or the number as it stands
	Found   *measure `json:"found,omitempty"`
	Missing string   `json:"missing,omitempty"`
	By      float64  `json:"worse_by"` // of itself; below 0 where it is better
	Worse   bool     `json:"worse"`
	Ratio   bool     `json:"ratio"`
	Loud    bool     `json:"loud"`
}

// seconds are those of a unit, and what a part in a hundred is.
var seconds = map[string]float64{"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1, "%": 0.01}

// timed returns the seconds of a metric's unit: ns/op, floor-ns/item, us, mixed-ms.
func timed(metric string) (float64, bool) {
	name, _, _ := strings.Cut(metric, "/")
	s, ok := seconds[name[strings.LastIndex(name, "-")+1:]]
	return s, ok
}

// compare returns the rows one of whose commands was run.
func compare(rows []row, commands []command, made map[string]result) (all []compared) {
	for _, r := range rows {
		var last *compared
		for _, c := range commands {
			if one, ok := made[c.text]; ok && r.of(c) && (last == nil || last.Found == nil) {
				last = r.beside(one)
			}
		}
		if last != nil {
			all = append(all, *last)
		}
	}
	return all
}

// beside compares a row with what a command gave.
func (r row) beside(one result) *compared {
	c := &compared{Page: r.page, Row: r.text, Made: r.by, Command: one.Command, Says: r.says, Loud: one.Loud, Ratio: r.metric == "ratio"}
	half := r.half
	if scale, ok := seconds[r.unit]; ok {
		c.Says, half = c.Says*scale, half*scale
	}
	v, unit, ok := r.found(one)
	if !ok {
		c.Missing = cmp.Or(one.Failed, "the command did not print it")
		return c
	}
	if scale, ok := timed(unit); ok {
		v.Median, v.Least, v.Most = v.Median*scale, v.Least*scale, v.Most*scale
	}
	c.Found, c.By, c.Worse = &v, v.Median/c.Says-1, v.Median/(c.Says+half)-1 > worse
	if r.rate {
		c.By, c.Worse = c.Says/v.Median-1, (c.Says-half)/v.Median-1 > worse
	}
	return c
}

// found returns what a command gave for a row, and in what unit.
func (r row) found(one result) (measure, string, bool) {
	if r.sentence != nil {
		var runs []float64
		for _, f := range r.sentence.FindAllStringSubmatch(one.Said, -1) {
			if v, err := strconv.ParseFloat(strings.TrimRight(strings.ReplaceAll(f[1], ",", ""), "."), 64); err == nil {
				runs = append(runs, v)
			}
		}
		if runs == nil {
			return measure{}, "", false
		}
		return middle(runs), r.unit, true
	}
	for _, metric := range []string{r.metric, "ns/item", "ns/op", "us", "s"} {
		if v, ok := one.Values[r.benchmark+" "+metric]; ok && metric != "" {
			return v, metric, true
		}
		if r.metric != "" {
			break
		}
	}
	return measure{}, "", false
}
