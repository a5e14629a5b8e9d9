package console

import (
	"fmt"
	"html/template"
	"math"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/release/numerals"
	drawn "github.com/confetti-dp/confetti/internal/release/page"
	"github.com/confetti-dp/confetti/internal/release/sheets"
	"github.com/confetti-dp/confetti/internal/service/analyzerd"
	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/wire/relay"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/release"
)

var funcs = template.FuncMap{
	"short":   plan.Short,
	"number":  func(n int) string { return numerals.FormatNumber(float64(n)) },
	"machine": func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
	"moment":  moment,
	"words":   statusWords,
	"lower":   strings.ToLower,
	"upper":   func(s string) string { return strings.ToUpper(s[:min(1, len(s))]) + s[min(1, len(s)):] },
	"percent": func(x float64) string { return fmt.Sprintf("%.2f%%", 100*min(1, max(0, x))) },
	"about":   func(format string) string { return aboutFiles[format] },
	"cards":   drawn.Cards,
	"coded":   url.PathEscape, // what a script reads back as it is, with nothing in it that does not show
	"sub":     func(a, b int) int { return a - b },
	"add":     func(a, b int) int { return a + b },
}

func moment(t time.Time) string { return t.UTC().Format("2 January 2006, 15:04 UTC") }

// statusWords returns a status as people say it.
func statusWords(s analyzerd.Status) string {
	switch s {
	case analyzerd.Open:
		return "collecting"
	case analyzerd.Closed:
		return "counting"
	case analyzerd.Released:
		return "published"
	case analyzerd.Failed:
		return "cannot be summed"
	}
	return string(s)
}

// span returns a length of time, rounded to what anybody cares for.
func span(d time.Duration) string {
	count := func(n int, one string) string {
		if n == 1 {
			return "1 " + one
		}
		return fmt.Sprintf("%d %ss", n, one)
	}
	switch d = d.Abs(); {
	case d < time.Minute:
		return "less than a minute"
	case d < 2*time.Hour:
		return count(int(d.Round(time.Minute)/time.Minute), "minute")
	case d < 48*time.Hour:
		return count(int(d.Round(time.Hour)/time.Hour), "hour")
	}
	return count(int(d.Round(24*time.Hour)/(24*time.Hour)), "day")
}

// closing returns when a collection closes, beside now.
func closing(p analyzerd.Plan, now time.Time) string {
	switch {
	case p.Status != analyzerd.Open:
		return ""
	case p.Closes.IsZero():
		return "closes when told"
	case now.Before(p.Closes):
		return "closes in " + span(p.Closes.Sub(now))
	}
	return "closing now"
}

// people returns a number of respondents, which may be an estimate.
func people(x float64) string {
	if math.Abs(x) < 0.5 {
		return "0"
	}
	return numerals.FormatNumber(math.Round(x))
}

// share returns one of a whole, in percent.
func share(x float64) string {
	digits := 1
	if math.Abs(x) < 0.01 {
		digits = 2
	}
	return strings.Replace(fmt.Sprintf("%.*f\u00a0%%", digits, 100*x), "-", "−", 1)
}

// points returns a difference of shares.
func points(x float64) string {
	s := fmt.Sprintf("%+.1f points", 100*x)
	return strings.Replace(s, "-", "−", 1)
}

// aboutFiles says what there is in a file of a release, by its format at the analyzer.
var aboutFiles = map[string]string{
	"json":              "every number and every guarantee, for programs",
	sheets.CountsFile:   "a row for each value, for a spreadsheet",
	countsColumns:       "the same, for programs that read Parquet",
	relay.ReceiptsFile:  "what hops or aggregators signed for",
	release.AuditFile:   "what attacks found",
	relay.SignatureFile: "the analyzer's signature of all these",
	relay.EvidenceFile:  "where it stands in the public log",
	"study.json":        "all rounds of the study so far",
}

// price says how sure of an answer somebody can become, who gave it even odds: by the result, and by what all who
// carry and count it have together.
func price(promised []account.Statement) (result, together string) {
	return drawn.Sure(promised, account.ShufflerHonest, account.OnlyTheReader), drawn.Sure(promised, account.EveryoneColludes, account.BothAggregators)
}

// leaving says what leaves a phone. What is promised is the plan's.
func leaving(r plan.Route, promised []account.Statement) string {
	if r.Sum == nil {
		return "Your answer stays on this phone. What leaves it is randomized, and sealed."
	}
	if slices.ContainsFunc(promised, func(s account.Statement) bool { return !s.Guarantee.Meaningful() }) { // it is told to whoever has both shares
		return "Your answer leaves this phone in two shares, each sealed for another aggregator. One share alone tells nothing; both together are your answer."
	}
	return "Your answer stays on this phone. What leaves it is randomized, and split in two shares, each sealed for another aggregator."
}

// passing says to the room how answers come to be counted, and what is done once nobody can answer any more.
func passing(r plan.Route) (scan, counts string) {
	if r.Sum == nil {
		return fmt.Sprintf("Each answer is randomized on the phone, sealed, and mixed by %s before anybody counts.", serve.Count(len(r.Ways()[0]), "hop", "hops")), "The answers are being mixed and counted."
	}
	return "Each phone splits its answer in two sealed shares. Two aggregators add the shares of all before anybody reads a number.", "The answers are being checked and added up."
}
