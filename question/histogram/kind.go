package histogram

import "github.com/confetti-dp/confetti/question"

func init() { question.Register("histogram", Validate, New) }
