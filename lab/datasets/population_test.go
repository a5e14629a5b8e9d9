package datasets

import (
	"bytes"
	"compress/gzip"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"strings"
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

func TestWordCounts(t *testing.T) {
	p, err := decodeWordCounts(strings.NewReader("the\t127\t53\nto\t12\n"))
	if err != nil || p.Respondents() != 65 || CellName(p, 1) != "to" {
		t.Errorf("%+v: %v", p, err)
	}
	for _, text := range []string{"", "the", "the\tx", "the\t-1", "the\t1\nto\t", "the\t0\n", "the\t99999999999999999999", "the\t" + strings.Repeat("1", 1<<17)} {
		if _, err := decodeWordCounts(strings.NewReader(text)); err == nil {
			t.Errorf("%.40q was read", text)
		}
	}
}

func TestPoints(t *testing.T) {
	points, err := decodePoints(strings.NewReader("lat,lng\n-37.5,175\n-37.5,176\n-38,176\n"))
	if err != nil {
		t.Fatal(err)
	}
	p := onGrid(points)
	if p.Respondents() != 3 || p.Holders[0] != 1 || p.Holders[pointColumns-1] != 1 || p.Holders[len(p.Holders)-1] != 1 {
		t.Errorf("the corners do not hold the points")
	}
	if p = onGrid(points[:1]); p.Respondents() != 1 {
		t.Error("one point is not on its grid")
	}
	for _, text := range []string{"", "lat,lng\n", "lat,lng\n1", "lat,lng\n1,2,3", "lat,lng\nx,1", "lat,lng\nNaN,1", "lat,lng\n91,1", "lat,lng\n1,181", "lat,lng\n\"1,2"} {
		if _, err := decodePoints(strings.NewReader(text)); err == nil {
			t.Errorf("%q was read", text)
		}
	}
}

// A data folder with each kind of population, and what is missing from it.
func TestLoadPopulation(t *testing.T) {
	dir := t.TempDir()
	put := func(file string, b []byte) {
		path := filepath.Join(dir, filepath.FromSlash(file))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	zipped := func(text string) []byte {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		if _, err := z.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	m := image.NewGray(image.Rect(0, 0, 2, 2))
	m.Pix[3] = 9
	put("images/camera_300.png", encodePNG(t, m))
	put("heavytail/en_words_counts.tsv.gz", zipped("a\t4\n"))
	put("location/nz_addresses.csv.gz", zipped("lat,lng\n1,2\n"))
	put("images/coins_300.png", []byte("no"))
	for name, n := range map[string]int{"camera": 9, "en-words": 4, "nz-addresses": 1} {
		if p, err := LoadPopulation(dir, name); err != nil || p.Respondents() != n || p.Name != name {
			t.Errorf("%s: %+v, %v", name, p, err)
		}
	}
	own := filepath.Join(dir, "images", "camera_300.png")
	if p, err := LoadPopulation("", own); err != nil || p.Respondents() != 9 {
		t.Errorf("a picture of one's own: %v", err)
	}
	for _, bad := range [][2]string{{dir, "coins"}, {dir, "horse-sketch"}, {dir, "agnews"}, {"", "camera"}, {"", "none.png"}} {
		if _, err := LoadPopulation(bad[0], bad[1]); err == nil {
			t.Errorf("%v was read", bad)
		}
	}
	if names := PopulationNames(); len(names) != 6 || !slices.IsSorted(names) {
		t.Errorf("names %v", names)
	}
}

func FuzzWordCounts(f *testing.F) {
	f.Add("the\t127\t53\nto\t12\n")
	f.Fuzz(func(t *testing.T, text string) {
		costlimit.Heap(t, costlimit.Factor, len(text), func() {
			if p, err := decodeWordCounts(strings.NewReader(text)); err == nil && (len(p.Names) != len(p.Holders) || p.Respondents() < 1) {
				t.Errorf("%d words of %d counts", len(p.Names), len(p.Holders))
			}
		})
	})
}

func FuzzPoints(f *testing.F) {
	f.Add("lat,lng\n-37.5,175\n-38,176\n")
	f.Fuzz(func(t *testing.T, text string) {
		costlimit.Heap(t, costlimit.Factor, len(text)+16<<10, func() { // and a grid
			if points, err := decodePoints(strings.NewReader(text)); err == nil && onGrid(points).Respondents() != len(points) {
				t.Error("points got lost")
			}
		})
	})
}
