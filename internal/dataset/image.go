package dataset

import (
	"bufio"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"os"
	"path/filepath"
)

// maxPixels keeps what a small file can claim within a gigabyte when decoded.
const maxPixels = 1 << 26

// white is the largest luminosity of a picture of 8 bits.
const white = 255

// ReadPicture reads a PNG as a population: as many respondents at each pixel as
// its luminosity, 0 to 255, says (ESA, Table II).
func ReadPicture(path string) (*Population, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	p, err := decodePicture(f)
	if err != nil {
		return nil, fmt.Errorf("picture %s: %w", path, err)
	}
	p.Name = filepath.Base(path)
	return p, nil
}

// Grey returns the grey levels of a picture, row by row, from 0 to 1.
func (p *Population) Grey() []float32 {
	grey := make([]float32, len(p.Holders))
	for i, h := range p.Holders {
		grey[i] = float32(h) / white
	}
	return grey
}

// decodePicture looks at the size before it decodes, from the start again.
func decodePicture(r io.ReadSeeker) (*Population, error) {
	config, err := png.DecodeConfig(bufio.NewReader(r))
	if err != nil {
		return nil, fmt.Errorf("it is no PNG: %w", err)
	}
	if config.Width < 1 || config.Height < 1 || config.Width > maxPixels/config.Height {
		return nil, fmt.Errorf("it has %d by %d pixels: at most %d are read", config.Width, config.Height, maxPixels)
	}
	if _, err := r.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	picture, err := png.Decode(bufio.NewReader(r))
	if err != nil {
		return nil, fmt.Errorf("it is no whole PNG: %w", err)
	}
	p := &Population{Columns: config.Width, Most: white, Holders: make([]int, 0, config.Width*config.Height)}
	b := picture.Bounds()
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			p.Holders = append(p.Holders, luminosity(picture, x, y))
		}
	}
	if p.Respondents() == 0 {
		return nil, fmt.Errorf("it is black: nobody is in it")
	}
	return p, nil
}

func luminosity(m image.Image, x, y int) int {
	return int(color.GrayModel.Convert(m.At(x, y)).(color.Gray).Y)
}
