package console

import (
	"bytes"
	"fmt"
	"math"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/confetti-dp/confetti/analyzer/analyzerd"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/release"
	drawn "github.com/confetti-dp/confetti/release/page"
)

// level of every interval here.
const level = 0.95

// Most rows that are drawn, and most cells that are put together.
const (
	maxLines = 60
	maxPicks = 2000
)

// groupResult is what the selected values come to.
type groupResult struct {
	Names                []string
	More                 int // names that are not listed
	Crowd, Count, Share  string
	CountLow, CountHigh  string
	ShareLow, ShareHigh  string
	share, sLow, sHigh   float64
	Difference, Together string
}

// releaseView is the page of a release.
type releaseView struct {
	analyzerd.Plan
	*released
	Answer     string
	Attributes []string
	Crowds     []string
	Attribute  string
	Crowd      string
	With       string // the other crowd; "": none
	Consistent bool
	Lines      []line
	Shown, All int
	Grouping   bool // values can be put together
	Groups     []groupResult
	Refused    string // why they cannot
	Cards      []card
	Files      []string
	Figures    []string
	Respondent int
	Others     []string // crowds that this one can be set beside
	Verify     string
	Round      int
}

// release is the page of a release: the chart first, then who is protected from whom, then
// what it all rests on.
func (c *Console) release(w http.ResponseWriter, r *http.Request) error {
	p, one, err := c.analyzer.collection(r.Context(), r.PathValue("plan"))
	if err != nil {
		return err
	}
	if p.State != analyzerd.Released {
		http.Redirect(w, r, "/plans/"+p.Plan, http.StatusSeeOther)
		return nil
	}
	out, err := c.analyzer.release(r.Context(), one)
	if err != nil {
		return err
	}
	v := releaseView{Plan: p, released: out, Answer: out.answer(), Cards: cards(out.Guarantees), Files: p.Formats}
	v.Verify = fmt.Sprintf("confetti release fetch --url %s %s --out release && confetti release verify release", c.o.Analyzer, plan.Short(p.Plan))
	for _, f := range out.Figures() {
		v.Figures = append(v.Figures, f.Name)
	}
	if len(out.tables) > 0 {
		if err := v.draw(out, r.URL.Query()); err != nil {
			return err
		}
	}
	return c.render(w, r, http.StatusOK, "release", sheet{Title: p.Title, At: "collections", Script: "release.js", Trial: out.Source == release.Trial}, v)
}

// draw fills in the chart that was asked for.
func (v *releaseView) draw(out *released, ask url.Values) error {
	var crowds []table
	for _, t := range out.tables {
		v.Attributes = append(v.Attributes, t[0].Attribute)
		if crowds == nil || t[0].Attribute == ask.Get("attribute") {
			crowds, v.Attribute = t, t[0].Attribute
		}
	}
	first := crowds[0]
	var second *table
	for _, t := range crowds {
		v.Crowds = append(v.Crowds, t.Crowd)
		if t.Crowd == ask.Get("crowd") {
			first = t
		}
	}
	for i, t := range crowds {
		if t.Crowd != first.Crowd && t.lists(first) {
			v.Others = append(v.Others, t.Crowd)
			if t.Crowd == ask.Get("with") {
				second = &crowds[i]
			}
		}
	}
	v.Crowd, v.Consistent, v.Respondent = first.Crowd, ask.Get("show") == "consistent", first.Respondents
	if second != nil {
		v.With = second.Crowd
	}
	v.Answer = first.answer()
	picks, err := picked(ask["pick"], len(first.counts))
	if err != nil {
		return err
	}
	v.Grouping, v.Refused = first.group != nil, out.apart
	v.lines(first, second, picks)
	if len(picks) > 0 && v.Grouping {
		v.together(first, second, picks)
	}
	return nil
}

