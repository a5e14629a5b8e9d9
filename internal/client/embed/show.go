package embed

import (
	"time"

	"github.com/confetti-dp/confetti/client"
	"github.com/confetti-dp/confetti/client/metrics"
	"github.com/confetti-dp/confetti/plan"
)

// Shown lists the seasons of an app as its device has them, as data and in words.
type Shown struct {
	Seasons metrics.Showing `json:"seasons"`
	Words   string          `json:"words"`
}

// Show returns what an app keeps in a store, by what chance it would be told, and what was said. It draws no answer.
func Show(app *metrics.App, s client.Store) (Shown, error) {
	r, err := metrics.Parse(app.Registry, plan.Trust(app.Publishers...))
	if err != nil {
		return Shown{}, err
	}
	all, err := metrics.Show(s, r, time.Now())
	return Shown{all, all.String()}, err
}
