package gradient

import "github.com/confetti-dp/confetti/internal/question"

// The abilities that protocol finds by assertion: one whose signature changed does not compile
// here.
var (
	_ question.Parser    = (*Question)(nil)
	_ question.Stateful  = (*Question)(nil)
	_ question.Stepper   = (*Question)(nil)
	_ question.Summer    = (*Question)(nil)
	_ question.Comparer  = (*Question)(nil)
	_ question.Describer = (*Question)(nil)
)
