package density

import "github.com/confetti-dp/confetti/question"

func init() { question.Register("density", validate, New) }