// picked reads the cells that were selected.
func picked(texts []string, cells int) ([]int, error) {
	bad := &pageError{http.StatusBadRequest, "These values cannot be put together.", "Select them on the page of the release."}
	if len(texts) > maxPicks {
		return nil, bad
	}
	var all []int
	for _, text := range texts {
		cell, err := strconv.Atoi(text)
		if err != nil || cell < 0 || cell >= cells || slices.Contains(all, cell) {
			return nil, bad
		}
		all = append(all, cell)
	}
	slices.Sort(all)
	return all, nil
}

// together says what the selected values come to in each of the crowds that are shown.
func (v *releaseView) together(first table, second *table, picks []int) {
	for _, t := range []*table{&first, second} {
		if t == nil {
			continue
		}
		if t.group == nil {
			v.Refused = "Of this crowd it is not known how many were counted, or how the errors of values hang together."
			return
		}
		count, part, low, high, ok := t.group.Group(picks, level)
		if !ok {
			v.Groups, v.Refused = nil, "The errors of these values hang together in a way that is not known, so that the error of a sum is not either: only one-hot answers can be put together."
			return
		}
		from, to := count.Interval(level)
		n := float64(t.Respondents)
		if !t.sums {
			n = math.Inf(1)
		}
		g := groupResult{
			Crowd: t.Crowd, Count: people(count.Mean), CountLow: people(max(0, from)), CountHigh: people(min(n, to)),
			Share: share(part.Mean), ShareLow: share(low), ShareHigh: share(high), share: part.Mean, sLow: low, sHigh: high,
		}
		for _, cell := range picks {
			if len(g.Names) == 12 {
				g.More = len(picks) - 12
				break
			}
			g.Names = append(g.Names, t.counts[cell].Value)
		}
		v.Groups = append(v.Groups, g)
	}
	if len(v.Groups) == 2 {
		a, b := v.Groups[0], v.Groups[1]
		d, low, high := minus(a.share, a.sLow, a.sHigh, b.share, b.sLow, b.sHigh)
		v.Groups[1].Difference = fmt.Sprintf("%s (%s to %s)", points(d), points(low), points(high))
	}
}

// releaseTypes are the files of a release by their formats at the analyzer.
var releaseTypes = map[string]string{
	"json": "application/json", "html": "text/html; charset=utf-8", release.CountsFile: "text/csv; charset=utf-8; header=present",
	wire.ReceiptsFile: "application/json", release.AuditFile: "application/json",
	"study.json": "application/json", "study.html": "text/html; charset=utf-8", wire.EvidenceFile: "text/plain; charset=utf-8",
}

// A page of a release has its own style and drawings and needs nothing else.
const releasePolicy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// releaseFile hands on a file of a release.
func (c *Console) releaseFile(w http.ResponseWriter, r *http.Request) error {
	format := r.PathValue("file")
	if releaseTypes[format] == "" {
		return errNoPage
	}
	text, err := c.analyzer.file(r.Context(), r.PathValue("plan"), format)
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", releaseTypes[format])
	if strings.HasSuffix(format, "html") {
		h.Set("Content-Security-Policy", releasePolicy)
	} else {
		name := format
		if format == "json" {
			name = drawn.JSONFile
		}
		h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": name}))
	}
	_, err = w.Write(text)
	return err
}

// figure draws a figure of a release.
func (c *Console) figure(w http.ResponseWriter, r *http.Request) error {
	one, err := c.analyzer.plan(r.Context(), r.PathValue("plan"))
	if err != nil {
		return err
	}
	out, err := c.analyzer.release(r.Context(), one)
	if err != nil {
		return err
	}
	name, ok := strings.CutSuffix(r.PathValue("figure"), ".svg")
	all := out.Figures()
	i := slices.IndexFunc(all, func(f release.Figure) bool { return f.Name == name })
	if !ok || i < 0 {
		return errNoPage
	}
	var b bytes.Buffer
	if err := drawn.WriteSVG(&b, all[i]); err != nil {
		return err
	}
	w.Header().Set("Content-Type", "image/svg+xml")
	w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'")
	_, err = w.Write(b.Bytes())
	return err
}
