package kde

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/internal/dataset"
	"github.com/confetti-dp/confetti/internal/seeded"
)

const (
	dbpediaLike = "dbpedia-like"
	cifarLike   = "cifar-like"
)

// shape describes made-up embeddings: unit vectors
//
//	x = norm m_c + sqrt(1 - norm^2) w,   each of length one and then x scaled to it,
//
// of class c, where m_c (once) and w (for each x) are normal with deviation
// 1/sqrt(1+j) in coordinate j. So the means of classes have about the length
// norm, and the spectrum falls as it does for embeddings of text and images: were
// it flat, classes of that many dimensions could not be confused at all.
type shape struct {
	classes, perClass, dimension int
	norm                         float64
	test                         int // records of each class
}

// The norms are such that the nearest of the true means is right for about 93 %,
// which is what KDE, Table 2, tends to for DBPedia-14.
var shapes = map[string]shape{
	dbpediaLike: {classes: 14, perClass: 40000, dimension: 768, norm: 0.455, test: 200},
	cifarLike:   {classes: 10, perClass: 5000, dimension: 6144, norm: 0.375, test: 100},
}

// records is a data set whose training rows need not all be in memory.
type records struct {
	*dataset.Set
	row func(i int) []float32 // of the training part; what it returns holds until the next call
}

// inMemory returns the records of a data set.
func inMemory(s *dataset.Set) *records {
	return &records{Set: s, row: func(i int) []float32 { return row(s.Train.X, i) }}
}

// records are drawn row by row as they are asked for: the same seed and row give
// the same record.
func (s shape) records(name string, seed uint64) *records {
	const forMeans, forTrain, forTest = 0x5a, 0x5b, 0x5c
	set := &dataset.Set{Name: name, Synthetic: true}
	means := make([][]float64, s.classes)
	for c := range means {
		set.Classes = append(set.Classes, fmt.Sprintf("class %d", c+1))
		means[c] = s.direction(seeded.New(seed, forMeans, uint64(c)).NormFloat64)
	}
	draw := func(part uint64, i int, out []float32) {
		w := s.direction(seeded.New(seed, part, uint64(i)).NormFloat64)
		rest := math.Sqrt(1 - s.norm*s.norm)
		length := 0.0
		for j, m := range means[i%s.classes] {
			w[j] = s.norm*m + rest*w[j]
			length += w[j] * w[j]
		}
		length = math.Sqrt(length)
		for j, v := range w {
			out[j] = float32(v / length)
		}
	}
	set.Train.X = blas32.General{Cols: s.dimension, Stride: s.dimension}
	set.Train.Y = make([]int, s.classes*s.perClass)
	for i := range set.Train.Y {
		set.Train.Y[i] = i % s.classes
	}
	n := s.classes * s.test
	set.Test = dataset.Labelled{X: blas32.General{Rows: n, Cols: s.dimension, Stride: s.dimension, Data: make([]float32, n*s.dimension)}, Y: make([]int, n)}
	for i := range n {
		set.Test.Y[i] = i % s.classes
		draw(forTest, i, row(set.Test.X, i))
	}
	buffer := make([]float32, s.dimension)
	return &records{Set: set, row: func(i int) []float32 {
		draw(forTrain, i, buffer)
		return buffer
	}}
}

// direction returns a unit vector of the falling spectrum.
func (s shape) direction(normal func() float64) []float64 {
	v := make([]float64, s.dimension)
	length := 0.0
	for j := range v {
		v[j] = normal() / math.Sqrt(float64(1+j))
		length += v[j] * v[j]
	}
	length = math.Sqrt(length)
	for j := range v {
		v[j] /= length
	}
	return v
}

// generated is the name of documents that are made up word by word, in the size
// that a test can afford.
const generated = "synthetic"

// MadeUp returns the data sets that need no folder.
func MadeUp() []string { return []string{generated, dbpediaLike, cifarLike} }

// loadRecords makes the records of a name up, or has them loaded.
func loadRecords(name string, seed uint64, load func(name string) (*dataset.Set, error)) (*records, error) {
	if s, ok := shapes[name]; ok {
		return s.records(name, seed), nil
	}
	if base, perClass, ok := repeats(name); ok {
		of, err := loadRecords(base, seed, load)
		if err != nil {
			return nil, err
		}
		return of.repeated(name, perClass)
	}
	if name == generated {
		load = func(string) (*dataset.Set, error) {
			return dataset.Generate(seed, dataset.GenerateOptions{Train: 3000, Test: 600})
		}
	}
	set, err := load(name)
	if err != nil {
		return nil, err
	}
	named := *set
	named.Name = name
	return inMemory(&named), nil
}
