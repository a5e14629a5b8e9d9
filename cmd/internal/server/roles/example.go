package roles

import (
	"fmt"

	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/internal/service/aggregated"
	"github.com/confetti-dp/confetti/internal/service/analyzerd"
	"github.com/confetti-dp/confetti/internal/service/issuer"
	"github.com/confetti-dp/confetti/internal/service/planlog"
	"github.com/confetti-dp/confetti/internal/service/serve/example"
	"github.com/confetti-dp/confetti/internal/service/shufflerd"
)

type serveExample struct {
	Role string `arg:"" help:"shuffler, leader, helper, issuer, analyzer or log." enum:"shuffler,leader,helper,issuer,analyzer,log"`
}

func (serveExample) Help() string {
	return "Example:\n  confetti-server serve example shuffler"
}

func (c serveExample) Run(std terminal.Streams) error {
	text, err := Example(c.Role)
	if err == nil {
		_, err = fmt.Fprint(std.Out, text)
	}
	return err
}

// examples holds, for each role with a configuration, the struct that reads it.
var examples = []struct {
	role, about string
	config      any
}{
	{"shuffler", "A shuffler: one mixing operator, who may be several hops of several plans.", &shufflerd.Config{}},
	{"leader", "A leader: devices send it their answers in shares, and it adds up one of the two.", &aggregated.Config{}},
	{"helper", "A helper: it verifies what the leader brings, and adds up the other share.", &aggregated.Config{}},
	{"issuer", "An issuer: it signs one single-use token for each respondent and hop, blindly.", &issuer.Config{}},
	{"analyzer", "An analyzer: it opens the innermost envelopes, counts, and publishes releases.", &analyzerd.Config{}},
	{"log", "A public log of signed plans: everybody is shown the same, and can see that.", &planlog.Config{}},
}

// Example returns a role's configuration with every setting and what it is for.
func Example(role string) (string, error) {
	for _, e := range examples {
		if e.role == role {
			return example.Of(e.role, e.about, e.config)
		}
	}
	return "", fmt.Errorf("%q has no configuration", role)
}
