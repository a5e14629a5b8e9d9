package client

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/confetti-dp/confetti/dp/account"
	"github.com/confetti-dp/confetti/protocol"
)

// Charge is what answering a plan costs a respondent, under replacement: one
// person's answer exchanged for any other. A promise under removal is charged
// twice its epsilon, since a replacement is a removal and its reverse.
type Charge struct {
	// Epsilon and Delta hold as long as one hop of the shuffler is honest. They count
	// the crowd that the answer comes from where its size is private.
	Epsilon float64 `json:"epsilon"`
	Delta   float64 `json:"delta"`
	// Local is the epsilon that holds though everyone colludes; negative where
	// there is no limit. Of report fragments it is that of the backstop they come
	// from, which bounds the fragments of all later plans too.
	Local float64 `json:"local"`
}

// unlimited is a Charge's Local where everyone together learns without limit.
// JSON has no infinity.
const unlimited = -1

// charge reads off a plan's promise, and off what it keeps on the device (nil:
// nothing), what it costs, what it costs against who opens a single message and sees the
// others among everybody's (a negative epsilon: without limit), and what the promise leaves out.
func charge(p protocol.Promise, shuffled account.Guarantee, kept *protocol.Backstop) (c, oneMessage Charge, note string, err error) {
	if c.Epsilon, c.Delta = replaced(shuffled); shuffled.Trust != account.Shuffled {
		return Charge{}, Charge{}, "", errNoGuarantee
	}
	said := map[account.Trust]bool{}
	for _, s := range p.Statements {
		said[s.Guarantee.Trust] = true
		epsilon, delta := replaced(s.Guarantee)
		switch s.Guarantee.Trust {
		case account.Local:
			c.Local = worse(c.Local, epsilon)
		case account.OneFragment:
			oneMessage = Charge{Epsilon: worse(oneMessage.Epsilon, epsilon), Delta: math.Max(oneMessage.Delta, delta)}
			note = s.Note
		}
	}
	if kept != nil {
		c.Local = above(kept.Epsilon)
	}
	if !said[account.Local] || !said[account.OneFragment] || !c.valid() {
		return Charge{}, Charge{}, "", errNoGuarantee
	}
	return c, oneMessage, note, nil
}

var errNoGuarantee = errors.New("client: the plan gives no guarantee that could be charged")

// replaced states a guarantee under replacement: of two removals in a row the
// second acts on what the first let through.
func replaced(g account.Guarantee) (epsilon, delta float64) {
	if h, err := g.Under(account.Replacement); err == nil {
		return above(h.Epsilon), math.Min(1, above(h.Delta))
	}
	return math.Inf(1), 1
}

// worse is the larger of two epsilons, the first as it is kept.
func worse(kept, epsilon float64) float64 {
	if kept < 0 || math.IsInf(epsilon, 1) {
		return unlimited
	}
	return math.Max(kept, epsilon)
}

// plus is basic composition: epsilons and deltas add up, and the sum is rounded
// against the respondent.
func (c Charge) plus(d Charge) Charge {
	sum := Charge{Epsilon: above(c.Epsilon + d.Epsilon), Delta: above(c.Delta + d.Delta), Local: unlimited}
	if c.Local >= 0 && d.Local >= 0 {
		sum.Local = above(c.Local + d.Local)
	}
	return sum
}

// valid charges are what charge gives.
func (c Charge) valid() bool {
	return c.Epsilon >= 0 && !math.IsInf(c.Epsilon, 1) && c.Delta >= 0 && c.Delta <= 1 && (c.Local >= 0 || c.Local == unlimited)
}

func above(x float64) float64 {
	if x == 0 {
		return 0
	}
	return math.Nextafter(x, math.Inf(1))
}

// Caps limit what a device spends. A plan that would exceed one is refused
// before anything is drawn, whatever the value (afford).
type Caps struct {
	Plan Cap // one plan
	// Window caps all plans within Period. Where it has a Local, an answer in report
	// fragments stands for its question that long, though the value changes meanwhile:
	// a second backstop would have to be charged, and a device that refuses where a
	// value is new would tell by its silence that it is.
	Window Cap
	Period time.Duration
}

// Cap limits a charge. Zero fields have no limit.
type Cap struct {
	Epsilon float64 `json:"epsilon,omitempty"`
	Delta   float64 `json:"delta,omitempty"`
	Local   float64 `json:"local,omitempty"` // of what holds though everyone colludes
}

// DefaultCaps are an epsilon of 20 a plan and in all plans of thirty days, beyond
// which the accountant calls a guarantee meaningless, at a delta of 1 in 1,000.
var DefaultCaps = Caps{
	Plan:   Cap{Epsilon: account.Meaningless, Delta: 1e-3},
	Window: Cap{Epsilon: account.Meaningless, Delta: 1e-3},
	Period: 30 * 24 * time.Hour,
}

// SpentError refuses a plan that would spend more than a cap allows.
type SpentError struct {
	Of     string // "one plan", or "all plans within ..."
	What   string // "epsilon", "delta", "epsilon though everyone colludes"
	Spent  float64
	Asked  float64 // infinite where there is no limit
	Limit  float64
	Remedy string
}

// Error names the cap, what was spent and what was asked.
func (e *SpentError) Error() string {
	return fmt.Sprintf("client: refused: %s may spend %s %.4g; %.4g is spent and the plan asks for %.4g: %s", e.Of, e.What, e.Limit, e.Spent, e.Asked, e.Remedy)
}

func (c Cap) allow(of, remedy string, spent, asked Charge) error {
	sum := spent.plus(asked)
	for _, l := range []struct {
		what                     string
		limit, spent, asked, sum float64
	}{
		{"epsilon", c.Epsilon, spent.Epsilon, asked.Epsilon, sum.Epsilon},
		{"delta", c.Delta, spent.Delta, asked.Delta, sum.Delta},
		{"epsilon though everyone colludes", c.Local, limitless(spent.Local), limitless(asked.Local), limitless(sum.Local)},
	} {
		// The sum was rounded up; a cap that it meets exactly should hold.
		if l.limit > 0 && l.sum > l.limit*(1+1e-12) {
			return &SpentError{Of: of, What: l.what, Spent: l.spent, Asked: l.asked, Limit: l.limit, Remedy: remedy}
		}
	}
	return nil
}

func limitless(local float64) float64 {
	if local < 0 {
		return math.Inf(1)
	}
	return local
}
