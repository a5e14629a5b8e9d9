package planlog

import (
	"testing"

	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/service/serve/servetest"
)

func FuzzConfig(f *testing.F) {
	servetest.FuzzConfig(f, "../../../deploy/config/log.toml", func(c *Config) serve.Path { return c.Keys })
}
