package vectors

import (
	"cmp"
	"fmt"
	"math"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/pld"
	"github.com/confetti-dp/confetti/internal/account/profile"
	"github.com/confetti-dp/confetti/internal/account/theorems"
	"github.com/confetti-dp/confetti/internal/prob"
)

// SecretRows is VectorResponse where a device answers few of the rows: each by a coin
// of its own, of probability Answered/Rows, whose outcome it keeps to itself. It
// sends a constant number of envelopes, of which those that hold no answer say so when
// they are opened. The observer sees of each row how many answered it, and how many of
// the answers are ones.
//
// What hides a respondent are Honest others who do the same; what others send, and how
// many answers arrive, is of no account. Each round draws rows afresh. The proof, and
// what it does not cover, is in docs/secret-rows.md.
type SecretRows struct {
	// Honest respondents, of those whose numbers are promised, do as the plan says.
	Honest int `json:"honest"`
	Rows   int `json:"rows"`
	// Answered is the mean number of rows that a device answers.
	Answered int `json:"answered"`
	// Envelopes that a device sends, whatever it answers. Answers that find no room are
	// dropped: with that chance nothing is promised.
	Envelopes int     `json:"envelopes"`
	Flip      float64 `json:"flip_probability"`
	// SquaredGap bounds the sum over all rows of the squared moves of an answer's
	// probability, before the flips: Rows Delta^2/(4 R^2) for vectors at a distance of at
	// most Delta whose coordinates are clipped at R deviations.
	SquaredGap float64 `json:"squared_gap"`
	// Rare is the chance, charged to delta, that more devices answer the rows that
	// matter than is accounted for.
	Rare float64 `json:"rare"`

	// What follows is refused, with the reason, unless it is as the proof has it.
	Choice    RowChoice         `json:"choice,omitempty"`
	Adjacency account.Adjacency `json:"adjacency,omitempty"` // none stands for Replacement
	// HiddenSizes: the number of respondents is itself to be hidden.
	HiddenSizes bool `json:"hidden_sizes,omitempty"`
}

// RowChoice is how a device comes by the rows that it answers.
type RowChoice string

const (
	OwnCoins    RowChoice = ""             // each row by a coin of its own, in secret
	FixedNumber RowChoice = "fixed number" // a random set of a fixed number of rows
	PublicRows  RowChoice = "public"       // rows that somebody else knows or can link
)

// refused says what the proof does not cover.
func (e SecretRows) refused() string {
	switch {
	case e.Choice == FixedNumber:
		return "with a fixed number of rows a device's rows depend on each other, and the bound for independent ones is exceeded (docs/vector-rr.md, 6.6): let each row be answered by a coin of its own"
	case e.Choice == PublicRows:
		return "whoever knows which rows a device answers, or can link them, sees its gaps undiminished: let the device draw its rows in secret, afresh in each round"
	case e.Choice != OwnCoins:
		return fmt.Sprintf("no way to choose rows is called %q", e.Choice)
	case e.HiddenSizes:
		return "the proof takes the number of respondents as known: rows cannot be secret where sizes of crowds are private"
	case e.Adjacency == account.Removal:
		return "a respondent who is removed answers no rows, and how many answered a row is seen: take replacement, which covers a respondent who answers with fair bits"
	case e.Adjacency != "" && e.Adjacency != account.Replacement:
		return fmt.Sprintf("no adjacency is called %q", e.Adjacency)
	}
	return ""
}

const secretName = theorems.Theorem("secret rows")

func (e SecretRows) Terms() (account.Guarantee, error) {
	if why := e.refused(); why != "" {
		return account.Guarantee{}, &account.Unsupported{Event: e, Reason: why}
	}
	err := cmp.Or(secretName.Count("honest respondents", e.Honest), secretName.Count("rows", e.Rows),
		secretName.Need(e.Honest <= account.MaxUsers && e.Rows <= account.MaxUsers, "up to %d respondents and rows: they are %d and %d", account.MaxUsers, e.Honest, e.Rows),
		secretName.Need(e.Answered >= 1 && e.Answered <= e.Rows, "1 to %d rows answered, on average: they are %d", e.Rows, e.Answered),
		secretName.Need(e.Envelopes >= e.Answered && e.Envelopes <= e.Rows, "a constant number of envelopes, from the %d answers to the %d rows: it is %d", e.Answered, e.Rows, e.Envelopes),
		secretName.Need(e.Rare > 0 && e.Rare < 1 || e.all(), "a chance that rows are crowded, in (0, 1): it is %v", e.Rare),
		secretName.Need(e.Flip >= minVectorFlip && e.Flip < 0.5, "a flip probability from %v to below 1/2: it is %v", minVectorFlip, e.Flip),
		secretName.Need(e.SquaredGap >= 1e-12 && e.SquaredGap <= account.MaxUsers, "a sum of squared gaps from 1e-12 to %d: it is %v", account.MaxUsers, e.SquaredGap))
	if err == nil {
		err = secretName.Need(e.expected() >= 1, "somebody to answer each row: %d of %d rows by %d respondents are fewer than one", e.Answered, e.Rows, e.Honest)
	}
	if err != nil {
		return account.Guarantee{}, err
	}
	return account.Guarantee{
		Adjacency: account.Replacement, Trust: account.Shuffled, Users: e.Honest, Rounds: 1, Bound: account.Upper,
		Method: "rows answered in secret, as vector-valued randomized response of those expected to answer a row",
		Source: "docs/vector-rr.md, section 6",
	}, nil
}

