package train

import (
	"bytes"
	_ "embed"
	"encoding/base64"
	"html/template"
	"image"
	"image/color"
	"image/png"
	"slices"

	"github.com/confetti-dp/confetti/plan"
)

//go:embed clusters.html
var clustersHTML string

var clustersPage = template.Must(template.New("clusters").Parse(clustersHTML))

// shown is a cluster on the page.
type shown struct {
	Number, Size int
	Share        float64 // of the largest, in percent
	Strip        template.URL
	Width        int // of the strip, in pixels
	Texts        []string
}

// clusterPage shows each cluster's nearest members, in one page that needs nothing else.
func clusterPage(in featured, f found, most int) ([]byte, error) {
	page := struct {
		Inputs   int
		What     string
		Name     string
		Width    int
		Clusters []shown
	}{in.x.Rows, in.what, plan.StateName(f.text), in.x.Cols, nil}
	largest := slices.Max(f.sizes)
	for c, members := range f.nearest(in.x, most) {
		one := shown{Number: c, Size: f.sizes[c], Share: 100 * float64(f.sizes[c]) / float64(max(1, largest))}
		switch {
		case in.size != nil && len(members) > 0:
			strip, err := in.strip(members)
			if err != nil {
				return nil, err
			}
			one.Strip, one.Width = strip, 2*in.size.Width*len(members)
		case in.what != "records": // of a data set whose numbers say nothing
			for _, i := range members {
				one.Texts = append(one.Texts, shortened(in.words(i)))
			}
		}
		page.Clusters = append(page.Clusters, one)
	}
	var b bytes.Buffer
	err := clustersPage.Execute(&b, page)
	return b.Bytes(), err
}

// shortened returns the beginning of a text.
func shortened(text string) string {
	const most = 160
	if r := []rune(text); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return text
}

// strip is images side by side as a PNG in a URL, each as bright as it gets.
func (in featured) strip(members []int) (template.URL, error) {
	w, h := in.size.Width, in.size.Height
	picture := image.NewGray(image.Rect(0, 0, w*len(members), h))
	for at, i := range members {
		pixels := in.row(i)
		brightest := max(slices.Max(pixels), 1e-9)
		for j, p := range pixels {
			picture.SetGray(at*w+j%w, j/w, color.Gray{Y: uint8(255 * max(0, p) / brightest)})
		}
	}
	var b bytes.Buffer
	if err := png.Encode(&b, picture); err != nil {
		return "", err
	}
	return template.URL("data:image/png;base64," + base64.StdEncoding.EncodeToString(b.Bytes())), nil
}
