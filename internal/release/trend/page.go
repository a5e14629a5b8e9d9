package trend

import (
	"bytes"
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"html/template"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/release/numerals"
	"github.com/confetti-dp/confetti/internal/release/page"
	"github.com/confetti-dp/confetti/internal/sanitize"
)

//go:embed trend.html
var trendHTML string

//go:embed trend.css
var trendCSS string

// CSS styles what Body draws, beside page.CardsCSS.
var CSS = trendCSS

var pages = template.Must(template.New("page").Funcs(template.FuncMap{
	"style":   func() template.CSS { return template.CSS(page.CardsCSS + trendCSS) },
	"percent": func(x float64) string { return numerals.FormatDecimals(100*x, 0) + "\u00a0%" },
	"points":  points,
	"capital": capital,
	"day":     func(t time.Time) string { return t.UTC().Format("2 January 2006") },
	"newest":  func(rounds []told) []told { return rounds[max(0, len(rounds)-mostRows):] },
}).Parse(trendHTML))

// mostRows is how many rounds the table of a trend lists, the newest.
const mostRows = 60

// Body draws trends for a page that has page.CardsCSS and CSS. Two are drawn beside each other, and those of one metric
// have one axis.
func Body(trends []Trend) (template.HTML, error) {
	shares, lifts := map[string]span{}, map[string]span{}
	for _, t := range trends {
		shares[t.Metric] = shares[t.Metric].with(spanOf(t.Lines, false))
		lifts[t.Metric] = lifts[t.Metric].with(spanOf(t.Lifts, true))
	}
	type drawn struct {
		Trend
		Wide, Narrow           template.HTML // of shares
		LiftsWide, LiftsNarrow template.HTML
		Title                  string
	}
	var all []drawn
	for _, t := range trends {
		one := drawn{Trend: t, Title: t.title()}
		var errs [4]error
		if len(t.Lines) > 0 {
			one.Wide, errs[0] = t.shares().draw(desk(shares[t.Metric]))
			one.Narrow, errs[1] = t.shares().draw(phone(shares[t.Metric]))
		}
		if len(t.Lifts) > 0 {
			one.LiftsWide, errs[2] = t.lifted().draw(desk(lifts[t.Metric]))
			one.LiftsNarrow, errs[3] = t.lifted().draw(phone(lifts[t.Metric]))
		}
		if err := errors.Join(errs[:]...); err != nil {
			return "", err
		}
		all = append(all, one)
	}
	var b bytes.Buffer
	if err := pages.ExecuteTemplate(&b, "trends", struct {
		Beside bool
		All    []drawn
	}{len(all) == 2, all}); err != nil {
		return "", fmt.Errorf("drawing trends: %w", err)
	}
	return template.HTML(b.String()), nil
}

// Shield is what a page says of who is protected: sentences, and promises. It follows from plans, which whoever writes the
// page has (internal/release/statement).
type Shield struct {
	Statements []account.Statement
	Says       []string
	Trial      bool
}

// Protected draws a shield for a page that has page.CardsCSS and CSS.
func Protected(s Shield) (template.HTML, error) {
	cards, err := page.Cards(s.Statements)
	if err != nil {
		return "", err
	}
	var b bytes.Buffer
	if err := pages.ExecuteTemplate(&b, "shield", struct {
		Shield
		Cards template.HTML
	}{s, cards}); err != nil {
		return "", fmt.Errorf("drawing promises: %w", err)
	}
	return template.HTML(b.String()), nil
}

// Write writes trends as one page that needs nothing else.
func Write(w io.Writer, title string, trends []Trend, s Shield) error {
	body, err := Body(trends)
	if err != nil {
		return err
	}
	shield, err := Protected(s)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := pages.Execute(&b, struct {
		Title        string
		Trial        bool
		Body, Shield template.HTML
	}{title, s.Trial, body, shield}); err != nil {
		return fmt.Errorf("writing the page: %w", err)
	}
	_, err = io.WriteString(w, sanitize.Page(b.String()))
	return err
}

// points prints a change with its interval's ends, rounded apart.
func points(c *Change) string {
	if c == nil {
		return "–"
	}
	return signed(math.Floor(1000*c.Low)/10) + " to " + signed(math.Ceil(1000*c.High)/10)
}

