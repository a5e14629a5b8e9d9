// Package page draws one page of what a device has agreed to, spent and said, for the person whose device it is.
// Used by cmd/confetti/internal/device, for confetti ledger show.
package page

import (
	"bytes"
	_ "embed"
	"encoding/hex"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/client"
	"github.com/confetti-dp/confetti/internal/belief"
	"github.com/confetti-dp/confetti/internal/client/words"
	"github.com/confetti-dp/confetti/internal/sanitize"
	"github.com/confetti-dp/confetti/plan"
)

// Options say what is beside the ledger.
type Options struct {
	Prior     float64            // how firmly somebody believed something of an answer before, in (0, 1)
	Remaining []client.Remaining // what is left of the budgets
	// Plans are those that were answered, as far as they are at hand: of these the page says
	// who carried them, and where the result is.
	Plans []plan.Plan
	Off   string // the command that switches the device off
}

//go:embed page.html
var pageHTML string

//go:embed page.css
var pageCSS string

var ledgerPage = template.Must(template.New("ledger").Funcs(template.FuncMap{
	"style":   func() template.CSS { return template.CSS(belief.Colours + pageCSS) },
	"moment":  func(t time.Time) string { return t.UTC().Format("2 January 2006, 15:04 UTC") },
	"machine": func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
	"short":   plan.Short,
	"lower":   strings.ToLower,
}).Parse(pageHTML))

// view is what the page is made of.
type view struct {
	*client.Ledger
	Prior   string
	Meters  []meter
	Answers []answer // the newest first
	Waiting int
	Off     string
	Counted []string // of studies that count events
}

// meter is how full a budget is.
type meter struct {
	Share float64 // in percent
	Words string
	Left  string
}

// answer is one plan that was answered.
type answer struct {
	client.Entry
	Beliefs []seen
	Bodies  []said
	Carried []string // operators, in the order that the answer passed them
	Address []string // who saw the device's network address, where a relay hid it
	Result  string   // address of the release's page
	Waits   bool
	Summed  bool
	Saw     string // who saw the crowd
	About   string // what the beliefs are about
	Trial   bool   // one operator has every key
}

// seen is what one observer can make of a belief.
type seen struct {
	account.Statement
	Who       string
	Low       float64 // in percent
	High      float64
	Words     string
	Verdict   string
	Facts     []account.Fact
	Limitless bool
	Strength  belief.Strength
}

// said is a message, and how often it was said.
type said struct {
	Body  string // in hexadecimal
	Times int
}

// Write writes the ledger as one page: no script, no font, no image from elsewhere.
func Write(w io.Writer, l *client.Ledger, o Options) error {
	if !(o.Prior > 0 && o.Prior < 1) {
		return fmt.Errorf("page: a prior belief of %v: need a probability above 0 and below 1", o.Prior)
	}
	v := view{Ledger: l, Prior: fmt.Sprintf("%.4g\u00a0%%", 100*o.Prior), Off: o.Off}
	for _, r := range o.Remaining {
		v.Meters = append(v.Meters, meter{100 * min(1, r.Shares.Box(), r.Shares.Sums()), r.String(), r.Left("like the last")})
	}
	v.Counted = words.Counted(l)
	for _, e := range slices.Backward(l.Entries) {
		one := answered(e, o)
		if one.Waits {
			v.Waiting++
		}
		v.Answers = append(v.Answers, one)
	}
	var b bytes.Buffer // the template writes in small pieces, and half a page is worse than none
	if err := ledgerPage.Execute(&b, v); err != nil {
		return fmt.Errorf("writing the ledger as a page: %w", err)
	}
	_, err := io.WriteString(w, sanitize.Page(b.String()))
	return err
}

// answered returns an entry, with what its plan says of it.
func answered(e client.Entry, o Options) answer {
	a := answer{Entry: e, Waits: e.Waiting(), Summed: slices.ContainsFunc(e.Parts, client.Part.Summed), Saw: words.Saw(e), About: words.About(e)}
	for _, s := range e.Statements {
		low, high := belief.Believed(s.Guarantee, o.Prior)
		a.Beliefs = append(a.Beliefs, seen{
			Statement: s, Who: belief.Who(s.Observer), Low: 100 * low, High: 100 * high, Words: belief.Between(low, high), Limitless: high == 1 && low == 0,
			Facts: s.Guarantee.Facts(), Verdict: s.Guarantee.Verdict(), Strength: belief.Cards([]account.Statement{s})[0].Strength,
		})
	}
	if i := slices.IndexFunc(o.Plans, func(p plan.Plan) bool { return p.Name() == e.Plan }); i >= 0 {
		p := o.Plans[i]
		a.Carried, a.Address = carriers(p), words.Addresses(p)
		a.Trial = len(a.Carried) == 1
		if strings.HasPrefix(p.Analyzer.URL, "https://") {
			a.Result = p.Analyzer.URL + "/v1/releases/" + e.Plan + ".html"
		}
	}
	for _, p := range e.Parts {
		for _, m := range p.Messages {
			a.say(m)
		}
	}
	return a
}

// say adds a message to what was said.
func (a *answer) say(body []byte) {
	one := said{Body: hex.EncodeToString(body), Times: 1}
	for i, other := range a.Bodies {
		if other.Body == one.Body {
			a.Bodies[i].Times++
			return
		}
	}
	a.Bodies = append(a.Bodies, one)
}

// carriers returns the operators of the way, each once.
func carriers(p plan.Plan) (all []string) {
	add := func(name string) {
		if !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	for _, way := range p.Route.Ways() {
		for _, party := range way {
			add(party.Operator)
		}
	}
	add(p.Analyzer.Operator)
	return all
}

// Width returns that of the bar, in percent.
func (b seen) Width() float64 { return max(0.5, b.High-b.Low) }
