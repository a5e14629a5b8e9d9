package density

import "github.com/confetti-dp/confetti/internal/question"

// The abilities that protocol finds by assertion: one whose signature changed does not compile
// here.
var (
	_ question.Estimated = (*Question)(nil)
	_ question.Parser    = (*Question)(nil)
	_ question.Summer    = (*Question)(nil)
	_ question.Describer = (*Question)(nil)
)
