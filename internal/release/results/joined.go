package results

import (
	"bytes"
	"encoding/csv"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/internal/dp/estimate"
	"github.com/confetti-dp/confetti/internal/formula"
	learn "github.com/confetti-dp/confetti/internal/learn/latent"
	"github.com/confetti-dp/confetti/internal/question/latent"
	"github.com/confetti-dp/confetti/internal/release/sheets"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/release"
)

// describeNumbered states how many records were told of, and what they say together.
func describeNumbered(m *latent.Model) ([]release.Metric, []release.Section, error) {
	n := m.Numbered
	headline := []release.Metric{{Name: respondentsMetric, Value: float64(len(n.Reports))}, {Name: "records", Value: float64(m.Asked.Records)}}
	if len(n.Reports) == 0 {
		return headline, nil, nil
	}
	section := release.Section{Name: "records"}
	names, values := n.How.Class.K > 0, []estimate.Value(nil)
	t := release.Table{Name: "clusters"}
	switch {
	case n.Vectors && !names:
		return headline, []release.Section{section}, nil
	case n.Vectors:
		t.Name = "classes"
		counts := make([]uint64, len(m.Asked.Classes))
		for _, r := range n.Reports {
			counts[r.Class]++
		}
		values = make([]estimate.Value, len(counts))
		n.How.Class.EstimateAll(counts, len(n.Reports), values)
	default:
		counts := make([]uint64, n.Symbols.K)
		for _, r := range n.Reports {
			for c := range counts {
				if n.Symbols.Holds(r.Body, c) {
					counts[c]++
				}
			}
		}
		values = make([]estimate.Value, len(counts))
		n.Symbols.EstimateAll(counts, len(n.Reports), values)
	}
	for i, v := range values[:min(len(values), tableRows)] {
		t.Rows = append(t.Rows, []release.Cell{release.Named(symbolKey(m, i)), release.Number(v.Mean, v.StdErr)})
	}
	section.Tables = []release.Table{t}
	return headline, []release.Section{section}, nil
}

// symbolKey names a class that is told beside a vector, or a cluster with its class where there are such.
func symbolKey(m *latent.Model, i int) string {
	if m.Numbered.Vectors {
		return m.Asked.Classes[i]
	}
	return symbolNumber(m, i)
}

// symbolNumber returns that of a cluster, and of its class after a colon where there are such: names may hold any sign.
func symbolNumber(m *latent.Model, i int) string {
	if k := len(m.Asked.Classes); k > 0 {
		return fmt.Sprintf("%d:%d", i/k+1, i%k+1)
	}
	return strconv.Itoa(i + 1)
}

// numberedSheet lists the reports, by the numbers of their records.
func numberedSheet(m *latent.Model) (Sheet, error) {
	var text bytes.Buffer
	c := csv.NewWriter(&text)
	c.Write([]string{"record", "told", "class"}) // Error tells, as of the rest
	for _, r := range m.Numbered.Reports {
		row := []string{strconv.Itoa(r.Number), "", ""}
		if m.Numbered.Vectors {
			row[1] = hex.EncodeToString(r.Body)
			if len(m.Asked.Classes) > 0 {
				row[2] = formula.Quote(m.Asked.Classes[r.Class])
			}
		} else {
			var set []string
			for i := range m.Numbered.Symbols.K {
				if m.Numbered.Symbols.Holds(r.Body, i) {
					set = append(set, symbolNumber(m, i))
				}
			}
			row[1] = strings.Join(set, ";")
		}
		c.Write(row)
	}
	c.Flush()
	return Sheet{File: sheets.CountsFile, Text: text.Bytes()}, c.Error()
}

// readNumbered reads the sheet of numbered records into the model of a valid plan.
func readNumbered(m *latent.Model, sheet io.Reader) error {
	m.Numbered.Reports = nil
	byName := map[string]int{}
	if !m.Numbered.Vectors {
		for i := range m.Numbered.Symbols.K {
			byName[symbolNumber(m, i)] = i
		}
	}
	return sheetRows(sheet, func(row []string) bool {
		r, ok := readReport(m, row, byName)
		m.Numbered.Reports = append(m.Numbered.Reports, r)
		return ok
	})
}

func readReport(m *latent.Model, row []string, byName map[string]int) (r latent.NumberedReport, ok bool) {
	if len(row) != 3 {
		return r, false
	}
	n, err := strconv.Atoi(row[0])
	if r.Number = n; err != nil || n < 0 || n >= m.Asked.Records {
		return r, false
	}
	if m.Numbered.Vectors {
		r.Body, err = hex.DecodeString(row[1])
		r.Class = max(0, slices.Index(m.Asked.Classes, row[2]))
		known := len(m.Asked.Classes) == 0 || slices.Contains(m.Asked.Classes, row[2])
		return r, err == nil && len(r.Body) == m.Numbered.How.Vector.Size() && known
	}
	r.Body = make([]byte, m.Numbered.Symbols.Size())
	for name := range strings.SplitSeq(row[1], ";") {
		i, known := byName[name]
		if !known {
			return r, false
		}
		r.Body[i/8] |= 1 << (i % 8)
	}
	return r, m.Numbered.Symbols.Check(r.Body) == nil
}

