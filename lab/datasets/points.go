package datasets

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/confetti-dp/confetti/internal/dataset"
	"github.com/confetti-dp/confetti/internal/table"
)

// pointColumns and pointRows are the grid that points are counted in.
const pointColumns, pointRows = 256, 256

// ReadPoints reads a gzipped CSV of latitude and longitude, a header and then a
// respondent a line, as a population on a grid of 256 by 256 cells over the
// smallest rectangle of degrees that holds them all, north at the top. A
// collection would have to declare the rectangle.
func ReadPoints(path string) (*dataset.Population, error) {
	points, err := gunzip(path, decodePoints)
	if err != nil {
		return nil, err
	}
	return onGrid(points), nil
}

// decodePoints gives latitude and longitude of each line.
func decodePoints(r io.Reader) ([][2]float64, error) {
	in := csv.NewReader(r)
	in.FieldsPerRecord, in.ReuseRecord = 2, true
	if _, err := in.Read(); err != nil {
		return nil, fmt.Errorf("no line of column names: %w", table.PlainError(err))
	}
	var points [][2]float64
	for {
		record, err := in.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, table.PlainError(err)
		}
		var p [2]float64
		for i, most := range []float64{90, 180} {
			if p[i], err = strconv.ParseFloat(record[i], 64); err != nil || !(math.Abs(p[i]) <= most) {
				return nil, fmt.Errorf("line %d does not hold a latitude and a longitude in degrees", len(points)+2)
			}
		}
		points = append(points, p)
	}
	if len(points) == 0 {
		return nil, fmt.Errorf("no points in it")
	}
	return points, nil
}

func onGrid(points [][2]float64) *dataset.Population {
	low, high := points[0], points[0]
	for _, p := range points {
		for i, v := range p {
			low[i], high[i] = math.Min(low[i], v), math.Max(high[i], v)
		}
	}
	// The last cell holds its upper edge too.
	cell := func(v, low, high float64, cells int) int {
		if high == low {
			return 0
		}
		return min(cells-1, int((v-low)/(high-low)*float64(cells)))
	}
	out := &dataset.Population{Columns: pointColumns, Holders: make([]int, pointColumns*pointRows)}
	for _, p := range points {
		y := pointRows - 1 - cell(p[0], low[0], high[0], pointRows)
		out.Holders[y*pointColumns+cell(p[1], low[1], high[1], pointColumns)]++
	}
	return out
}
