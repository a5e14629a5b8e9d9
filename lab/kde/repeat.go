package kde

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/internal/dataset"
)

// repeatSign parts the name of a data set from how many respondents each of its classes is
// to have: agnews_lsa256@30000.
const repeatSign = "@"

// maxPerClass keeps a population within what memory holds.
const maxPerClass = 1_000_000

// repeats says whether a name asks for classes of another size, and of which set.
func repeats(name string) (base string, perClass int, ok bool) {
	base, size, found := strings.Cut(name, repeatSign)
	perClass, err := strconv.Atoi(size)
	return base, perClass, found && err == nil && perClass >= 1 && perClass <= maxPerClass
}

// base returns the data set that a name is of.
func base(name string) string {
	if of, _, ok := repeats(name); ok {
		return of
	}
	return name
}

// repeated has perClass respondents in each class: its records in their order, again and again. Two
// respondents may hold the same record then, and each rounds and randomizes for itself. What the
// noise of a crowd of that size does is measured so; what more records would teach is not.
func (r *records) repeated(name string, perClass int) (*records, error) {
	of := make([][]int, len(r.Classes))
	for i, y := range r.Train.Y {
		of[y] = append(of[y], i)
	}
	set := *r.Set
	set.Name = name
	set.Train = dataset.Labelled{X: blas32.General{Cols: r.Train.X.Cols, Stride: r.Train.X.Cols}}
	var from []int
	for class, who := range of {
		if len(who) == 0 {
			return nil, fmt.Errorf("class %q has no records to repeat", r.Classes[class])
		}
		for i := range perClass {
			from, set.Train.Y = append(from, who[i%len(who)]), append(set.Train.Y, class)
		}
	}
	return &records{Set: &set, row: func(i int) []float32 { return r.row(from[i]) }}, nil
}

// paperRepetitions returns how many Fourier features KDE takes of a set at its own size: as many as its
// embeddings have dimensions.
func paperRepetitions(set string) int {
	if _, _, ok := repeats(set); !ok {
		return 0
	}
	if strings.HasPrefix(set, "cifar") {
		return 6144
	}
	return 768
}

// largeSets are those of which KDE takes a delta of 1e-6.
var largeSets = []string{dbpediaLike, "dbpedia14", "agnews", "agnews_lsa256", "dbpedia14" + encoded, "agnews" + encoded}

// Delta returns that of a data set's measurements.
func Delta(set string) float64 { return deltaOf(set) }

// deltaOf is KDE's choice by the number of records: 1e-6 for its two larger sets, where they are at its size, and
// 1e-5 for all others.
func deltaOf(set string) float64 {
	if _, _, ok := repeats(set); set == dbpediaLike || ok && slices.Contains(largeSets, base(set)) {
		return 1e-6
	}
	return 1e-5
}
