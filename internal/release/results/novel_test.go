package results

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	device "github.com/confetti-dp/confetti/internal/dp/latent"
	"github.com/confetti-dp/confetti/internal/question/latent"
)

// novelSheet writes how many of the class, or the group, lie in each of three clusters, beside as many others everywhere.
func novelSheet(group bool, held [3]float64) []byte {
	var b bytes.Buffer
	fmt.Fprintln(&b, "group,cluster,class,respondents,std_err,share")
	for _, name := range []string{"others", "new"} {
		for c, n := range held {
			if name == "others" {
				n = 100
			}
			if group {
				fmt.Fprintf(&b, "%s,%d,,%v,1,0\n", name, c+1, n)
			} else if name == "others" { // a cluster has both classes
				fmt.Fprintf(&b, ",%d,others,100,1,0\n,%d,new,%v,1,0\n", c+1, c+1, held[c])
			}
		}
	}
	return b.Bytes()
}

// Where a class without public records is commoner than these, records are told to be of it: by counts of classes and of
// groups, whatever all others told. The twin, whose class lies elsewhere, has it there.
func TestANovelClassIsToldFromPublicRecords(t *testing.T) {
	at := points(0, 0, 6, 0, 0, 6)
	for _, group := range []bool{false, true} {
		p, state := planned(t, false, []string{"others", "new"})
		if group {
			p, state = planned(t, false, nil, "others", "new")
		}
		learn := func(held [3]float64, name string) (Taught, error) {
			return Teach(p, state, novelSheet(group, held), at, false, name, rand.New(rand.NewPCG(1, 2)), still)
		}
		for where := range 3 {
			held := [3]float64{-10, 5, 5}
			held[where] = 300
			got, err := learn(held, "new")
			if err != nil {
				t.Fatal(err)
			}
			for i := range 3 {
				if is := got.Shares[2*i+1] > 0.5; is != (i == where) {
					t.Errorf("groups %v: the class lies in cluster %d, and record %d is of it with %v", group, where+1, i+1, got.Shares[2*i+1])
				}
			}
		}
		if _, err := learn([3]float64{0, 0, 300}, "neu"); err == nil || !strings.Contains(err.Error(), `no class or group "neu"`) {
			t.Error(err)
		}
	}
	p, state := planned(t, false, []string{"others", "new"})
	if _, err := Teach(p, state, novelSheet(false, [3]float64{-200, 50, 100}), at, false, "new", nil, still); err == nil || !strings.Contains(err.Error(), "larger than the class") {
		t.Error(err)
	}
}

// Of vectors the group's reports are held to public prototypes, and those of the other group are not asked.
func TestANovelGroupOfVectors(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	p, state := planned(t, true, nil, "others", "new")
	for where, x := range [][]float32{{4, 0}, {0, 4}} {
		m := &latent.Model{Asked: *p.Question.Latent, Vectors: &latent.Vectors{Groups: p.Crowd.Names, Encoder: ofVectors().Encoder, How: device.Report{Vector: device.Laplace{Dim: 2, Length: 8, Points: 16, Epsilon: 4}}}}
		for i := range 3000 {
			v, _, err := m.Vectors.How.Split(m.Vectors.How.Randomize(r, x, 0))
			if err != nil {
				t.Fatal(err)
			}
			m.Vectors.Reports = append(m.Vectors.Reports, latent.Report{Crowd: i % 2, Vector: v})
		}
		sheet, err := vectorSheet(m)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Teach(p, state, sheet.Text, points(4, 0, 0, 4), false, "new", r, still)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 2 {
			if is := got.Shares[2*i+1] > 0.5; is != (i == where) {
				t.Errorf("the group lies at %v, and point %d is of it with %v", x, i, got.Shares[2*i+1])
			}
		}
	}
	m, state := planned(t, true, []string{"a", "b"})
	if _, err := Teach(m, state, []byte("group,vector,class\n,"+strings.Repeat("00", 8)+",a\n"), points(4, 0, 0, 4), false, "a", r, still); err == nil || !strings.Contains(err.Error(), "leave out --novel") {
		t.Error(err)
	}
}
