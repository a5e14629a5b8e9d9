package label

import "github.com/confetti-dp/confetti/internal/question/registry"

func init() { registry.Register("label", validate, newQuestion) }
