package design

import (
	"maps"
	"slices"
	"testing"

	"github.com/confetti-dp/confetti/internal/question/registry"
	_ "github.com/confetti-dp/confetti/question/all"
)

// Whatever kind a plan may ask for, its author is given the noise of.
func TestEveryKindIsDesigned(t *testing.T) {
	if got, want := slices.Sorted(maps.Keys(designs())), registry.Names(); !slices.Equal(got, want) {
		t.Errorf("designs are of %v, and kinds are %v", got, want)
	}
}
