package histogram

import "github.com/confetti-dp/confetti/internal/question/registry"

func init() { registry.Register("histogram", Validate, New) }
