package esa

import (
	"image"
	"image/color"
	"image/png"
	"io"
	"os"

	"github.com/confetti-dp/confetti/internal/dataset"
)

// picture is luminosities of 8 bits, row by row from the top.
type picture struct {
	columns int
	pixels  []uint8
}

// develop shows a number for each cell of a grid, from black for zero and below to
// white for the population's bound or, where there is none, its largest cell.
func develop(p *dataset.Population, of func(cell int) float64) picture {
	most := p.Most
	if most == 0 {
		for _, h := range p.Holders {
			most = max(most, h)
		}
	}
	out := picture{columns: p.Columns, pixels: make([]uint8, len(p.Holders))}
	for i := range out.pixels {
		out.pixels[i] = uint8(min(255, max(0, of(i)*255/float64(most)+0.5)))
	}
	return out
}

func (p picture) rows() int { return len(p.pixels) / p.columns }

func (p picture) Write(w io.Writer) error {
	m := &image.Gray{Pix: p.pixels, Stride: p.columns, Rect: image.Rect(0, 0, p.columns, p.rows())}
	return (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(w, m)
}

// writeGreys writes the picture in 16 greys, of a quarter of the bytes.
func (p picture) writeGreys(w io.Writer) error {
	const greys = 16
	var palette color.Palette
	for i := range greys {
		palette = append(palette, color.Gray{Y: uint8(i * 255 / (greys - 1))})
	}
	m := image.NewPaletted(image.Rect(0, 0, p.columns, p.rows()), palette)
	for i, y := range p.pixels {
		m.Pix[i] = uint8((int(y)*(greys-1) + 127) / 255)
	}
	return (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(w, m)
}

func readPicture(path string) (picture, error) {
	f, err := os.Open(path)
	if err != nil {
		return picture{}, err
	}
	defer f.Close()
	m, err := png.Decode(f)
	if err != nil {
		return picture{}, err
	}
	b := m.Bounds()
	p := picture{columns: b.Dx()}
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			p.pixels = append(p.pixels, color.GrayModel.Convert(m.At(x, y)).(color.Gray).Y)
		}
	}
	return p, nil
}

// small returns the picture with blocks of pixels replaced by their mean, at most so
// many columns wide.
func (p picture) small(columns int) picture {
	side := (p.columns + columns - 1) / columns
	if side <= 1 {
		return p
	}
	out := picture{columns: p.columns / side}
	for y := 0; y+side <= p.rows(); y += side {
		for x := range out.columns {
			sum := 0
			for i := range side * side {
				sum += int(p.pixels[(y+i/side)*p.columns+x*side+i%side])
			}
			out.pixels = append(out.pixels, uint8(sum/(side*side)))
		}
	}
	return out
}

// sheet puts pictures of one size side by side, row below row, between white lines.
func sheet(rows [][]picture) picture {
	const line = 4
	width, height, across := rows[0][0].columns, rows[0][0].rows(), 0
	for _, row := range rows {
		across = max(across, len(row))
	}
	out := picture{columns: across*(width+line) - line}
	out.pixels = make([]uint8, out.columns*(len(rows)*(height+line)-line))
	for i := range out.pixels {
		out.pixels[i] = 255
	}
	for j, row := range rows {
		for i, p := range row {
			for y := range height {
				at := (j*(height+line)+y)*out.columns + i*(width+line)
				copy(out.pixels[at:at+width], p.pixels[y*width:])
			}
		}
	}
	return out
}
