package train

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/internal/question/label"
	"github.com/confetti-dp/confetti/internal/release/results"
	"github.com/confetti-dp/confetti/internal/release/sheets"
	"github.com/confetti-dp/confetti/internal/testkit/costlimit"
	"github.com/confetti-dp/confetti/plan"
)

func labelPlan(report string) plan.Plan {
	l := &plan.Label{Classes: []string{"a", "=b, or c"}, Report: report, Randomizer: &plan.Randomizer{Epsilon: 1}, Records: 9}
	return plan.Plan{Question: plan.Question{Label: l}, Crowd: plan.Crowd{Names: []string{"one", "two", "three"}}}
}

// What a sheet was written of is what is read from it.
func TestSheetsOfLabelsAreReadBack(t *testing.T) {
	p := labelPlan(plan.LabelEach)
	m := &label.Model{Asked: *p.Question.Label, Epsilon: 1, Reports: []label.Report{{Number: 3, Class: 1}, {Number: 8, Class: 0}}}
	written, err := results.Beside(m, results.Public{})
	if err != nil {
		t.Fatal(err)
	}
	got, err := readLabels(p, bytes.NewReader(written.Text))
	if err != nil || !slices.Equal(got.Of, []int{3, 8}) || !slices.Equal(got.Said, []int{1, 0}) || got.Epsilon != 1 || got.Likely != nil {
		t.Errorf("%+v, %v", got, err)
	}
	p = labelPlan(plan.LabelClusters)
	var text bytes.Buffer
	if err := sheets.WriteCounts(&text, []sheets.ValueCount{
		{Attribute: "label", Crowd: "one", Value: "a", Estimate: 110, Consistent: 100}, {Attribute: "label", Crowd: "one", Value: "=b, or c", Estimate: -10},
		{Attribute: "label", Crowd: "three", Value: "a", Consistent: 10}, {Attribute: "label", Crowd: "three", Value: "=b, or c", Consistent: 30},
	}); err != nil {
		t.Fatal(err)
	}
	if got, err = readLabels(p, &text); err != nil {
		t.Fatal(err)
	}
	for c, want := range [][]float64{{1, 0}, nil, {0.25, 0.75}} {
		for k, share := range want {
			if math.Abs(got.Likely[c][k]-share) > 1e-9 {
				t.Errorf("cluster %d: %v, want %v", c, got.Likely[c], want)
			}
		}
		if want == nil && got.Likely[c] != nil {
			t.Errorf("a cluster that was withheld has %v", got.Likely[c])
		}
	}
}

func TestOtherSheetsAreRefused(t *testing.T) {
	head := "attribute,crowd,value,estimate,std_err,low,high,low_all,high_all,consistent\n"
	for name, c := range map[string]struct{ report, sheet string }{
		"of sums":         {plan.LabelSums, head + "label,one,a,1,1,1,1,1,1,1\n"},
		"nothing":         {plan.LabelClusters, ""},
		"no counts":       {plan.LabelClusters, head},
		"another cluster": {plan.LabelClusters, head + "label,four,a,1,1,1,1,1,1,1\n"},
		"another label":   {plan.LabelClusters, head + "label,one,d,1,1,1,1,1,1,1\n"},
		"not a number":    {plan.LabelClusters, head + "label,one,a,1,1,1,1,1,1,NaN\n"},
		"fewer columns":   {plan.LabelClusters, "a,b\nlabel,one\n"},
		"another record":  {plan.LabelEach, "record,reported\n9,a\n"},
		"no record":       {plan.LabelEach, "record,reported\n-1,a\n"},
		"one column":      {plan.LabelEach, "record\n1\n"},
	} {
		if got, err := readLabels(labelPlan(c.report), strings.NewReader(c.sheet)); err == nil {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if _, err := readLabels(plan.Plan{}, strings.NewReader(head)); err == nil {
		t.Error("a plan that asks no labels is taken")
	}
}

// recordPlan asks three clusters of private records which of two classes goes with each.
func recordPlan() plan.Plan {
	return plan.Plan{Question: plan.Question{Latent: &plan.Latent{Classes: []string{"a", "=b, or c"}, Report: plan.LatentSymbols, Clusters: 3}}}
}

// Shares of classes among private records are read back; a cluster without public inputs has none.
func TestSheetsOfPrivateRecordsAreReadBack(t *testing.T) {
	const head = "group,cluster,class,respondents,std_err,share\n"
	got, err := readLabels(recordPlan(), strings.NewReader(head+"respondents,1,a,30,4,0.75\nrespondents,1,\"'=b, or c\",10,4,0.25\nrespondents,2,a,-1,4,\nrespondents,3,a,0,4,0\nrespondents,3,\"'=b, or c\",9,4,1\n"))
	if err != nil || !got.Local || !slices.EqualFunc(got.Likely, [][]float64{{0.75, 0.25}, nil, {0, 1}}, slices.Equal[[]float64]) {
		t.Errorf("%+v, %v", got, err)
	}
	for name, row := range map[string]string{
		"another cluster": "respondents,4,a,1,1,1\n", "another class": "respondents,1,d,1,1,1\n", "no share": "respondents,1,a,1,1,2\n", "fewer columns": "respondents,1\n", "none known": "respondents,1,a,1,1,\n",
	} {
		if _, err := readLabels(recordPlan(), strings.NewReader(head+row)); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
}

// Whatever is read of a sheet fits its plan.
func FuzzReadLabels(f *testing.F) {
	f.Add(uint8(2), []byte("group,cluster,class,respondents,std_err,share\nrespondents,1,a,30,4,0.75\n"))
	f.Add(uint8(1), []byte("record,reported\n1,a\n"))
	f.Add(uint8(0), []byte("attribute,crowd,value,estimate,std_err,low,high,low_all,high_all,consistent\nlabel,one,a,1,1,1,1,1,1,1\n"))
	f.Fuzz(func(t *testing.T, kind uint8, sheet []byte) {
		p := labelPlan(plan.LabelClusters)
		switch kind {
		case 1:
			p = labelPlan(plan.LabelEach)
		case 2:
			p = recordPlan()
		}
		var l *labelSheet
		var err error
		costlimit.Heap(t, costlimit.Factor, len(sheet), func() { l, err = readLabels(p, bytes.NewReader(sheet)) })
		if err != nil {
			return
		}
		for i, record := range l.Of {
			if record < 0 || record >= l.Records || l.Said[i] < 0 || l.Said[i] >= len(l.Classes) {
				t.Errorf("class %d of record %d", l.Said[i], record)
			}
		}
		for _, likely := range l.Likely {
			for _, share := range likely {
				if !(share >= 0 && share <= 1+1e-9) {
					t.Errorf("shares %v", likely)
				}
			}
		}
	})
}
