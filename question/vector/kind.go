package vector

import "github.com/confetti-dp/confetti/internal/question/registry"

func init() { registry.Register("vector", Validate, New) }
