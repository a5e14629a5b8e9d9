package bitnoise

import (
	"cmp"
	"math"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/pld"
	"github.com/confetti-dp/confetti/internal/account/profile"
	"github.com/confetti-dp/confetti/internal/account/theorems"
)

// Pure is a bitsum protocol with delta = 0, after Ghazi, Kumar, Manurangsi 2023
// as KDE uses it. The paper's flood was not at hand: the message layout and the
// flood below are ours, with the proof. With e' = Epsilon - Theta each of Users
// respondents with bit x
//
//   - drops out with probability Drop, else sends Size+x messages +1, Size -1;
//   - adds z1 ~ NB(1/n, e^-e') messages +1 and z2, alike, -1: the noise;
//   - adds z3 = sum over j = 1..Size of j Poisson(e^(Theta j)/(j n)) of both: the flood.
//
// The bit counts only with probability 1-Drop, so the estimate is divided by it.
//
// Proof. Let P3 be the law of the total flood and G(a, b) that of the total
// noise and flood, (1-e^-e')^2 e^(-e'|a-b|) sum over c <= min(a,b) of
// e^(-2e'(min-c)) P3(c). The generating function gives c P3(c) = sum over j <=
// min(c,s) of e^(Theta j) P3(c-j), s = Size; so P3(c) = P3(0) e^(Theta c) up to
// c = s, and P3(c) <= e^Theta P3(c-1) always. Given which others drop out,
// neighbours compare (1-q) G(a-s, b-s) + q G(a, b) with (1-q) G(a-s-1, b-s) +
// q G(a, b), q = Drop. In one direction G(a-1, b) <= e^e' G(a, b). In the other,
// G(a, b) - e^Epsilon G(a-1, b) is at most const P2(b-a) P3(0) e^(-2e'a) for b >=
// a >= 0 and not positive otherwise, while q (e^Epsilon-1) G(a+s, b+s) is at
// least that const times P2(b-a) q (e^Epsilon-1) e^(-2e'a) sum over i <= s of
// e^(-2e'i) P3(s-i). So Epsilon-DP follows from
//
//	1-q <= q (e^Epsilon-1) e^(Theta s) (1-r^(s+1))/(1-r),  r = e^-(2e'+Theta).
type Pure struct {
	Users   int     `json:"users"`
	Epsilon float64 `json:"epsilon"`
	Theta   float64 `json:"theta"`
	Drop    float64 `json:"drop"`
	Size    int     `json:"size"`
}

const pureName = theorems.Theorem("pure bitsum protocol")

func (e Pure) parameters() error {
	return cmp.Or(pureName.Count("users", e.Users),
		pureName.Need(e.Epsilon >= 1e-9 && e.Epsilon <= 100, "epsilon from 1e-9 to 100: it is %v", e.Epsilon),
		pureName.Need(e.Theta > 0 && e.Theta < e.Epsilon, "0 < theta < epsilon = %v: it is %v", e.Epsilon, e.Theta),
		pureName.Need(e.Drop > 0 && e.Drop < 1, "a drop probability 0 < q < 1: it is %v", e.Drop))
}

// holds returns the condition of the proof, rounded against us.
func (e Pure) holds() bool {
	exponent := 2*(e.Epsilon-e.Theta) + e.Theta
	flood := math.Log(-math.Expm1(-exponent*float64(e.Size+1)) / -math.Expm1(-exponent))
	right := math.Log(e.Drop) + math.Log(math.Expm1(e.Epsilon)) + e.Theta*float64(e.Size) + flood
	return math.Log1p(-e.Drop) <= right-1e-12*(1+math.Abs(right))
}

func (e Pure) Terms() (account.Guarantee, error) {
	if err := cmp.Or(e.parameters(), pureName.Count("size", e.Size),
		pureName.Need(e.holds(), "1-q <= q (e^epsilon-1) e^(theta s) (1-r^(s+1))/(1-r), r = e^-(2 epsilon - theta), which s = %d misses", e.Size)); err != nil {
		return account.Guarantee{}, err
	}
	return account.Guarantee{
		Adjacency: account.Replacement, Trust: account.Shuffled, Users: e.Users, Rounds: 1, Bound: account.Upper,
		Method: "pure protocol, optimal composition", Source: "proof at Pure; Kairouz, Oh, Viswanath 2015",
	}, nil
}

