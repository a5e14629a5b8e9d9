// Package learning imports the kinds of question whose answers teach a model: gradient, label and latent. Used by
// apps that answer these alone.
package learning

import (
	_ "github.com/confetti-dp/confetti/internal/question/gradient"
	_ "github.com/confetti-dp/confetti/internal/question/label"
	_ "github.com/confetti-dp/confetti/internal/question/latent"
)