func signed(x float64) string {
	if x > 0 {
		return "+" + numerals.FormatDecimals(x, 1)
	}
	return numerals.FormatDecimals(x, 1)
}

// Verdict says what an interval leaves no doubt of.
func (c *Change) Verdict() string {
	switch {
	case c == nil:
		return "no number"
	case c.Low > 0:
		return "rose"
	case c.High < 0:
		return "fell"
	}
	return "no change seen"
}

// Sure reports whether a change is.
func (c *Change) Sure() bool { return c != nil && (c.Low > 0 || c.High < 0) }

// At returns the number of a round as it is listed, "" if there is none.
func (l Line) At(round int) string {
	if p := l.at(round); p != nil {
		return p.Range()
	}
	return ""
}

// SignedAt returns the lift of a round as it is listed, "" if there is none.
func (l Line) SignedAt(round int) string {
	if p := l.at(round); p != nil {
		return p.SignedRange()
	}
	return ""
}

// Columns returns how many numbers a round has in the table.
func (t Trend) Columns() int { return len(t.Lifts) + len(t.Lines) }

// Last returns the newest number of a line.
func (l Line) Last() Point { return l.Points[len(l.Points)-1] }

// Kept says how many rounds are listed of how many.
func (t Trend) Kept() string {
	if len(t.Rounds) > mostRows {
		return fmt.Sprintf("the newest %d of %d", mostRows, len(t.Rounds))
	}
	return fmt.Sprintf("%d", len(t.Rounds))
}

// Noted returns the newest note that changes are compared with, nil if there is none.
func (t Trend) Noted() *Note {
	if i := len(t.Notes) - 1; i >= 0 && t.Notes[i].Last > 0 && t.Notes[i].Last != t.Newest {
		return &t.Notes[i]
	}
	return nil
}

// HasRest reports whether a line is of several values.
func (t Trend) HasRest() bool {
	return slices.ContainsFunc(t.Lines, func(l Line) bool { return l.Rest })
}

// reason is why rounds have no numbers.
type reason struct{ Rounds, Why string }

// Gone lists the rounds without numbers by why they have none, in the order of the first of each, and Unlifted those without
// a lift.
func (t Trend) Gone() []reason     { return t.reasons(func(r told) string { return r.Missing }) }
func (t Trend) Unlifted() []reason { return t.reasons(func(r told) string { return r.Unlifted }) }

func (t Trend) reasons(of func(told) string) (all []reason) {
	rounds := map[string][]told{}
	var whys []string
	for _, r := range t.Rounds {
		if why := of(r); why != "" {
			if rounds[why] == nil {
				whys = append(whys, why)
			}
			rounds[why] = append(rounds[why], r)
		}
	}
	for _, why := range whys {
		all = append(all, reason{spans(rounds[why]), why})
	}
	return all
}

// spans names rounds, those that follow each other by their ends, and in which season they are.
func spans(rounds []told) string {
	var all []string
	for i := 0; i < len(rounds); i++ {
		j := i
		for j+1 < len(rounds) && rounds[j+1].Round == rounds[j].Round+1 && rounds[j+1].Season == rounds[i].Season {
			j++
		}
		number := func(r told) int { return cmp.Or(r.Own, r.Round) }
		says := fmt.Sprint(number(rounds[i]))
		if j > i {
			says = fmt.Sprintf("%d to %d", number(rounds[i]), number(rounds[j]))
		}
		if last := j+1 == len(rounds) || rounds[j+1].Season != rounds[i].Season; last && rounds[i].Season > 0 {
			says += fmt.Sprintf(" of season %d", rounds[i].Season)
		}
		all = append(all, says)
		i = j
	}
	if len(rounds) == 1 {
		return "Round " + all[0]
	}
	return "Rounds " + strings.Join(all, ", ")
}

// Noise prints the interval of a change among those who answered.
func (c *Change) Noise() string {
	return signed(math.Floor(1000*c.NoiseLow)/10) + " to " + signed(math.Ceil(1000*c.NoiseHigh)/10)
}
