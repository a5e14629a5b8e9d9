package density

import "github.com/confetti-dp/confetti/internal/question/registry"

func init() { registry.Register("density", validate, newQuestion) }
