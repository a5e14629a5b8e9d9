package datasets

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/internal/dataset"
	"github.com/confetti-dp/confetti/internal/table"
)

// Loans are what a lender knows when a loan is asked for, and what came of it, in an
// order drawn at random once and for all.
type Loans struct {
	Names []string
	X     blas32.General // a row for each loan; amounts and incomes as logarithms
	Rate  []float64      // of interest, a fraction
	Lost  []bool         // charged off

	Checksum string // of the file that they were read from
}

var (
	loanNumbers  = []string{"loan_amnt", "term", "annual_inc", "dti", "delinq_2yrs", "inq_last_6mths", "open_acc", "pub_rec", "revol_bal", "revol_util", "total_acc", "pub_rec_bankruptcies"}
	loanLogs     = []string{"loan_amnt", "annual_inc", "revol_bal"}
	loanPurposes = []string{"debt_consolidation", "credit_card", "home_improvement", "major_purchase", "small_business"}
)

// LoadLoans reads lending_club of the data folder. The grade that the lender gave, which
// says the rate, and what was paid later are left out.
func LoadLoans(dir string) (*Loans, error) {
	l, path := &Loans{}, filepath.Join(dir, "lending_club", "loans_2007_2011.csv.gz")
	err := plainFile(path, l.read)
	if err == nil {
		l.Checksum, err = dataset.Checksum(path)
	}
	if err != nil {
		return nil, fmt.Errorf("data set lending_club: %w", err)
	}
	rand.New(rand.NewPCG(2007, 2011)).Shuffle(l.X.Rows, func(i, j int) {
		a, b := row(l.X, i), row(l.X, j)
		for k := range a {
			a[k], b[k] = b[k], a[k]
		}
		l.Rate[i], l.Rate[j] = l.Rate[j], l.Rate[i]
		l.Lost[i], l.Lost[j] = l.Lost[j], l.Lost[i]
	})
	return l, nil
}

func (l *Loans) read(r io.Reader) error {
	in := csv.NewReader(r)
	names, err := in.Read()
	if err != nil {
		return fmt.Errorf("no line of column names: %w", table.PlainError(err))
	}
	at := map[string]int{}
	for i, name := range names {
		at[name] = i
	}
	for _, name := range append(slices.Clone(loanNumbers), "int_rate", "loan_status", "emp_length", "home_ownership", "verification_status", "purpose", "issue_d", "earliest_cr_line") {
		if _, ok := at[name]; !ok {
			return fmt.Errorf("no column %s", name)
		}
	}
	for line := 2; ; line++ {
		cells, err := in.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return table.PlainError(err)
		}
		cell := func(name string) string { return cells[at[name]] }
		rate, err := strconv.ParseFloat(cell("int_rate"), 64)
		if err != nil || !(rate > 0 && rate < 1) {
			return fmt.Errorf("line %d: no rate of interest", line)
		}
		features := loanFeatures(cell)
		l.X.Rows, l.X.Cols, l.X.Stride = l.X.Rows+1, len(features), len(features)
		l.X.Data, l.Rate = append(l.X.Data, features...), append(l.Rate, rate)
		l.Lost = append(l.Lost, strings.HasSuffix(cell("loan_status"), "Charged Off"))
	}
	l.Names = append(slices.Clone(loanNumbers), "credit_years", "issue_year", "emp_length", "rent", "mortgage", "verified", "source_verified")
	l.Names = append(l.Names, loanPurposes...)
	if l.X.Rows == 0 {
		return errors.New("no loans")
	}
	return nil
}

// loanFeatures: an empty cell counts as 0.
func loanFeatures(cell func(name string) string) (x []float32) {
	number := func(name string) float64 {
		v, err := strconv.ParseFloat(cell(name), 64)
		if err != nil || v-v != 0 {
			return 0
		}
		return v
	}
	for _, name := range loanNumbers {
		v := number(name)
		if slices.Contains(loanLogs, name) {
			v = math.Log1p(math.Max(0, v))
		}
		x = append(x, float32(v))
	}
	issued, _ := time.Parse(time.DateOnly, cell("issue_d"))
	first, _ := time.Parse(time.DateOnly, cell("earliest_cr_line"))
	const year = 365.25 * 24
	x = append(x, float32(issued.Sub(first).Hours()/year), float32(issued.Year()-2007), float32(years(cell("emp_length"))))
	is := func(name string, values ...string) {
		for _, v := range values {
			if cell(name) == v {
				x = append(x, 1)
			} else {
				x = append(x, 0)
			}
		}
	}
	is("home_ownership", "RENT", "MORTGAGE")
	is("verification_status", "Verified", "Source Verified")
	is("purpose", loanPurposes...)
	return x
}

// years of "10+ years", "3 years" and "< 1 year".
func years(text string) int {
	n := 0
	for _, c := range text {
		if c < '0' || c > '9' {
			break
		}
		n = 10*n + int(c-'0')
	}
	return n
}

func row(x blas32.General, i int) []float32 { return x.Data[i*x.Stride : i*x.Stride+x.Cols] }
