package gradient

import "github.com/confetti-dp/confetti/internal/question/registry"

func init() { registry.Register("gradient", validate, newQuestion) }
