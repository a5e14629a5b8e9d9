package latent

import "github.com/confetti-dp/confetti/question"

func init() { question.Register("latent", validate, New) }
