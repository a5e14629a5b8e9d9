package trends

import (
	"testing"
	"time"

	"github.com/confetti-dp/confetti/client"
	"github.com/confetti-dp/confetti/internal/release/statement"
	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/plan"
)

// Questions that have no trend are refused in these words, with what to do instead; those of shares and of experiments have one.
func TestWhatHasNoTrendIsRefused(t *testing.T) {
	const withheld = "no round has a table of respondents: all were withheld, and there is no trend to draw"
	for _, c := range []struct {
		plan plan.Plan
		want string
	}{
		{example.Strings(), "a trend is of shares of values that a plan names, or of lifts of an experiment; a question of kind strings has neither: see each round with confetti release show, or all in the console"},
		{example.Table(), "a trend is of shares of values that a plan names, or of lifts of an experiment; a question of kind table has neither: see each round with confetti release show, or all in the console"},
		{example.Yearly(t, 12, 1, 1, plan.NoiseAggregators), "its rounds are correlated, and the newest release tells of all of them: see it with confetti release show"},
		{example.Histograms()["sample"], withheld},
		{example.Experiment(), withheld},
	} {
		if got := untold(c.plan).Error(); got != c.want {
			t.Errorf("%s: %s", c.plan.Question.Kind, got)
		}
	}
}

// The cap that a page names is a device's own.
func TestTheCapIsADevices(t *testing.T) {
	if c := client.DefaultCaps; c.Window.Epsilon != statement.Cap || c.Window.Delta != statement.CapDelta || c.Period != statement.CapDays*24*time.Hour {
		t.Errorf("%+v", c)
	}
}
