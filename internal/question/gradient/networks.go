package gradient

import (
	"fmt"
	"slices"

	"github.com/confetti-dp/confetti/internal/nn"
	"github.com/confetti-dp/confetti/plan"
)

// network returns the layers of a named model of examples of so many numbers in so many
// classes.
func network(name string, dimension, classes int) ([]nn.Layer, error) {
	switch name {
	case "linear":
		return []nn.Layer{nn.Dense{In: dimension, Out: classes, Silent: true}}, nil
	case "xiii":
		return of(nn.ESATableXIII(classes), name, dimension)
	case "xiv":
		return of(nn.ESATableXIV(classes), name, dimension)
	}
	return nil, fmt.Errorf("gradient: no model is named %q: choose one of %v", name, plan.Networks)
}

// of are layers that take examples of so many numbers.
func of(layers []nn.Layer, name string, dimension int) ([]nn.Layer, error) {
	if in, _, _ := layers[0].Shape(); in != dimension {
		return nil, fmt.Errorf("gradient: model %s takes pictures of %d numbers, not %d", name, in, dimension)
	}
	return layers, nil
}

// same reports whether a model has these layers.
func same(m *nn.Model, layers []nn.Layer) bool { return slices.Equal(m.Layers, layers) }
