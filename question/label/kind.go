package label

import "github.com/confetti-dp/confetti/question"

func init() { question.Register("label", validate, newQuestion) }
