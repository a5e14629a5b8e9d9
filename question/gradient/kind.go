package gradient

import "github.com/confetti-dp/confetti/question"

func init() { question.Register("gradient", validate, newQuestion) }
