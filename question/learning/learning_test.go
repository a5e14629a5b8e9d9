package learning

import (
	"slices"
	"testing"

	"github.com/confetti-dp/confetti/internal/question/registry"
)

// An app that imports this package knows the kinds that teach a model, and those that they go by.
func TestAnAppThatTeachesKnowsTheseKinds(t *testing.T) {
	if got := registry.Names(); !slices.Equal(got, []string{"gradient", "histogram", "label", "latent", "vector"}) {
		t.Errorf("an app knows %v", got)
	}
}
