package latent

import "github.com/confetti-dp/confetti/internal/question/registry"

func init() { registry.Register("latent", validate, New) }
