package results

import (
	"fmt"

	"github.com/confetti-dp/confetti/internal/release/numerals"
	"github.com/confetti-dp/confetti/plan"
)

// Offer is one thing that a question asks, with the answers that it has room for.
type Offer struct {
	Name    string
	Answers []string // in their order; none where they are not names
	Form    string   // in words, what an answer is
}

// Compared returns the experiment that a question asks for, or nil.
func Compared(q plan.Question) *plan.Experiment { return q.Experiment }

// Offered returns what a question asks of a respondent, as far as that is said by names; nil of
// questions whose answers are numbers that no person writes.
func Offered(q plan.Question) []Offer {
	if q.Histogram == nil {
		return nil
	}
	var all []Offer
	for _, a := range q.Histogram.Attributes {
		o := Offer{Name: a.Name, Answers: a.Values}
		switch a.Kind {
		case "categories":
			o.Form = "one of these"
			if len(a.Values) == 0 {
				o.Form = fmt.Sprintf("one of %s values", numerals.FormatNumber(float64(a.Size)))
			}
		case "set":
			o.Form = fmt.Sprintf("at most %d of these", a.Most)
			if len(a.Values) == 0 {
				o.Form = fmt.Sprintf("at most %d of %s values", a.Most, numerals.FormatNumber(float64(a.Size)))
			}
		case "buckets":
			o.Form = fmt.Sprintf("a number from %s to %s, told in %d steps", numerals.FormatNumber(a.Low), numerals.FormatNumber(a.High), a.Cells)
		case "grid":
			o.Form = fmt.Sprintf("a place, told as one of %d by %d squares", a.X.Cells, a.Y.Cells)
		}
		if a.Others {
			o.Form += ", or something else"
		}
		all = append(all, o)
	}
	return all
}
