// Package crosstabs makes up people whose columns tell of each other, and measures tables of every two beside rivals
// (docs/crosstabs.md). Used by lab/cmd/confetti-lab/experiment.
package crosstabs

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"

	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/plan"
)

// Populations names those that are known: a census, in which columns follow from each other in chains and in threes; and
// habits, of which nearly everybody has none, and the others have them by five sorts.
func Populations() []string { return []string{"census", "habits"} }

// People returns the columns of a population and the records of so many of its people.
func People(name string, people int, seed uint64) ([]plan.Column, [][]string, error) {
	const forPeople = 0x7ab
	r := seeded.New(seed, forPeople)
	named, sizes, one := censusNames, censusSizes, func() []int { return citizen(r) }
	switch name {
	case "census":
	case "habits":
		named, sizes, one = habitNames, habitSizes, func() []int { return habits(r) }
	default:
		return nil, nil, fmt.Errorf("no population is called %q: choose one of %s", name, strings.Join(Populations(), ", "))
	}
	var columns []plan.Column
	for i, column := range strings.Fields(named) {
		c := plan.Column{Name: column}
		for v := range sizes[i] {
			c.Values = append(c.Values, value(v))
		}
		columns = append(columns, c)
	}
	rows := make([][]string, people)
	for i := range rows {
		for _, v := range one() {
			rows[i] = append(rows[i], value(v))
		}
	}
	return columns, rows, nil
}

func value(v int) string { return fmt.Sprintf("v%d", v) }

// pick draws a number by its weight.
func pick(r *rand.Rand, weights ...float64) int {
	sum := 0.0
	for _, w := range weights {
		sum += w
	}
	at := r.Float64() * sum
	for i, w := range weights {
		if at -= w; at < 0 {
			return i
		}
	}
	return len(weights) - 1
}

// near draws one of k numbers, those near a centre most often.
func near(r *rand.Rand, centre float64, k int, wide float64) int {
	weights := make([]float64, k)
	for i := range weights {
		z := (float64(i) - centre) / wide
		weights[i] = math.Exp(-z * z / 2)
	}
	return pick(r, weights...)
}

// around draws one of k numbers on a circle, by how near each is to a share of it.
func around(r *rand.Rand, share float64, k int, strength float64) int {
	weights := make([]float64, k)
	for i := range weights {
		weights[i] = math.Exp(strength * math.Cos(2*math.Pi*(float64(i)/float64(k)-share)))
	}
	return pick(r, weights...)
}

// of returns what a number of a case is, and nothing otherwise.
func of(is bool, x float64) float64 {
	if is {
		return x
	}
	return 0
}

const censusNames = "age sex schooling work region family hours income owner children way birthplace"

var censusSizes = []int{8, 2, 6, 8, 6, 4, 4, 8, 2, 4, 6, 6}

// citizen draws a person of the census.
func citizen(r *rand.Rand) []int {
	age, sex := pick(r, .1, .14, .17, .17, .15, .13, .09, .05), r.IntN(2)
	a, s := float64(age), float64(sex)
	schooling := near(r, 2.6+.25*min(a, 3)-.12*max(a-4, 0), 6, 1.2)
	if age == 0 {
		schooling = min(schooling, 2)
	}
	work := around(r, float64(schooling)/6+.25*s, 8, 1.3)
	region := pick(r, .3, .2, .15, .15, .12, .08)
	family := pick(r, .85, .12, .02, .01)
	if age >= 2 {
		family = pick(r, max(.01, .5-.06*a), .45+.01*a, .1, .02+.006*a*a*(1+s))
	}
	married := family == 1
	hours := pick(r, .8, .1, .07, .03)
	if age < 6 {
		hours = near(r, 1.8+of(work%3 == 0, .5)-of(sex == 1 && married, .7), 4, .7)
	}
	income := near(r, .96*float64(schooling)+.5*float64(hours)+of(work > 4, .8)+.3*min(a, 4)-1.2-.5*s, 8, 1.1)
	owner := 0
	if r.Float64() < 1/(1+math.Exp(3.2-.5*float64(income)-.3*a-of(married, .8))) {
		owner = 1
	}
	children, way := 0, 0
	if age >= 1 {
		children = near(r, .3+of(married && age > 1 && age < 5, 1.4), 4, .8)
	}
	if hours > 0 {
		way = 1 + around(r, float64(region)/6+.5*float64(owner), 5, 1.1)
	}
	home := make([]float64, 6)
	for i := range home {
		home[i] = of(i == region, 4) + .3*float64(1+schooling)
	}
	return []int{age, sex, schooling, work, region, family, hours, income, owner, children, way, pick(r, home...)}
}

const habitNames = "smokes skis sails hunts paints knits rides climbs gambles brews sings fasts"

var habitSizes = []int{3, 2, 2, 3, 2, 2, 4, 2, 3, 2, 2, 4}

// habits draws a person of whom each habit is rare. Of one sort in five they come in threes: who has two of a kind has the
// third by whether they are the same.
func habits(r *rand.Rand) []int {
	record, sort := make([]int, len(habitSizes)), r.IntN(5)
	for i, k := range habitSizes {
		rare := 0.07
		if i%5 == sort {
			rare = 0.3
		}
		if r.Float64() < rare {
			record[i] = 1 + r.IntN(k-1)
		}
	}
	if sort == 4 {
		for i := 0; i < len(record); i += 3 {
			record[i+2] = of2(record[i] > 0, record[i+1] > 0)
		}
	}
	return record
}

// of2 returns 1 where just one is true.
func of2(a, b bool) int {
	if a != b {
		return 1
	}
	return 0
}