// Joined returns what is known of each record that was told of, a row in the order of the reports, with names of the
// columns: the mean of the encoder's public prototypes, or of the clusters' centres, by how likely the report is of
// each; of clusters without centres how likely each of these is. With a decoder of the encoder's codes the records that
// prototypes stand for are in their place, and the columns' names begin with noisy_.
func Joined(m *latent.Model, decoder *learn.Decoder) (x blas32.General, names []string, err error) {
	n := m.Numbered
	bodies := make([][]byte, len(n.Reports))
	for i, r := range n.Reports {
		bodies[i] = r.Body
	}
	if n.Vectors {
		e := m.Encoder
		if e == nil {
			return x, nil, errors.New("results: the encoder is missing: fetch the state that the plan names")
		}
		weights := learn.Reported(e, n.How.Vector, bodies)
		if decoder != nil {
			for _, column := range decoder.Columns {
				names = append(names, "noisy_"+column)
			}
			return learn.Means(weights, decoder.Records(e.Prototypes)), names, nil
		}
		return learn.Means(weights, e.Prototypes), numberedNames("code", e.Dim()), nil
	}
	if decoder != nil {
		return x, nil, errors.New("results: a decoder takes codes, and the release counts symbols: leave it out")
	}
	if m.Finder == nil {
		return x, nil, errors.New("results: the clusters are missing: fetch the state that the plan names")
	}
	weights := inClustersOf(m, bodies)
	if c := m.Finder.Centres; c.Rows > 0 {
		return learn.Means(weights, c), numberedNames("centre", c.Cols), nil
	}
	k := m.Asked.Clusters
	return blas32.General{Rows: len(bodies), Cols: k, Stride: k, Data: weights}, numberedNames("cluster", k), nil
}

// inClustersOf returns how likely the record of each report lies in each cluster, whatever its class.
func inClustersOf(m *latent.Model, bodies [][]byte) []float32 {
	k, n := max(1, len(m.Asked.Classes)), m.Numbered
	sizes := make([]int, n.Symbols.K)
	for i := range sizes {
		sizes[i] = m.Finder.Sizes[i/k]
	}
	if slices.Max(sizes) == 0 { // a model's, of which nothing is known
		for i := range sizes {
			sizes[i] = 1
		}
	}
	in, out := n.Symbols.LogProb(true), n.Symbols.LogProb(false)
	weights := learn.Weights(len(bodies), sizes, func(i, symbol int) float64 {
		if n.Symbols.Holds(bodies[i], symbol) {
			return in
		}
		return out
	})
	if k == 1 {
		return weights
	}
	sums := make([]float32, len(weights)/k)
	for i, w := range weights {
		sums[i/k] += w
	}
	return sums
}

func numberedNames(word string, n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = word + strconv.Itoa(i+1)
	}
	return names
}

// Rows are what is known of public records, a row for each report, in the order of their numbers.
type Rows struct {
	Numbers []int
	Names   []string // of the columns
	X       blas32.General
}

// Once returns the row of each number that one report is of, and how many numbers several reports are of.
func (r Rows) Once() (at map[int]int, twice int) {
	at = map[int]int{}
	for i, number := range r.Numbers {
		if _, again := at[number]; !again {
			at[number] = i
		} else if at[number] >= 0 {
			at[number], twice = -1, twice+1
		}
	}
	maps.DeleteFunc(at, func(_, i int) bool { return i < 0 })
	return at, twice
}

// ReadRows reads the sheet that stands beside a release of numbered records, and has what is known of them by the
// public state, and by a decoder of its codes where there is one.
func ReadRows(p plan.Plan, state []byte, sheet []byte, decoder *learn.Decoder) (rows Rows, err error) {
	if ask := p.Question.Latent; ask == nil || ask.Records == 0 {
		return rows, errors.New("no release of numbered records: its plan has none")
	}
	m, err := readLatent(p, state, bytes.NewReader(sheet))
	if err != nil {
		return rows, err
	}
	if decoder != nil && decoder.Encoder != p.State {
		return rows, fmt.Errorf("the decoder takes codes of %.12s, and the plan names the encoder %.12s: give the one that was trained with it", decoder.Encoder, p.State)
	}
	for _, r := range m.Numbered.Reports {
		rows.Numbers = append(rows.Numbers, r.Number)
	}
	rows.X, rows.Names, err = Joined(m, decoder)
	return rows, err
}
