package nn

// ESATableXIII is ESA's network for pictures of 28 x 28 (Table XIII): 26,010 numbers where there
// are ten classes. That is so where the first convolution gives a picture of 14x14, squares of 2x2
// are pooled side by side with a stride of one, and the second convolution is not padded.
func ESATableXIII(classes int) []Layer {
	return []Layer{
		Conv{Height: 28, Width: 28, Channels: 1, Filters: 16, Kernel: 8, Stride: 2, Pad: 3, After: 3},
		ReLU{Size: 14 * 14 * 16},
		MaxPool{Height: 14, Width: 14, Channels: 16, Kernel: 2, Stride: 1},
		Conv{Height: 13, Width: 13, Channels: 16, Filters: 32, Kernel: 4, Stride: 2},
		ReLU{Size: 5 * 5 * 32},
		MaxPool{Height: 5, Width: 5, Channels: 32, Kernel: 2, Stride: 1},
		Dense{In: 4 * 4 * 32, Out: 32}, ReLU{Size: 32},
		Dense{In: 32, Out: classes},
	}
}

// ESATableXIV is ESA's network for pictures of 32 x 32 in three colours (Table XIV), which says nothing of
// padding: pictures keep their size in convolutions here, and are halved by pooling. It learns 8,686,890 numbers of
// ten classes, of which ESA learns the last layer's 10,250 privately.
func ESATableXIV(classes int) []Layer {
	var layers []Layer
	at, channels := 32, 3
	for block, filters := range []int{32, 64, 128} {
		for range 2 {
			layers = append(layers,
				Conv{Height: at, Width: at, Channels: channels, Filters: filters, Kernel: 3, Stride: 1, Pad: 1, After: 1},
				ReLU{Size: at * at * filters})
			channels = filters
		}
		if block < 2 {
			layers = append(layers, MaxPool{Height: at, Width: at, Channels: channels, Kernel: 2, Stride: 2})
			at /= 2
		}
	}
	return append(layers,
		Dense{In: at * at * channels, Out: 1024}, ReLU{Size: 1024},
		Dense{In: 1024, Out: classes})
}
