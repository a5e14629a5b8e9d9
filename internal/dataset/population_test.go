package dataset

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"path/filepath"
	"slices"
	"testing"

	"github.com/confetti-dp/confetti/internal/testkit/costlimit"
)

func encodePNG(t testing.TB, m image.Image) []byte {
	var b bytes.Buffer
	if err := png.Encode(&b, m); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestPictures(t *testing.T) {
	grey := image.NewGray(image.Rect(0, 0, 3, 2))
	copy(grey.Pix, []uint8{0, 1, 255, 7, 0, 100})
	p, err := decodePicture(bytes.NewReader(encodePNG(t, grey)))
	if err != nil {
		t.Fatal(err)
	}
	if p.Columns != 3 || p.Most != white || p.Respondents() != 363 || !slices.Equal(p.Holders, []int{0, 1, 255, 7, 0, 100}) {
		t.Errorf("%+v", p)
	}
	// Colours become their luminosity, and what is transparent black.
	colours := image.NewNRGBA(image.Rect(0, 0, 2, 1))
	colours.Set(0, 0, color.NRGBA{0, 255, 0, 255})
	colours.Set(1, 0, color.NRGBA{255, 255, 255, 0})
	if p, err = decodePicture(bytes.NewReader(encodePNG(t, colours))); err != nil || !slices.Equal(p.Holders, []int{150, 0}) {
		t.Errorf("%+v: %v", p, err)
	}
}

// large is the header of a PNG of a million by a million pixels, and of nothing else.
func large(t testing.TB) []byte {
	b := encodePNG(t, image.NewGray(image.Rect(0, 0, 1, 1)))
	copy(b[16:24], []byte{0, 15, 66, 64, 0, 15, 66, 64})
	// The checksum of the header is wrong then, which is an error as well; only that no
	// memory is taken for the pixels matters.
	return b
}

func TestBadPictures(t *testing.T) {
	whole := encodePNG(t, image.NewGray(image.Rect(0, 0, 4, 4)))
	for name, b := range map[string][]byte{"empty": nil, "text": []byte("not a picture"), "cut off": whole[:len(whole)-20], "black": whole, "large": large(t)} {
		if p, err := decodePicture(bytes.NewReader(b)); err == nil {
			t.Errorf("%s: read as %d by %d", name, p.Columns, len(p.Holders))
		}
	}
	if _, err := ReadPicture(filepath.Join(t.TempDir(), "none.png")); err == nil {
		t.Error("a file that is not there was read")
	}
}

func FuzzPicture(f *testing.F) {
	m := image.NewGray(image.Rect(0, 0, 3, 2))
	m.Pix[1] = 200
	f.Add(encodePNG(f, m))
	f.Add(large(f))
	f.Fuzz(func(t *testing.T, b []byte) {
		costlimit.Heap(t, costlimit.Factor, len(b), func() {
			if len(b) > 1<<12 {
				return
			}
			if p, err := decodePicture(bytes.NewReader(b)); err == nil && (len(p.Holders)%p.Columns != 0 || p.Respondents() < 1) {
				t.Errorf("%d pixels in %d columns", len(p.Holders), p.Columns)
			}
		})
	})
}
