package dataset

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
)

// sampleClass is a class of the made-up people: how often it is drawn, what it
// drinks, spends and likes.
type sampleClass struct {
	name   string
	weight float64
	drinks []float64 // weights of sampleDrinks
	spend  float64   // median a week
	likes  []float64 // means of sampleLikes
}

var (
	sampleDrinks  = []string{"coffee", "tea", "water", "juice", "mate"}
	sampleSnacks  = []string{"fruit", "nuts", "cake", "crisps"}
	sampleLikes   = []string{"sweet", "bitter", "sour", "salty", "spicy", "rich", "crisp", "soft", "cold", "hot", "new", "known"}
	sampleClasses = []sampleClass{
		{"student", 0.45, []float64{35, 20, 15, 10, 20}, 18, []float64{1, -1, 1, 1, 1, -1, 1, -1, 1, -1, 1, -1}},
		{"staff", 0.35, []float64{50, 25, 15, 5, 5}, 31, []float64{-1, 1, -1, 1, -1, 1, 1, 1, -1, 1, -1, 1}},
		{"guest", 0.20, []float64{30, 30, 25, 14, 1}, 24, []float64{1, 1, -1, -1, 1, 1, -1, 1, 1, 1, 1, -1}},
	}
)

// How far people of one class differ from its means, so that the nearest mean is
// right for about nine in ten.
const sampleSpread = 2.2

// MaxSample bounds the rows of a sample.
const MaxSample = 1 << 22

// WriteExperiment writes a made-up table of people whom chance has put into two arms, for trying things out: arm, minutes of use a
// day with a long tail, and those of the week before. The new arm has a twentieth more.
func WriteExperiment(w io.Writer, r *rand.Rand, rows int) error {
	if rows < 1 || rows > MaxSample {
		return fmt.Errorf("a sample of %d rows: ask for 1 to %d", rows, MaxSample)
	}
	const usual, spread, alike, lift = 24, 0.8, 0.8, 0.05
	b := bufio.NewWriter(w)
	b.WriteString("arm,minutes,minutes_before\n")
	for range rows {
		before, arm, more := r.NormFloat64(), "control", 1.0
		now := alike*before + math.Sqrt(1-alike*alike)*r.NormFloat64()
		if r.IntN(2) == 1 {
			arm, more = "new", 1+lift
		}
		fmt.Fprintf(b, "%s,%.2f,%.2f\n", arm, more*usual*math.Exp(spread*now), usual*math.Exp(spread*before))
	}
	return b.Flush()
}

// WriteSample writes a made-up table of the people in a canteen, for trying things
// out: drawn at random, and of nobody. Columns:
// id, a running number; class; drink; snacks, a set that may be empty, items set
// apart by semicolons; spend, in a week, with a long tail; age; and twelve tastes
// likes_NAME about 0.
func WriteSample(w io.Writer, r *rand.Rand, rows int) error {
	if rows < 1 || rows > MaxSample {
		return fmt.Errorf("a sample of %d rows: ask for 1 to %d", rows, MaxSample)
	}
	b := bufio.NewWriter(w)
	b.WriteString("id,class,drink,snacks,spend,age,likes_" + strings.Join(sampleLikes, ",likes_") + "\n")
	for id := range rows {
		c := sampleClasses[weighted(r, func(i int) float64 { return sampleClasses[i].weight }, len(sampleClasses))]
		drink := sampleDrinks[weighted(r, func(i int) float64 { return c.drinks[i] }, len(c.drinks))]
		var snacks []string
		for i, s := range sampleSnacks {
			if r.Float64() < 0.4/float64(i+1) {
				snacks = append(snacks, s)
			}
		}
		spend := c.spend * math.Exp(0.7*r.NormFloat64())
		age := min(90, 18+int(math.Abs(r.NormFloat64())*14))
		fmt.Fprintf(b, "%d,%s,%s,%s,%.2f,%d", id+1, c.name, drink, strings.Join(snacks, ";"), spend, age)
		for _, mean := range c.likes {
			b.WriteByte(',')
			b.WriteString(strconv.FormatFloat(0+math.Round(10*(mean+sampleSpread*r.NormFloat64()))/10, 'f', 1, 64))
		}
		b.WriteByte('\n')
	}
	return b.Flush()
}

// weighted draws one of n by weight.
func weighted(r *rand.Rand, weight func(i int) float64, n int) int {
	sum := 0.0
	for i := range n {
		sum += weight(i)
	}
	x := r.Float64() * sum
	for i := range n - 1 {
		if x -= weight(i); x < 0 {
			return i
		}
	}
	return n - 1
}
