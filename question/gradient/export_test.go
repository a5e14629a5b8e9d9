package gradient

import "github.com/confetti-dp/confetti/question"

// Told is the gradient in a symbol.
func Told(s question.Symbol) []float64 { return s.(symbol) }
