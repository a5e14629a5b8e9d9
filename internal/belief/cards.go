package belief

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/confetti-dp/confetti/account"
)

// Strength is a promise in one word, and how many blocks of three stand for it.
type Strength struct {
	Word   string `json:"word"`
	Blocks int    `json:"blocks"`
}

// Colours names those of each strength, as properties of a style sheet: of a mark, of text, and of the ground below it.
const Colours = `:root {
  --strong: #007f5c; --strong-text: #00664a; --strong-tint: #e0f2ea; --moderate: #b87600; --moderate-text: #744900; --moderate-tint: #fcf0d6; --weak: #b83a0e; --weak-text: #9b2f0a; --weak-tint: #fceae2;
}
@media (prefers-color-scheme: dark) {
  :root {
    --strong: #3fbf94; --strong-text: #68d8b0; --strong-tint: #12291f; --moderate: #e0a93f; --moderate-text: #f0c268; --moderate-tint: #2b2310; --weak: #f07a50; --weak-text: #ff9f7c; --weak-tint: #331b13;
  }
}
.strong { --mark: var(--strong); --text: var(--strong-text); --tint: var(--strong-tint); }
.moderate { --mark: var(--moderate); --text: var(--moderate-text); --tint: var(--moderate-tint); }
.weak, .none { --mark: var(--weak); --text: var(--weak-text); --tint: var(--weak-tint); }
.strength { display: inline-flex; align-items: center; gap: 0.45rem; background: var(--tint); color: var(--text); font-size: 0.85rem; font-weight: 650; border-radius: 99px; padding: 0.15rem 0.7rem; }
.blocks { display: inline-flex; gap: 2px; } .blocks > span { width: 6px; height: 10px; border: 1px solid currentColor; border-radius: 2px; } .blocks .full { background: currentColor; }
`

// Full says of each of three blocks whether it is filled.
func (s Strength) Full() [3]bool { return [3]bool{s.Blocks > 0, s.Blocks > 1, s.Blocks > 2} }

// Epsilons, under replacement, up to which a promise is strong and moderate; and the delta above which it is none,
// whatever epsilon says.
const (
	strong, moderate = 1, 4
	lax              = 1e-5
)

// strength returns that of a guarantee: of the label alone, the label's.
func strength(g account.Guarantee) Strength {
	r, err := g.Under(account.Replacement)
	if g.Adjacency == account.Label {
		r, err = g, nil
	}
	switch {
	case err != nil || !r.Meaningful() || r.Delta > lax*(1+1e-9):
		return Strength{"None", 0}
	case r.Epsilon <= strong*(1+1e-9):
		return Strength{"Strong", 3}
	case r.Epsilon <= moderate*(1+1e-9):
		return Strength{"Moderate", 2}
	}
	return Strength{"Weak", 1}
}

// Card is one promise, and who it holds against: everybody of whom it says the same.
type Card struct {
	Title     string         `json:"title"`     // who looks, in a few words
	Who       []string       `json:"who"`       // and what they have
	Observers []string       `json:"observers"` // names of account
	Strength  Strength       `json:"strength"`
	Sure      string         `json:"sure"`    // "At most 74 % sure"
	Of        string         `json:"of"`      // answer, or label
	Verdict   string         `json:"verdict"` // an epsilon with its adjacency, or that there is none
	Meaning   string         `json:"meaning"`
	Note      string         `json:"note,omitempty"` // a restriction that nobody may miss
	Facts     []account.Fact `json:"-"`
	Kept      bool           `json:"kept"` // the promise says something
	// Low and High are what somebody who gave a statement about a person an even chance can
	// believe afterwards; From and To are they in words. All of it where there is no limit.
	Low  float64 `json:"low"`
	High float64 `json:"high"`
	From string  `json:"from,omitempty"`
	To   string  `json:"to,omitempty"`
}

// Width returns that of the belief's bar, in [0, 1].
func (c Card) Width() float64 { return c.High - c.Low }

// Cards returns one for each promise that differs, the strongest first. Beliefs are under replacement; of a guarantee
// of the label alone, about the label.
func Cards(all []account.Statement) []Card {
	var out []Card
	for _, s := range all {
		g := s.Guarantee
		c := Card{Title: Who(s.Observer), Who: []string{s.Who}, Observers: []string{s.Observer}, Strength: strength(g), Sure: "No limit to how sure", Of: "answer", Verdict: g.Verdict(), Meaning: g.Meaning(), Note: s.Note, Facts: g.Facts(), Kept: g.Meaningful(), High: 1}
		if g.Adjacency == account.Label {
			c.Of = "label"
		}
		if r, err := g.Under(account.Replacement); c.Kept && (err == nil && r.Meaningful() || g.Adjacency == account.Label) {
			c.Low, c.High = Believed(g, 0.5)
			c.From, c.To = fmt.Sprintf("%.4g\u00a0%%", math.Floor(1000*c.Low)/10), fmt.Sprintf("%.4g\u00a0%%", math.Ceil(1000*c.High)/10)
			c.Sure = sure(c.High)
		}
		if i := slices.IndexFunc(out, c.same); i >= 0 {
			first, size := utf8.DecodeRuneInString(c.Title)
			out[i].Title += ", and " + string(unicode.ToLower(first)) + c.Title[size:]
			out[i].Observers = append(out[i].Observers, s.Observer)
			if !slices.Contains(out[i].Who, s.Who) {
				out[i].Who = append(out[i].Who, s.Who)
			}
			continue
		}
		out = append(out, c)
	}
	slices.SortStableFunc(out, func(a, b Card) int {
		return cmp.Or(cmp.Compare(b.Strength.Blocks, a.Strength.Blocks), cmp.Compare(a.High, b.High))
	})
	return out
}

// same reports whether another card promises the same.
func (c Card) same(other Card) bool {
	return c.Verdict == other.Verdict && c.Low == other.Low && c.High == other.High && strings.TrimSpace(c.Note) == strings.TrimSpace(other.Note)
}

// sure says how sure somebody can become, rounded against the person.
func sure(high float64) string {
	percent := math.Ceil(100*high - 1e-9)
	if percent <= 98 {
		return fmt.Sprintf("At most %.0f\u00a0%% sure", percent)
	}
	if percent = math.Ceil(1000*high-1e-9) / 10; percent < 100 {
		return fmt.Sprintf("At most %.1f\u00a0%% sure", percent)
	}
	return "As good as certain"
}
