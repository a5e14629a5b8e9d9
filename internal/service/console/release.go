package console

import (
	"encoding/hex"
	"fmt"
	"html/template"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/confetti-dp/confetti/internal/dp/estimate"
	drawn "github.com/confetti-dp/confetti/internal/release/page"
	"github.com/confetti-dp/confetti/internal/sanitize"
	"github.com/confetti-dp/confetti/internal/service/analyzerd"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/internal/wire/relay"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/release"
	"github.com/confetti-dp/confetti/release/verify"
)

// level of every interval here.
const level = 0.95

// Most values that are offered, and most cells that are put together.
const (
	maxLines = 60
	maxPicks = 2000
)

// groupResult is what the selected values come to.
type groupResult struct {
	Names               []string
	More                int // names that are not listed
	Crowd, Count        string
	CountLow, CountHigh string
	ShareLow, ShareHigh string
	share, sLow, sHigh  float64
	Difference          string
}

// choice is a value that can be put together with others.
type choice struct {
	Cell   int
	Name   string
	Picked bool
}

// releaseView is the page of a release: the page that is mailed, and below it what only a console can do.
type releaseView struct {
	analyzerd.Plan
	Page       template.HTML // what the mailed page shows
	Attributes []string
	Crowds     []string
	Attribute  string
	Crowd      string
	With       string // the other crowd; "": none
	Values     []choice
	All        int // values there are
	Open       bool
	Groups     []groupResult
	Refused    string // why values cannot be put together
	Files      []string
	Others     []string   // crowds that this one can be set beside
	Verify     string     // the command that does the same as the button
	Checked    []evidence // what the button looks at; none: there is no button
	Asked      string     // who says whether it was withdrawn since
	Attacked   bool       // there is an audit, whose collections can be drawn again
	Digest     string     // SHA-256 of release.json
	Cite       string
	Address    string // of the release at its analyzer
	Round      int

	WithdrawnRounds []int // of its study, which what is said of all rounds rests on
}

// evidence is a file by the name that release fetch gives it, and where a page gets it.
type evidence struct{ Name, URL string }

// release shows the page of a release.
func (c *Console) release(w http.ResponseWriter, r *http.Request) error {
	p, one, err := c.analyzer.collection(r.Context(), r.PathValue("plan"))
	if err != nil {
		return err
	}
	if p.Status != analyzerd.Released {
		http.Redirect(w, r, "/plans/"+p.Plan, http.StatusSeeOther)
		return nil
	}
	out, err := c.analyzer.release(r.Context(), one)
	if err != nil {
		return err
	}
	v := releaseView{Plan: p, Files: offered(p.Formats)}
	if v.Page, err = drawn.Body(out.Release); err != nil {
		return err
	}
	if slices.Contains(p.Formats, "study.json") {
		if v.WithdrawnRounds, err = c.analyzer.withdrawn(r.Context(), p); err != nil {
			return err
		}
	}
	if err := v.prove(c, out, one.signed); err != nil {
		return err
	}
	if err := v.choose(out, r.URL.Query()); err != nil {
		return err
	}
	return c.render(w, r, http.StatusOK, "release", sheet{Title: p.Title, At: "collections", Script: "release.js", Trial: out.Source == release.Trial, Release: true}, v)
}

