// Package advise compares mechanisms for a task: noise, error, messages and what each kind of observer learns. Used
// by lab/cmd/confetti-lab/advise.
package advise

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/confetti-dp/confetti/account"
)

// Task is what a collection is to find out, and the privacy that its analyzer
// and readers are held to: replacement of one respondent's record, shuffler
// honest. One of Repetitions and Domain is set.
type Task struct {
	Users       int     // respondents in one released batch whose noise is relied upon
	Repetitions int     // bits that every respondent answers, each of which is summed; or
	Domain      int     // values of which every respondent holds one, counted value by value
	Epsilon     float64 // of everything that is released, together; 0: whatever LocalEpsilon gives
	Delta       float64
	// LocalEpsilon is that of all that one device sends, whoever colludes, which holds
	// beside Epsilon or alone; 0: none is asked for.
	LocalEpsilon float64
	Tau          int // report fragments: fragments of every bit
	Hashes       int // sketch: rows, each filled by an equal share of the respondents
	Width        int // sketch: cells of a row
}

func (t Task) check() error {
	switch {
	case t.Users < 2 || t.Users > account.MaxUsers:
		return fmt.Errorf("account: %d users: need 2 to %d", t.Users, account.MaxUsers)
	case (t.Repetitions == 0) == (t.Domain == 0):
		return fmt.Errorf("account: a task has either repetitions or a domain")
	case t.Repetitions < 0 || t.Repetitions > maxAdvised:
		return fmt.Errorf("account: %d repetitions: need 1 to %d", t.Repetitions, maxAdvised)
	case t.Domain < 0 || t.Domain == 1 || t.Domain > account.MaxUsers:
		return fmt.Errorf("account: a domain of %d values: need 2 to %d", t.Domain, account.MaxUsers)
	case !(t.LocalEpsilon == 0 || t.LocalEpsilon >= 1e-3 && t.LocalEpsilon <= 1e4):
		return fmt.Errorf("account: local epsilon %v: need 0.001 to 10000", t.LocalEpsilon)
	case !(t.Epsilon >= 1e-3 && t.Epsilon <= account.Meaningless) && !(t.Epsilon == 0 && t.LocalEpsilon > 0):
		return fmt.Errorf("account: epsilon %v: need 0.001 to %d, above which nothing is protected", t.Epsilon, account.Meaningless)
	case !(t.Delta >= 1e-100 && t.Delta < 0.5):
		return fmt.Errorf("account: delta %v: need 1e-100 to 1/2", t.Delta)
	case t.Tau < 2 || t.Tau > 1<<10:
		return fmt.Errorf("account: %d fragments of a report: need 2 to %d", t.Tau, 1<<10)
	case t.Hashes < 1 || t.Hashes > account.MaxUsers:
		return fmt.Errorf("account: a sketch of %d rows: need 1 to %d", t.Hashes, account.MaxUsers)
	case t.Width < 2 || t.Width > account.MaxUsers:
		return fmt.Errorf("account: a sketch %d cells wide: need 2 to %d", t.Width, account.MaxUsers)
	}
	return nil
}

// maxAdvised is far more bits than a device should be asked to seal.
const maxAdvised = 1 << 20

// rounds returns how many sums one replaced record changes: every bit may, but of a
// histogram only the value left and the value entered.
func (t Task) rounds() int {
	if t.Domain > 0 {
		return 2
	}
	return t.Repetitions
}

// sums returns how many sums there are.
func (t Task) sums() int { return max(t.Repetitions, t.Domain) }

// Option is one protocol for a task, with noise calibrated to it.
type Option struct {
	Protocol string
	Excluded string // why it cannot be used; what follows is then empty
	Noise    string // its parameters, in words
	// Guarantee is that of the analyzer and every reader: shuffled or central.
	Guarantee account.Guarantee
	RMSE      float64 // of one sum, in respondents, at worst over the data; of a domain, root mean square over its values
	Messages  float64 // of one device on average; 0 for a curator
	Envelopes int     // of one device, whatever its data, dummies included
	// Local is the epsilon if everyone colludes, with delta 0: +Inf where nothing is
	// promised.
	Local float64
	// OneFragment is against an observer who opens a single message of a device, knows whose it is, and
	// sees all others among everybody's: epsilon +Inf where nothing is promised.
	OneFragment account.Guarantee
}

