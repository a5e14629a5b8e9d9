package curator

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/confetti-dp/confetti/internal/storage/atomicfile"
)

// TrainingSet holds what is published for others to train on.
type TrainingSet struct {
	Table    *LabelledTable
	Label    string
	Classes  []string
	Clusters // none: labels one by one
	Relabelled
}

// TrainingFile has the rows of a training set.
const TrainingFile = "labels.csv"

// Its other files.
const (
	matrixFile = "matrix.csv"
	pythonFile = "train.py"
	rFile      = "train.R"

	clusterColumn = "cluster"
	weightColumn  = "weight "
)

// head returns the names of the written columns.
func (s TrainingSet) head(columns []int) (head []string) {
	for _, i := range columns {
		head = append(head, s.Table.names[i])
	}
	head = append(head, s.Label)
	if len(s.Names) > 0 {
		head = append(head, clusterColumn)
	}
	for _, class := range s.Classes {
		head = append(head, weightColumn+class)
	}
	return head
}

// Asked reports in what a kept file of rows is another one than would be written now: the plan, which is the same, names
// neither public columns nor the clusters of rows.
func (s TrainingSet) Asked(path string) error {
	columns, err := s.Table.Published(len(s.Names) > 0)
	if err != nil {
		return err
	}
	text, err := atomicfile.Read(path)
	if err != nil {
		return err
	}
	kept, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil || len(kept) == 0 {
		return fmt.Errorf("%s is damaged: ask under another --as-of, which is charged", path)
	}
	if !slices.Equal(kept[0], s.head(columns)) {
		return errors.New("this was asked before, with other public columns: give the same --drop, or write from what was kept then; under another --as-of it is charged")
	}
	for row, line := range kept[1:] {
		if len(s.Names) > 0 && row < len(s.Of) && line[len(columns)+1] != s.Names[s.Of[row]] {
			return errors.New("this was asked before, with rows in other clusters: give the same ones, or another --as-of, which is charged")
		}
	}
	return nil
}

// Files returns the table with its noisy labels and weights, the weights by cluster and label, and lines that train with
// them.
func (s TrainingSet) Files() (map[string][]byte, error) {
	columns, err := s.Table.Published(len(s.Names) > 0)
	if err != nil {
		return nil, err
	}
	var t, m bytes.Buffer
	w, matrix := csv.NewWriter(&t), csv.NewWriter(&m)
	first := []string{s.Label}
	if len(s.Names) > 0 {
		first = []string{clusterColumn}
		if s.Meant != nil {
			first = append(first, "rows")
		}
		first = append(first, s.Label)
	}
	for _, class := range s.Classes {
		first = append(first, weightColumn+class)
	}
	w.Write(s.head(columns)) // Error tells, as of the rest
	matrix.Write(first)
	for c, of := range s.Loss {
		for y, weights := range of {
			var line []string
			if len(s.Names) > 0 {
				line = append(line, s.Names[c])
			}
			if s.Meant != nil {
				line = append(line, s.Meant[c])
			}
			matrix.Write(append(append(line, s.Classes[y]), decimals(weights)...))
		}
	}
	for row, y := range s.Labels {
		var line []string
		for _, i := range columns {
			line = append(line, s.Table.cells[i][row])
		}
		line = append(line, s.Classes[y])
		if len(s.Names) > 0 {
			line = append(line, s.Names[s.Of[row]])
		}
		w.Write(append(line, decimals(s.Loss[s.Of[row]][y])...))
	}
	w.Flush()
	matrix.Flush()
	python, r := s.lines(columns)
	return map[string][]byte{TrainingFile: t.Bytes(), matrixFile: m.Bytes(), pythonFile: []byte(python), rFile: []byte(r)}, cmp.Or(w.Error(), matrix.Error())
}

// Published returns which public columns are written, beside others of our own, whose names none may have.
func (t *LabelledTable) Published(clusters bool) (columns []int, err error) {
	for i, name := range append(slices.Clone(t.names), t.label) {
		switch {
		case slices.Contains(t.drop, name):
		case name == clusterColumn && clusters || strings.HasPrefix(name, weightColumn):
			return nil, fmt.Errorf("column %q has a name that the written table needs for its own: give it another, or leave it out with --drop", name)
		case i == len(t.names): // the label's own, which is written behind them
		default:
			columns = append(columns, i)
		}
	}
	return columns, nil
}

func decimals(all []float64) []string {
	out := make([]string, len(all))
	for i, x := range all {
		out[i] = strconv.FormatFloat(x, 'g', 8, 64)
	}
	return out
}

// mostWords bounds how many values a column of words has from which the lines train.
const mostWords = 50

// lines returns those of Python and of R: least squares of the weights, which is what the modified squared loss comes to,
// since weights add up to one.
func (s TrainingSet) lines(columns []int) (python, r string) {
	var numbers, words []string
	type pair [2]string
	pairs := []pair{} // which are written as they are, where there are none
	for _, i := range columns {
		name, cells := s.Table.names[i], s.Table.cells[i]
		values, numeric := numbered(cells)
		finite := numeric && !slices.Contains(cells, "")
		for _, x := range values {
			finite = finite && !math.IsNaN(x) && !math.IsInf(x, 0)
		}
		kinds := slices.Compact(slices.Sorted(slices.Values(cells)))
		switch {
		case len(kinds) < 2:
		case finite:
			numbers = append(numbers, name)
		case !numeric && len(kinds) <= mostWords:
			words = append(words, name)
			for _, v := range kinds {
				pairs = append(pairs, pair{name, v})
			}
		}
	}
	var weights []string
	for _, class := range s.Classes {
		weights = append(weights, weightColumn+class)
	}
	python = fmt.Sprintf(`import csv, numpy as np; t = list(csv.DictReader(open(%s, encoding="utf-8", newline="")))
x = np.array([[1.0] + [float(r[c]) for c in %s] + [float(r[c] == v) for c, v in %s] for r in t])
model = np.linalg.lstsq(x, np.array([[float(r[c]) for c in %s] for r in t]), rcond=None)[0]  # the largest of a row of x @ model is its label
`, literal(TrainingFile), literal(append([]string{}, numbers...)), literal(pairs), literal(weights))
	vector := func(names []string) string { return "c(" + strings.Trim(literal(names), "[]") + ")" }
	r = fmt.Sprintf(`t <- read.csv(%s, check.names = FALSE, encoding = "UTF-8")
y <- as.matrix(t[%s])
model <- lm(y ~ ., t[%s])  # the largest of a row of predict(model, t) is its label
`, literal(TrainingFile), vector(weights), vector(append(numbers, words...)))
	return python, r
}

// literal writes texts as Python and R read them.
func literal(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic("curator: " + err.Error()) // texts alone
	}
	return strings.TrimSpace(b.String())
}
