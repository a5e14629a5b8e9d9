package sheets

import (
	"bytes"
	"encoding/csv"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/internal/testkit/costlimit"
)

func TestCountsReadBackTheSame(t *testing.T) {
	truth := 12.0
	for name, counts := range map[string][]ValueCount{
		"a collection": {{Attribute: "drink", Value: `tea, "green"`, Estimate: -0.25, StdErr: 1e-3, Low: 0, High: 4, LowAll: 0, HighAll: 5.5, Consistent: 0}},
		"a simulation": {{Attribute: "drink", Crowd: "north", Value: "tea", Estimate: 10, Truth: &truth}, {Attribute: "drink", Crowd: "north", Value: "x"}},
		"formulas":     {{Attribute: "=1+1", Crowd: "@a", Value: "+cmd|' /C calc'!A0"}, {Attribute: "'=1", Crowd: "-5", Value: "-5 to -3", Estimate: -5}},
		"none":         nil,
	} {
		var b bytes.Buffer
		if err := WriteCounts(&b, counts); err != nil {
			t.Fatal(err)
		}
		read, err := ReadCounts(&b, 2)
		if err != nil || !reflect.DeepEqual(read, counts) {
			t.Errorf("%s: %+v, %v", name, read, err)
		}
	}
	head := strings.Join(countColumns, ",") + "\n"
	for name, text := range map[string]string{
		"nothing": "", "other columns": "a,b\n1,2\n", "no number": head + "a,,v,one,0,0,0,0,0,0\n",
		"not finite": head + "a,,v,NaN,0,0,0,0,0,0\n", "a short row": head + "a,,v\n", "too many": head + strings.Repeat("a,,v,0,0,0,0,0,0,0\n", 3),
	} {
		if read, err := ReadCounts(strings.NewReader(text), 2); err == nil {
			t.Errorf("%s: read as %+v", name, read)
		}
	}
}

// No cell of a published table is run by a spreadsheet, and negative numbers stay numbers.
func TestNoCellOfCountsIsRun(t *testing.T) {
	var b bytes.Buffer
	if err := WriteCounts(&b, []ValueCount{{Attribute: "=a", Crowd: "\tb", Value: "@c", Estimate: -2.5, Low: -1e-7}, {Attribute: "+a", Value: "-1"}}); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&b).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, cell := range slices.Concat(rows...) {
		if _, err := strconv.ParseFloat(cell, 64); strings.ContainsAny(cell[:min(1, len(cell))], "=+-@\t\r") && err != nil {
			t.Errorf("%q begins a formula", cell)
		}
	}
	if rows[1][3] != "-2.5" || rows[1][5] != "-1e-07" || rows[2][2] != "-1" {
		t.Errorf("numbers became %q", rows[1:])
	}
}

func FuzzReadCounts(f *testing.F) {
	f.Add(strings.Join(countColumns, ",") + "\ncolour,,red,1,2,0,4,0,5,1\n")
	f.Fuzz(func(t *testing.T, text string) {
		var counts []ValueCount
		var err error
		costlimit.Heap(t, costlimit.Factor, len(text), func() { counts, err = ReadCounts(strings.NewReader(text), 100) })
		if err != nil {
			return
		}
		var b bytes.Buffer
		if err := WriteCounts(&b, counts); err != nil {
			t.Fatal(err)
		}
		if again, err := ReadCounts(&b, 100); err != nil || len(again) != len(counts) {
			t.Fatalf("%d counts, then %d: %v", len(counts), len(again), err)
		}
	})
}