// prove fills in what the release rests on, and how to cite it.
func (v *releaseView) prove(c *Console, out *released, signed plan.Signed) error {
	hash, err := wire.ParsePlanName(v.Plan.Plan)
	if err != nil {
		return errNoPage
	}
	v.Address = strings.TrimSuffix(c.o.Analyzer+wire.ReleasePath(hash, "json"), ".json")
	v.Verify = "confetti release verify " + v.Address
	v.Digest = hex.EncodeToString(out.digest[:])
	v.Cite = fmt.Sprintf("“%s”. Release of %s, %s, plan %s, release.json with SHA-256 %s. %s", out.Title, signed.Plan.Analyzer.Operator, out.Created.UTC().Format("2 January 2006"), plan.Short(v.Plan.Plan), v.Digest, v.Address)
	if w := v.Withdrawal; w != nil {
		v.Cite += fmt.Sprintf(" Withdrawn by its publisher on %s: %s", w.At.UTC().Format("2 January 2006"), w.Reason)
	}
	if c.o.Studio == nil {
		return nil
	}
	v.Attacked = slices.Contains(v.Files, release.AuditFile)
	at := "/releases/" + v.Plan.Plan + "/"
	for _, format := range v.Files {
		if format == countsColumns { // made here, and in no receipt
			continue
		}
		v.Checked = append(v.Checked, evidence{fileName(format), at + format})
	}
	v.Checked = append(v.Checked, evidence{verify.SignedFile, "/plans/" + v.Plan.Plan + "/signed.json"})
	if signed.Plan.State != "" {
		v.Checked = append(v.Checked, evidence{verify.StateFile, at + verify.StateFile})
	}
	v.Asked = c.o.Analyzer
	if v.Withdrawal != nil {
		v.Checked = append(v.Checked, evidence{relay.WithdrawalFile, at + relay.WithdrawalFile})
	}
	return nil
}

// fileName returns the name of a published file beside the others.
func fileName(format string) string {
	switch format {
	case "json":
		return release.JSONFile
	case "html":
		return release.PageFile
	}
	return format
}

// choose fills in which values can be put together, and what those that were chosen come to.
func (v *releaseView) choose(out *released, ask url.Values) error {
	v.Refused = out.apart
	if len(out.tables) == 0 {
		return nil
	}
	var crowds []table
	for _, t := range out.tables {
		v.Attributes = append(v.Attributes, t[0].Attribute)
		if crowds == nil || shownAs(t[0].Attribute, ask.Get("attribute")) {
			crowds, v.Attribute = t, t[0].Attribute
		}
	}
	first := crowds[0]
	var second *table
	for _, t := range crowds {
		v.Crowds = append(v.Crowds, t.Crowd)
		if shownAs(t.Crowd, ask.Get("crowd")) {
			first = t
		}
	}
	for i, t := range crowds {
		if t.Crowd != first.Crowd && t.lists(first) {
			v.Others = append(v.Others, t.Crowd)
			if shownAs(t.Crowd, ask.Get("with")) {
				second = &crowds[i]
			}
		}
	}
	v.Crowd, v.All, v.Open = first.Crowd, len(first.counts), len(ask) > 0
	if second != nil {
		v.With = second.Crowd
	}
	picks, err := picked(ask["pick"], len(first.counts))
	if err != nil {
		return err
	}
	if first.group == nil {
		return nil
	}
	for _, cell := range first.order(maxLines) {
		v.Values = append(v.Values, choice{cell, first.counts[cell].Value, slices.Contains(picks, cell)})
	}
	if len(picks) > 0 {
		v.together(first, second, picks)
	}
	return nil
}

// shownAs reports whether a form asks for what has this name: it says it as the page shows it.
func shownAs(name, asked string) bool { return name == asked || sanitize.Page(name) == asked }

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
			v.Refused = "Of this crowd it is not known how many were counted, or how the errors of values are correlated."
			return
		}
		count, part, low, high, ok := t.group.Group(picks, level)
		if !ok {
			v.Groups, v.Refused = nil, "The errors of these values are correlated in an unknown way, so their sum has no interval: only one-hot answers can be added up."
			return
		}
		from, to := count.Interval(level)
		n := float64(t.Respondents)
		if !t.sums {
			n = math.Inf(1)
		}
		g := groupResult{
			Crowd: t.Crowd, Count: people(count.Mean), CountLow: people(max(0, from)), CountHigh: people(min(n, to)),
			ShareLow: share(low), ShareHigh: share(high), share: part.Mean, sLow: low, sHigh: high,
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
		d, low, high := estimate.Minus(a.share, a.sLow, a.sHigh, b.share, b.sLow, b.sHigh)
		v.Groups[1].Difference = fmt.Sprintf("%s (%s to %s)", points(d), points(low), points(high))
	}
}
