package client

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/confetti-dp/confetti/account"
)

// Remaining is how much of a cap on a period is spent, and what still fits.
type Remaining struct {
	Period time.Duration
	Cap    Cap
	// Shares are the parts spent of what the cap has room for, where its epsilon and its
	// delta are both limited (account.Filter): of the box, and of the sums. Plans fit as
	// long as one of the two is not full.
	Shares   account.Shares
	Filtered bool   // Shares says something
	Spent    Charge // sums, which a limit by itself is compared with
	Labels   bool   // some of what counts speaks of a label alone
	// More is how many plans like the last one, or like the one that is forecast, would
	// still fit, up to mostPending; negative where there is none to compare with.
	More int
}

// mostPending bounds the count in More.
const mostPending = 1000

// Remaining returns how much of the cap on a period is spent now. Like is a charge to count
// further plans by; nil stands for the last one within the period.
func (l *Ledger) Remaining(now time.Time, caps Caps, like *Charge) Remaining {
	r := Remaining{Period: caps.Period, Cap: caps.Window, Spent: l.counted(now, caps.Period), More: -1}
	for i := range l.Entries {
		e := &l.Entries[i]
		r.Labels = r.Labels || e.within(now, caps.Period) && e.Charge.Of() == account.Label
	}
	f, filtered := caps.Window.filter()
	if r.Filtered = filtered; filtered {
		f = l.after(f, now, caps.Period)
		r.Shares = f.Shares()
	}
	if like == nil {
		for i := range l.Entries {
			if e := &l.Entries[i]; e.within(now, caps.Period) {
				like = &e.Charge
			}
		}
	}
	if like == nil {
		return r
	}
	r.More = mostPending
	if filtered {
		r.More = f.More(mostPending, like.spending())
	}
	fits := func(limit, spent, each float64) {
		if limit > 0 && each > 0 {
			r.More = min(r.More, max(0, int(math.Floor((limit*(1+1e-12)-spent)/each))))
		}
	}
	if !filtered {
		fits(caps.Window.Epsilon, r.Spent.Epsilon, like.Epsilon)
		fits(caps.Window.Delta, r.Spent.Delta, like.Delta)
	}
	fits(caps.Window.Local, limitless(r.Spent.Local), limitless(like.Local))
	return r
}

// String says it in words.
func (r Remaining) String() string {
	if r.Cap == (Cap{}) {
		return "No cap limits what is spent over time."
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Within %s it may spend ", days(r.Period))
	var limits []string
	if r.Filtered {
		limits = append(limits, fmt.Sprintf("epsilon %.4g at delta %.3g in all", r.Cap.Epsilon, r.Cap.Delta))
	} else {
		if r.Cap.Epsilon > 0 {
			limits = append(limits, fmt.Sprintf("epsilons that sum to %.4g", r.Cap.Epsilon))
		}
		if r.Cap.Delta > 0 {
			limits = append(limits, fmt.Sprintf("deltas that sum to %.3g", r.Cap.Delta))
		}
	}
	if r.Cap.Local > 0 {
		limits = append(limits, fmt.Sprintf("epsilon %.4g though everyone colludes", r.Cap.Local))
	}
	of := "replacement"
	if r.Labels {
		of += "; of the label alone, where a plan asks for one beside public features"
	}
	fmt.Fprintf(&b, "%s (%s).\n", strings.Join(limits, ", and "), of)
	if r.Filtered {
		fmt.Fprintf(&b, "  spent     %s of the budget for plans that a Gaussian dominates (shifts %s, tails %s)\n", share(r.Shares.Box()), share(r.Shares.Shift), share(r.Shares.Tail))
		fmt.Fprintf(&b, "            %s of the budget for sums (epsilons %s, deltas %s); one of the two is enough\n", share(r.Shares.Sums()), share(r.Shares.Epsilon), share(r.Shares.Delta))
	} else {
		fmt.Fprintf(&b, "  spent     epsilons that sum to %.4g, deltas to %.3g\n", r.Spent.Epsilon, r.Spent.Delta)
	}
	if r.Cap.Local > 0 {
		fmt.Fprintf(&b, "            %s though everyone colludes\n", account.Guarantee{Epsilon: limitless(r.Spent.Local), Adjacency: account.Replacement}.Verdict())
	}
	return b.String()
}

// Left says in words how many more plans fit, like is what they are compared with.
func (r Remaining) Left(like string) string {
	switch {
	case r.More < 0:
		return "nothing was asked yet"
	case r.More == 0:
		return "no more " + like
	case r.More >= mostPending:
		return fmt.Sprintf("more than %d more %s", mostPending, like)
	}
	return fmt.Sprintf("about %d more %s", r.More, like)
}

// share prints a part in percent, of a small one one digit.
func share(x float64) string {
	switch {
	case x == 0:
		return "nothing"
	case x < 0.095:
		return fmt.Sprintf("%.1g %%", 100*x)
	}
	return fmt.Sprintf("%.0f %%", 100*x)
}

func days(d time.Duration) string {
	if n := d / (24 * time.Hour); n >= 1 && d%(24*time.Hour) == 0 {
		if n == 1 {
			return "a day"
		}
		return fmt.Sprintf("%d days", n)
	}
	return d.String()
}
