package synthetic

import (
	"slices"
	"testing"

	"github.com/confetti-dp/confetti/internal/replay"
)

func TestImages(t *testing.T) {
	images := Images(replay.New(1), 400)
	for i, image := range images {
		inked := 0
		for _, g := range image {
			if !(g >= 0 && g <= 1) {
				t.Fatalf("image %d has grey %v", i, g)
			}
			if g > 0 {
				inked++
			}
		}
		if len(image) != Side*Side || inked < 10 || inked > Side*Side*9/10 {
			t.Errorf("image %d has %d inked pixels of %d", i, inked, len(image))
		}
		if i > 0 && slices.Equal(image, images[i-1]) {
			t.Errorf("image %d is the one before", i)
		}
	}
	if again := Images(replay.New(1), 400); !slices.Equal(again[399], images[399]) {
		t.Error("the same seed gives other images")
	}
}
