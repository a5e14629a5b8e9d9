package gradient

import (
	"fmt"
	"slices"

	"github.com/confetti-dp/confetti/internal/nn"
	"github.com/confetti-dp/confetti/plan"
)

// network is the layers of a named model of examples of so many numbers in so many
// classes.
func network(name string, dimension, classes int) ([]nn.Layer, error) {
	switch name {
	case "linear":
		return []nn.Layer{nn.Dense{In: dimension, Out: classes, Silent: true}}, nil
	case "xiii":
		return tableXIII(dimension, classes)
	case "xiv":
		return tableXIV(dimension, classes)
	}
	return nil, fmt.Errorf("gradient: no model is named %q: choose one of %v", name, plan.Networks)
}

// tableXIII is ESA's for MNIST and Fashion-MNIST: 26,010 numbers where there are ten
// classes. That is so where the first convolution gives a picture of 14x14, squares of 2x2
// are pooled side by side with a stride of one, and the second convolution is not padded.
func tableXIII(dimension, classes int) ([]nn.Layer, error) {
	const side = 28
	if dimension != side*side {
		return nil, fmt.Errorf("gradient: model xiii takes pictures of %d numbers, not %d", side*side, dimension)
	}
	return []nn.Layer{
		nn.Conv{Height: side, Width: side, Channels: 1, Filters: 16, Kernel: 8, Stride: 2, Pad: 3, After: 3},
		nn.ReLU{Size: 14 * 14 * 16},
		nn.MaxPool{Height: 14, Width: 14, Channels: 16, Kernel: 2, Stride: 1},
		nn.Conv{Height: 13, Width: 13, Channels: 16, Filters: 32, Kernel: 4, Stride: 2},
		nn.ReLU{Size: 5 * 5 * 32},
		nn.MaxPool{Height: 5, Width: 5, Channels: 32, Kernel: 2, Stride: 1},
		nn.Dense{In: 4 * 4 * 32, Out: 32}, nn.ReLU{Size: 32},
		nn.Dense{In: 32, Out: classes},
	}, nil
}

// tableXIV is ESA's for CIFAR-10, which says nothing of padding: pictures keep their size in
// convolutions here, and are halved by pooling. It learns 8,686,890 numbers, of which the paper
// learns the last layer's 10,250 privately.
func tableXIV(dimension, classes int) ([]nn.Layer, error) {
	const side = 32
	if dimension != side*side*3 {
		return nil, fmt.Errorf("gradient: model xiv takes pictures of %d numbers, not %d", side*side*3, dimension)
	}
	var layers []nn.Layer
	at, channels := side, 3
	for block, filters := range []int{32, 64, 128} {
		for range 2 {
			layers = append(layers,
				nn.Conv{Height: at, Width: at, Channels: channels, Filters: filters, Kernel: 3, Stride: 1, Pad: 1, After: 1},
				nn.ReLU{Size: at * at * filters})
			channels = filters
		}
		if block < 2 {
			layers = append(layers, nn.MaxPool{Height: at, Width: at, Channels: channels, Kernel: 2, Stride: 2})
			at /= 2
		}
	}
	return append(layers,
		nn.Dense{In: at * at * channels, Out: 1024}, nn.ReLU{Size: 1024},
		nn.Dense{In: 1024, Out: classes}), nil
}

// same reports whether a model has these layers.
func same(m *nn.Model, layers []nn.Layer) bool { return slices.Equal(m.Layers, layers) }
