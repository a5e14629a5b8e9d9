package ltn

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/internal/dataset"
	"github.com/confetti-dp/confetti/internal/dp/encode/lsa"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/lab/datasets"
	"github.com/confetti-dp/confetti/lab/train/featuremap"
	"github.com/confetti-dp/confetti/simulate"
)

// shift is a set whose public records may be of another kind than those of the respondents and of the test. Its training
// records are the public ones, and then the respondents'.
type shift struct {
	name   string
	public int // records
	takes  func(year int) bool
	source string // of public news
}

// askedYear is when the loans of the respondents and of the test were issued, and askedSource whose news theirs are.
const askedYear, askedSource = 2011, "reuters"

var shifts = []shift{
	{name: "loans_2011", public: 2_600, takes: func(y int) bool { return y == askedYear }},
	{name: "loans_2010", public: 2_600, takes: func(y int) bool { return y == 2010 }},
	{name: "loans_2007_2009", public: 2_600, takes: func(y int) bool { return y < 2010 }},
	{name: "news_reuters", public: 2_000, source: askedSource},
	{name: "news_ap", public: 2_000, source: "ap"},
	{name: "news_unnamed", public: 2_000, source: ""},
}

// ShiftNames returns the names of those sets: loans by the year of the public ones, and news by their agency.
func ShiftNames() (names []string) {
	for _, s := range shifts {
		names = append(names, s.name)
	}
	return names
}

// shiftOf returns the set of a name, and false where it is none of these.
func shiftOf(name string) (shift, bool) {
	at := slices.IndexFunc(shifts, func(s shift) bool { return s.name == name })
	if at < 0 {
		return shift{}, false
	}
	return shifts[at], true
}

// Shifted reads one of the sets whose public records are of a year, or of an agency.
func Shifted(dir, name string, tell simulate.Progress) (*dataset.Set, error) {
	s, ok := shiftOf(name)
	if !ok {
		return nil, fmt.Errorf("data set %q is no shift: choose one of %s", name, strings.Join(ShiftNames(), ", "))
	}
	if s.takes == nil {
		return s.news(dir, tell)
	}
	loans, err := datasets.LoadLoans(dir)
	if err != nil {
		return nil, err
	}
	return s.loans(loans)
}

// loans returns as many loans charged off as paid in each part: public ones of the set's years, and of the last year 450 of each
// for the test. The others of the last year are the respondents'.
func (s shift) loans(loans *datasets.Loans) (*dataset.Set, error) {
	const tested = 450
	column := slices.Index(loans.Names, "issue_year")
	half := s.public / 2
	var public, asked [2][]int // in an order drawn at random
	for i, lost := range loans.Lost {
		class := 0
		if lost {
			class = 1
		}
		year := 2007 + int(loans.X.Data[i*loans.X.Stride+column])
		switch { // in all sets the same records are the respondents'
		case year == askedYear && len(asked[class]) < tested+1_500:
			asked[class] = append(asked[class], i)
		case s.takes(year) && len(public[class]) < half:
			public[class] = append(public[class], i)
		}
	}
	least := min(len(public[0]), len(public[1]))
	n := min(len(asked[0]), len(asked[1]))
	if least < half || n < 2*tested {
		return nil, fmt.Errorf("data set %s: %d public loans of a class and %d of the respondents: %d and %d are needed", s.name, least, n, half, 2*tested)
	}
	cols := loans.X.Cols // the rate in the place of the year
	part := func(of [2][]int, from, to int) (l dataset.Labelled) {
		l.X = blas32.General{Rows: 2 * (to - from), Cols: cols, Stride: cols}
		for k := from; k < to; k++ {
			for class := range of {
				i := of[class][k]
				l.X.Data = append(l.X.Data, loans.X.Data[i*loans.X.Stride:][:cols]...)
				l.X.Data[len(l.X.Data)-cols+column] = float32(loans.Rate[i])
				l.Y = append(l.Y, class)
			}
		}
		return l
	}
	names := slices.Clone(loans.Names)
	names[column] = "int_rate"
	return &dataset.Set{Name: s.name, Classes: []string{"paid", "charged off"}, Columns: names, Checksum: loans.Checksum, Train: after(part(public, 0, half), part(asked, tested, n)), Test: part(asked, 0, tested)}, nil
}

// after returns records after one another.
func after(a, b dataset.Labelled) dataset.Labelled {
	a.X.Rows += b.X.Rows
	a.X.Data, a.Y = append(a.X.Data, b.X.Data...), append(a.Y, b.Y...)
	return a
}

// agency returns which agency a text names as its source: reuters, ap, another, or none.
func agency(text string) string {
	for _, of := range []struct{ name, mark string }{{"reuters", "Reuters"}, {"ap", "AP"}, {"afp", "AFP"}} {
		if strings.Contains(text, "("+of.mark+")") || strings.Contains(" "+text, " "+of.mark+" - ") {
			return of.name
		}
	}
	return ""
}

// news returns AG's, as latent directions of the words of the public ones alone: a device gets no others.
func (s shift) news(dir string, tell simulate.Progress) (*dataset.Set, error) {
	texts, err := datasets.LoadTexts(dir, "agnews_lsa256")
	if err != nil {
		return nil, err
	}
	var public, asked, tested datasets.Written
	add := func(to *datasets.Written, of datasets.Written, i int) {
		to.Texts, to.Y = append(to.Texts, of.Texts[i]), append(to.Y, of.Y[i])
	}
	const askedMost = 2_800
	for _, part := range []datasets.Written{texts.Train, texts.Public} {
		for i, text := range part.Texts {
			switch from := agency(text); {
			case from == askedSource && len(asked.Y) < askedMost: // in all sets the same records are the respondents'
				add(&asked, part, i)
			case from == s.source && len(public.Y) < s.public:
				add(&public, part, i)
			}
		}
	}
	for i, text := range texts.Test.Texts {
		if agency(text) == askedSource {
			add(&tested, texts.Test, i)
		}
	}
	if len(public.Y) < s.public || len(asked.Y) < askedMost || len(tested.Y) == 0 {
		return nil, fmt.Errorf("data set %s: %d public news, %d of the respondents and %d for the test: %d, %d and some are needed", s.name, len(public.Y), len(asked.Y), len(tested.Y), s.public, askedMost)
	}
	const directions, forWords = 128, 0x5417
	m, err := featuremap.Texts(seeded.New(forWords), public.Texts, directions, lsa.Words{Common: 0.05, Singular: true}, 1, featuremap.Progress(tell))
	if err != nil {
		return nil, err
	}
	rows := func(of datasets.Written) (dataset.Labelled, error) {
		l := dataset.Labelled{X: blas32.General{Rows: len(of.Y), Cols: m.Len(), Stride: m.Len()}, Y: of.Y}
		for _, text := range of.Texts {
			x, err := m.OfText(text)
			if err != nil {
				return l, err
			}
			length := 0.0
			for _, v := range x {
				length += float64(v) * float64(v)
			}
			length = math.Max(math.Sqrt(length), 1e-6) // a text of unknown words stays where it is
			for _, v := range x {
				l.X.Data = append(l.X.Data, float32(float64(v)/length))
			}
		}
		return l, nil
	}
	set := &dataset.Set{Name: s.name, Classes: texts.Classes, Checksum: texts.Checksum}
	if set.Test, err = rows(tested); err != nil {
		return nil, err
	}
	known, err := rows(public)
	if err != nil {
		return nil, err
	}
	theirs, err := rows(asked)
	set.Train = after(known, theirs)
	return set, err
}
