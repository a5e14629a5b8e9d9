package vector

import "github.com/confetti-dp/confetti/question"

func init() { question.Register("vector", Validate, New) }