// Guarantee of a number of rounds with delta = 0: they add up. Epsilon(Repeat)
// is smaller, for delta > 0.
func (e Pure) Guarantee(rounds int) (account.Guarantee, error) {
	g, err := account.Repeat{Event: e, Rounds: rounds}.Terms()
	if err != nil {
		return account.Guarantee{}, err
	}
	g.Epsilon = profile.Raised(float64(rounds) * e.Epsilon)
	g.Method = "pure protocol, basic composition"
	return g, nil
}

func (e Pure) Profile(rounds int, o account.Options) (profile.Curve, account.Bound, error) {
	if o.Lower {
		return nil, "", nil
	}
	k, err := profile.NewOptimal(e.Epsilon, 0, rounds)
	return k, account.Upper, err
}

func (e Pure) Spread() float64 { return e.Epsilon }

// Distributions returns the pair that dominates every pure mechanism.
func (e Pure) Distributions(o account.Options) ([]*pld.Distribution, error) {
	if o.Lower {
		return nil, &account.Unsupported{Event: e, Reason: "no lower bound is known"}
	}
	keep := 1 / (1 + math.Exp(-e.Epsilon))
	d, err := pld.FromAtoms([]pld.Atom{{Loss: e.Epsilon, Mass: keep}, {Loss: -e.Epsilon, Mass: 1 - keep}}, 0, o.Step)
	return []*pld.Distribution{d}, err
}

// maxPureSize bounds the messages of one respondent.
const maxPureSize = 1 << 30

// NewPure returns the protocol with the least Size that its proof allows for n users.
func NewPure(n int, epsilon, theta, drop float64) (Pure, error) {
	e := Pure{Users: n, Epsilon: epsilon, Theta: theta, Drop: drop, Size: 1}
	if err := e.parameters(); err != nil {
		return Pure{}, err
	}
	for ; !e.holds(); e.Size *= 2 {
		if e.Size > maxPureSize {
			return Pure{}, pureName.Outside(math.NaN(), "a size up to %d for theta %v, q %v", maxPureSize, theta, drop)
		}
	}
	low, high := e.Size/2, e.Size // the condition grows easier with s
	for high-low > 1 {
		if e.Size = low + (high-low)/2; e.holds() {
			high = e.Size
		} else {
			low = e.Size
		}
	}
	e.Size = high
	return e, nil
}

// PublishedPure has the drop probability and Theta of KDE's authors, who cite
// Ghazi, Kumar and Manurangsi 2023, Section 4.4: q = 0.2 rho/(e^epsilon
// (1-e^-epsilon)^2 n), Theta = 0.01 rho min(epsilon, 1), rho in (0, 1/2]. When
// epsilon is a small share of a budget q exceeds one and there is no protocol:
// an error (theirs drops every bit there).
func PublishedPure(n int, epsilon, rho float64) (Pure, error) {
	if err := cmp.Or(pureName.Count("n", n), pureName.Epsilon("epsilon", epsilon),
		pureName.Need(rho > 0 && rho <= 0.5, "0 < rho <= 1/2: it is %v", rho)); err != nil {
		return Pure{}, err
	}
	s := -math.Expm1(-epsilon)
	q := 0.2 * rho / (math.Exp(epsilon) * s * s * float64(n))
	if !(q < 1) {
		return Pure{}, pureName.Outside(q, "q = 0.2 rho/(e^epsilon (1-e^-epsilon)^2 n) < 1: it is %.6g (n = %d, epsilon = %.6g)", q, n, epsilon)
	}
	return NewPure(n, epsilon, 0.01*rho*math.Min(epsilon, 1), q)
}

// MessagesPerUser returns the mean number of messages beyond the input bit.
func (e Pure) MessagesPerUser() float64 {
	n := float64(e.Users)
	// sum of e^(Theta j), j = 1..Size
	flood := math.Exp(e.Theta) * math.Expm1(e.Theta*float64(e.Size)) / math.Expm1(e.Theta)
	return 2*float64(e.Size)*(1-e.Drop) + 2/(math.Expm1(e.Epsilon-e.Theta)*n) + 2*flood/n
}

// RMSE returns that of the estimate when `ones` users hold a one.
func (e Pure) RMSE(ones int) float64 {
	p := e.Epsilon - e.Theta
	s := -math.Expm1(-p)
	return math.Sqrt(2*math.Exp(-p)/(s*s)+float64(ones)*e.Drop*(1-e.Drop)) / (1 - e.Drop)
}
