package table

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/blas/blas32"
)

// Records are a user's own file: rows of numbers, each with a label.
type Records struct {
	X       blas32.General
	Labels  []string // as written, one per row; nil if none were asked for
	Columns []string // names of the features, where the file has them
	Notes   []string // what a reader of the result must know of how the file was read
	any     bool     // of the choice
}

// maxElements bounds what a compressed file may unfold to: 2^28 float32, 1 GiB.
const maxElements = 1 << 28

// ReadRecords reads features and labels from a file by its extension:
//
//	.csv, .tsv, also with .gz   a table of text, as of CSV
//	.parquet                    numeric columns, or one column of lists of numbers, and the label column
//	.npy                        a matrix; label is the path of a second .npy with integers
//
// Every column that is taken must be a number in every row, and a finite one unless the choice takes any: the error
// says all that is not, by row and column, and never what is there.
func ReadRecords(path string, choice Choice) (*Records, error) {
	var t *Records
	var err error
	switch ext := strings.ToLower(filepath.Ext(strings.TrimSuffix(path, ".gz"))); ext {
	case ".npy":
		if !choice.plain() {
			return nil, fmt.Errorf("%s: columns of a matrix have no names and no empty cells: leave out --features, --drop and --missing", path)
		}
		return readArrays(path, choice)
	case ".csv", ".tsv":
		t, err = readCSV(path, choice)
	case ".parquet":
		t, err = readParquet(path, choice)
	default:
		return nil, fmt.Errorf("%s: files of type %q cannot be read: give a .csv, .tsv, .parquet or .npy file", path, ext)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return t, nil
}

func readArrays(path string, choice Choice) (*Records, error) {
	x, err := readMatrix(path, choice.Any)
	if err != nil {
		return nil, err
	}
	t, label := &Records{X: x}, choice.Label
	if label == "" {
		return t, nil
	}
	y, err := ReadLabels(label)
	if err != nil {
		return nil, err
	}
	if len(y) != t.X.Rows {
		return nil, fmt.Errorf("%s has %d rows but %s has %d labels", path, t.X.Rows, label, len(y))
	}
	for _, c := range y {
		t.Labels = append(t.Labels, strconv.Itoa(c))
	}
	return t, nil
}

// Classes returns the distinct labels: by value if all are integers, else by name.
func (t *Records) Classes() []string {
	set := map[string]bool{}
	integers := true
	for _, l := range t.Labels {
		if !set[l] {
			set[l] = true
			_, err := strconv.ParseInt(l, 10, 64)
			integers = integers && err == nil
		}
	}
	classes := slices.Sorted(maps.Keys(set))
	if integers {
		slices.SortStableFunc(classes, func(a, b string) int {
			x, _ := strconv.ParseInt(a, 10, 64)
			y, _ := strconv.ParseInt(b, 10, 64)
			switch {
			case x < y:
				return -1
			case x > y:
				return 1
			}
			return 0
		})
	}
	return classes
}

// Numbers returns those of the one column: whole, below most, and each of one row alone.
func (t *Records) Numbers(most int) ([]int, error) {
	out, seen := make([]int, t.X.Rows), map[int]bool{}
	for i := range out {
		v := t.X.Data[i*t.X.Stride]
		if !(v >= 0 && v < float32(most)) || v != float32(int(v)) {
			return nil, fmt.Errorf("row %d has no whole number from 0 to %d", i+1, most-1)
		}
		if out[i] = int(v); seen[out[i]] {
			return nil, fmt.Errorf("row %d has the number of another row", i+1)
		}
		seen[out[i]] = true
	}
	return out, nil
}

// What grow may say of a number; the caller says where it is.
var (
	errNotFinite = errors.New("is not a finite number")
	errTooMany   = fmt.Errorf("is beyond the %d numbers that can be read: split the file", maxElements)
)

// grow appends a feature, checked.
func (t *Records) grow(v float64) error {
	if f := float32(v); !t.any && f-f != 0 {
		return errNotFinite
	}
	if len(t.X.Data) >= maxElements {
		return errTooMany
	}
	t.X.Data = append(t.X.Data, float32(v))
	return nil
}

// finish shapes the appended features into rows.
func (t *Records) finish(rows, cols int) (*Records, error) {
	if rows == 0 || cols == 0 {
		return nil, fmt.Errorf("holds %d rows of %d features: nothing to read", rows, cols)
	}
	t.X.Rows, t.X.Cols, t.X.Stride = rows, cols, cols
	return t, nil
}