// all says whether every row is answered, so that nothing is left to chance.
func (e SecretRows) all() bool { return e.Answered == e.Rows }

func (e SecretRows) share() float64 { return float64(e.Answered) / float64(e.Rows) }

// expected is u, the number of honest answers to a row that is accounted for.
func (e SecretRows) expected() int { return int(int64(e.Honest) * int64(e.Answered) / int64(e.Rows)) }

// vector returns what a round is dominated by, but for what failures charges.
func (e SecretRows) vector() VectorResponse {
	return VectorResponse{Users: e.expected(), Coordinates: e.Rows, Flip: e.Flip, SquaredGap: e.thinned()}
}

// failures returns the chance that rows are crowded, and the chance that some honest device
// has more answers than envelopes.
func (e SecretRows) failures() (rare, overflow float64) {
	if e.all() {
		return 0, 0
	}
	beyond := prob.LogBinomialSurvival(e.Envelopes, e.Rows, e.share())
	return e.Rare, profile.Raised(float64(e.Honest) * math.Exp(beyond))
}

func (e SecretRows) Certificate(o account.Options) string {
	if o.Lower {
		return "some data sets only"
	}
	return e.vector().Certificate(o)
}

func (e SecretRows) Profile(rounds int, o account.Options) (profile.Curve, account.Bound, error) {
	if o.Lower {
		return e.wholeGaps(rounds, o)
	}
	c, _, err := e.vector().Profile(rounds, o)
	rare, overflow := e.failures()
	return failing{c, float64(rounds) * rare, float64(rounds) * overflow}, account.Upper, err
}

// failing is a curve of what is not quite the mechanism: with the chance rare it is
// another one in both worlds alike, and its outcomes in either world differ from the
// actual ones with the chance overflow.
type failing struct {
	profile.Curve
	rare, overflow float64
}

func (f failing) Delta(epsilon float64) (float64, error) {
	d, err := f.Curve.Delta(epsilon)
	return math.Min(1, profile.Raised(d+f.rare+(1+math.Exp(epsilon))*f.overflow)), err
}

// Epsilon climbs to the least E with E >= Epsilon(delta - rare - (1+e^E) overflow) of
// the mechanism, and ends above it.
func (f failing) Epsilon(delta float64) (float64, error) {
	for above := 0.0; ; {
		left := delta - f.rare - (1+math.Exp(above))*f.overflow
		if !(left > 0) {
			return math.Inf(1), nil
		}
		epsilon, err := f.Curve.Epsilon(left)
		if err != nil || epsilon <= above || math.IsInf(epsilon, 1) {
			return above, err
		}
		above = epsilon
		if f.overflow > 0 {
			above *= 1 + 1e-9
		}
	}
}

func (e SecretRows) Spread() float64 { return e.vector().Spread() }

// Distributions returns the pair that dominates a round, for compositions with others.
func (e SecretRows) Distributions(o account.Options) ([]*pld.Distribution, error) {
	if o.Lower {
		return nil, &account.Unsupported{Event: e, Reason: "no lower bound of its composition with other mechanisms"}
	}
	d, ok := e.gaussian(1, o.Neglect*tailShare)
	if !ok {
		return nil, &account.Unsupported{Event: e, Reason: "no loss distribution at these parameters: the counts' deviation is too small"}
	}
	h := profile.Sample(profile.Normal(d.Shift).Hockey, o.Step, o.Neglect)
	for i, one := range h { // afterwards: with its tail it would never fall to the neglected
		h[i] = d.Tail + (1-d.Tail)*one
	}
	p, err := pld.FromCurves(h, h, o.Step)
	return []*pld.Distribution{p}, err
}

// gaussian dominates so many rounds, with a tail that is charge and what failures take.
// Not ok where nothing is proved.
func (e SecretRows) gaussian(rounds int, charge float64) (d account.Domination, ok bool) {
	d, ok = e.vector().Dominated(rounds, charge)
	rare, overflow := e.failures()
	return d.Failing(float64(rounds) * rare).Spoilt(float64(rounds) * overflow), ok
}

// Dominated is not ok where the tail has no room for the failures.
func (e SecretRows) Dominated(rounds int, tail float64) (d account.Domination, ok bool) {
	rare, _ := e.failures()
	if left := tail - float64(rounds)*rare; left > 0 {
		d, ok = e.gaussian(rounds, left/2) // half for what overflows
	}
	return d, ok && d.Tail <= tail
}

func (e SecretRows) shifted() (v VectorResponse, rare, overflow float64) {
	rare, overflow = e.failures()
	return e.vector(), rare, overflow
}