// Advice compares protocols; Best is the index of the recommended one, -1 if
// none can be used without a trusted curator.
type Advice struct {
	Options []Option
	Best    int
	Reason  string
}

// Compare calibrates every protocol to the task. Each guarantee is an upper
// bound: no row needs trust in a number that the accountant did not prove.
func Compare(t Task) (Advice, error) {
	if err := t.check(); err != nil {
		return Advice{}, err
	}
	var a Advice
	for _, p := range protocols {
		o, err := Option{}, errNoLocal
		if t.LocalEpsilon == 0 || p.local {
			o, err = p.option(t)
		}
		if err != nil {
			o = Option{Excluded: strings.TrimPrefix(err.Error(), "account: ")}
		}
		o.Protocol = p.name
		a.Options = append(a.Options, o)
	}
	a.recommend(t)
	return a, nil
}

// tie is what more of error nobody would notice: other merits then decide.
const tie = 1.1

// felt returns the error as a user of the sum feels it. A bit that stands for a
// feature is rounded at random, and respondents are a sample of those who might
// have answered; both give a sum of n bits a deviation of up to sqrt(n)/2, which
// no protocol takes away.
func (t Task) felt(o Option) float64 { return math.Hypot(o.RMSE, math.Sqrt(float64(t.Users))/2) }

// recommend takes the least felt error among the protocols that trust no
// curator; among those within a tie of it, the fewest envelopes, then the least
// local epsilon.
func (a *Advice) recommend(t Task) {
	a.Best = -1
	least, curator := math.Inf(1), math.Inf(1)
	for _, o := range a.Options {
		switch {
		case o.Excluded != "":
		case o.Guarantee.Trust == account.Central:
			curator = math.Min(curator, o.RMSE)
		default:
			least = math.Min(least, t.felt(o))
		}
	}
	var close []int
	for i, o := range a.Options {
		if o.Excluded == "" && o.Guarantee.Trust != account.Central && t.felt(o) <= tie*least {
			close = append(close, i)
		}
	}
	if len(close) == 0 {
		a.Reason = "No protocol reaches this privacy without a trusted curator: raise epsilon, or ask more respondents."
		return
	}
	a.Best = slices.MinFunc(close, func(i, j int) int {
		x, y := a.Options[i], a.Options[j]
		return cmp.Or(cmp.Compare(x.Envelopes, y.Envelopes), cmp.Compare(x.Local, y.Local))
	})
	a.Reason = a.why(t, len(close), curator)
}

// why returns the recommendation's reason in a sentence or two.
func (a *Advice) why(t Task, close int, curator float64) string {
	best := a.Options[a.Best]
	var s strings.Builder
	if close > 1 {
		fmt.Fprintf(&s, "%s: of %d protocols whose error nobody could tell from the least (to %.0f %%, beside the sqrt(n)/2 of any sample of n) it sends the fewest envelopes, %d a device.",
			capitalized(best.Protocol), close, 100*(tie-1), best.Envelopes)
	} else {
		fmt.Fprintf(&s, "%s: clearly the least error of all that trust no curator, with %d envelopes a device.", capitalized(best.Protocol), best.Envelopes)
	}
	fmt.Fprintf(&s, " One sum of %d respondents errs by %.4g", t.Users, best.RMSE)
	if !math.IsInf(curator, 1) {
		fmt.Fprintf(&s, "; the best trusted curator errs by %.4g", curator)
	}
	s.WriteString(".")
	switch {
	case math.IsInf(best.Local, 1):
		s.WriteString(" If everyone colludes it promises nothing.")
	case best.Local > account.Meaningless:
		fmt.Fprintf(&s, " If everyone colludes its local epsilon of %.4g is no meaningful protection.", best.Local)
	default:
		fmt.Fprintf(&s, " If everyone colludes a local epsilon of %.3g is left.", best.Local)
	}
	if best.RMSE > float64(t.Users)/10 {
		s.WriteString(" The error is above a tenth of the respondents: ask more of them, or fewer things.")
	}
	return s.String()
}

func capitalized(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
