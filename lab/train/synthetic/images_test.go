package synthetic

import (
	"slices"
	"testing"

	"github.com/confetti-dp/confetti/internal/seeded"
)

func TestImages(t *testing.T) {
	images := Images(seeded.New(1), 400)
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
	if again := Images(seeded.New(1), 400); !slices.Equal(again[399], images[399]) {
		t.Error("the same seed gives other images")
	}
}

// Images of a class are more alike than those of others, and no two are the same.
func TestLabelled(t *testing.T) {
	images, labels := Labelled(seeded.New(1), 200, 10)
	near, far, pairs := 0.0, 0.0, [2]float64{}
	for i, a := range images {
		for j, b := range images[:i] {
			dot := 0.0
			for k := range a {
				dot += float64(a[k]-b[k]) * float64(a[k]-b[k])
			}
			if dot == 0 {
				t.Fatalf("images %d and %d are the same", i, j)
			}
			if labels[i] == labels[j] {
				near, pairs[0] = near+dot, pairs[0]+1
			} else {
				far, pairs[1] = far+dot, pairs[1]+1
			}
		}
	}
	if near/pairs[0] > 0.8*far/pairs[1] {
		t.Errorf("images of one class are %v apart, of two %v", near/pairs[0], far/pairs[1])
	}
}
