package dataset

import (
	"bytes"
	"encoding/binary"
	"image"
	"image/color"
	"image/jpeg"
	"math"
	"strings"
	"testing"
)

// grey is a record of the file: a picture of one colour, of a class.
func grey(t testing.TB, side int, class byte) []byte {
	t.Helper()
	picture := image.NewRGBA(image.Rect(0, 0, side, side))
	for i := range side * side {
		picture.Set(i%side, i/side, color.RGBA{200, 100, 50, 255})
	}
	var b bytes.Buffer
	if err := jpeg.Encode(&b, picture, nil); err != nil {
		t.Fatal(err)
	}
	return append(binary.BigEndian.AppendUint16([]byte{class}, uint16(b.Len())), b.Bytes()...)
}

func records(t testing.TB, parts ...[]byte) *bytes.Buffer {
	t.Helper()
	return bytes.NewBuffer(zipped(bytes.Join(parts, nil)...))
}

func TestPicturesOfColour(t *testing.T) {
	l, err := decodeJPEGs(records(t, grey(t, 32, 3), grey(t, 32, 9)))
	if err != nil || l.X.Rows != 2 || l.Y[0] != 3 || l.Y[1] != 9 || l.X.Cols != 3072 {
		t.Fatalf("%+v: %v", l.Y, err)
	}
	length := math.Sqrt(200*200 + 100*100 + 50*50)
	for c, want := range []float64{200, 100, 50} {
		if got := float64(l.X.Data[3072+c]) * 32 * length; math.Abs(got-want) > 5 {
			t.Errorf("colour %d is %v, want %v", c, got, want)
		}
	}
}

func TestDamagedPicturesAreNamed(t *testing.T) {
	good := grey(t, 32, 1)
	for want, b := range map[string]*bytes.Buffer{
		"not a gzip file":       bytes.NewBufferString("no"),
		"picture 2 is cut off":  records(t, good, good[:2]),
		"picture 1 is cut off":  records(t, good[:40]),
		"not a JPEG of 32x32":   records(t, grey(t, 16, 1)),
		"picture 1: not a JPEG": records(t, []byte{0, 0, 2, 7, 7}),
	} {
		if _, err := decodeJPEGs(b); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}
