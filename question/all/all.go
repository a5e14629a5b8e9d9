// Package all imports every kind of question: it is the one table of kinds. Used by cmd/confetti and
// cmd/confetti-web, which know every kind.
package all

import (
	_ "github.com/confetti-dp/confetti/internal/question/gradient"
	_ "github.com/confetti-dp/confetti/internal/question/label"
	_ "github.com/confetti-dp/confetti/internal/question/latent"
	_ "github.com/confetti-dp/confetti/question/density"
	_ "github.com/confetti-dp/confetti/question/experiment"
	_ "github.com/confetti-dp/confetti/question/histogram"
	_ "github.com/confetti-dp/confetti/question/strings"
	_ "github.com/confetti-dp/confetti/question/table"
	_ "github.com/confetti-dp/confetti/question/vector"
)
