// Package all imports every kind of question: for programs that take any plan. It is the one
// table of kinds.
package all

import (
	_ "github.com/confetti-dp/confetti/question/density"
	_ "github.com/confetti-dp/confetti/question/gradient"
	_ "github.com/confetti-dp/confetti/question/histogram"
	_ "github.com/confetti-dp/confetti/question/label"
	_ "github.com/confetti-dp/confetti/question/latent"
	_ "github.com/confetti-dp/confetti/question/vector"
)
