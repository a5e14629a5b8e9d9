package power

import (
	"cmp"
	"errors"
	"math"
	"slices"

	"github.com/confetti-dp/confetti/internal/dp/lift"
	"github.com/confetti-dp/confetti/plan"
)

// Row is what is known of people who are not asked: what one holds of a metric, by the numbers that a plan names.
type Row struct {
	Of, Before, Per float64
	People          float64 // how many hold it; of a release with noise, and so perhaps below zero

	// Of a release, whose cells are ranges of numbers: the best guess of how many hold it, how far the mean of what was before may
	// be off, and whether the metric's range has no upper end.
	Held, Off float64
	Open      bool
}

// Known is what is known of a metric beforehand: rows of a file that is public, or cells of an earlier release.
type Known struct {
	Rows []Row
	// Error returns the standard error of a sum of all rows' people, each times a weight; nil of a file.
	Error func(weights []float64) float64
}

// sum returns all rows' people, each times a weight, with the noise of that; of the best guesses or as they are.
func (k Known) sum(weight func(Row) float64) (raw, noise float64) {
	weights := make([]float64, len(k.Rows))
	for i, r := range k.Rows {
		weights[i] = weight(r)
		raw += weights[i] * r.People
	}
	if k.Error != nil {
		noise = k.Error(weights)
	}
	return raw, noise
}

// Shape is what people of the earlier round hold of a metric after its cut.
type Shape struct {
	Mean     float64 // of the metric; of a ratio of what it is divided by times its rate
	Unit     float64 // mean of the place in the range
	Variance float64 // of what is left, after the cut
	Whole    float64 // variance of the metric itself, uncut
	Best     float64 // and of what is left of it, uncut: what a test without privacy would face
	Lost     float64 // part of an effect in proportion that the cut takes, as far as is known
	OutOf    float64 // people who were known
}

const (
	mostLost   = 0.25 // of an effect, that may be lost to a cut and still be bounded
	sureBy     = 1.3  // deviations of the earlier round's noise, added to what is lost
	dearest    = 3.0  // times as much variance as of the capped metric, that bounding the loss may cost
	cappedTop  = 0.03 // of people, that the capped metric cuts off at the top
	cutBelow   = 0.005
	seenBy     = 3.0 // deviations of noise above which somebody is taken to be in a range
	somebody   = 0.5 // people, more than which are one
	ladder     = 1.5 // from one end of a range to the next that is tried
	rungs      = 17
	rungsBelow = 11
)

var errNobody = errors.New("experiment: of what is known nothing stands out from noise, or all of it is zero: give rows or a release of more people")

// Fit fills in of a measure what follows from what is known of others: what is subtracted, and the range that leaves the
// least variance to a round of so many, with what its cut loses. noise is the deviation of the noise in each number of a
// round's sums.
func (k Known) Fit(m plan.Measure, people int, noise float64) (plan.Measure, Shape, error) {
	var s Shape
	top := k.top()
	held := func(r Row) float64 {
		switch {
		case k.Error == nil:
			return r.People
		case r.Of > top.Of || r.Before > top.Before: // where nobody stands out
			return 0
		}
		return r.Held
	}
	var sumX, sumY, sumD, n float64
	for _, r := range k.Rows {
		w := held(r)
		n += w
		sumX, sumY, sumD = sumX+w*math.Min(r.Before, top.Before), sumY+w*r.Of, sumD+w*r.Per
	}
	if n <= 0 || sumY == 0 {
		return m, s, errNobody
	}
	meanX, meanY := sumX/n, sumY/n
	s.OutOf, s.Mean = n, meanY
	if m.Per != "" {
		m.PerMean = sumD / n
		if !(m.PerMean > 0) {
			return m, s, errNobody
		}
		m.Rate = round(meanY / m.PerMean)
	}
	if m.Before != "" {
		m.Most = round(top.Before)
		var xx, xy float64
		for _, r := range k.Rows {
			w, x := held(r), math.Min(r.Before, top.Before)-meanX
			y := math.Min(r.Of, top.Of) - meanY - m.Rate*(r.Per-m.PerMean)
			xx, xy = xx+w*x*x, xy+w*x*y
		}
		if xx > 0 {
			m.Times = round(math.Max(0, math.Min(2, xy/xx)))
		}
	}
	m, s, err := k.cut(m, s, n, people, noise, held)
	if err == nil {
		m.Taken, m.TakenError = k.taken(m, n, held)
	}
	return m, s, err
}

// top returns the largest numbers that count: of a file all but the last thousandth, of a release those where somebody
// stands out.
func (k Known) top() (top Row) {
	if k.Error != nil {
		return Row{Of: k.highest(func(r Row) float64 { return r.Of }), Before: k.highest(func(r Row) float64 { return r.Before })}
	}
	quantile := func(of func(Row) float64) float64 {
		all := make([]float64, len(k.Rows))
		for i, r := range k.Rows {
			all[i] = of(r)
		}
		slices.Sort(all)
		if len(all) == 0 {
			return 0
		}
		return all[len(all)-1-len(all)/1000]
	}
	top.Before, top.Of = quantile(func(r Row) float64 { return r.Before }), quantile(func(r Row) float64 { return r.Of })
	return top
}

// highest returns the highest of a number that somebody holds.
func (k Known) highest(of func(Row) float64) (high float64) {
	tried := map[float64]bool{}
	for _, r := range k.Rows {
		at := of(r)
		if tried[at] || at <= high {
			continue
		}
		tried[at] = true
		n, noise := k.sum(func(r Row) float64 {
			if of(r) == at {
				return 1
			}
			return 0
		})
		if n > math.Max(somebody, seenBy*noise) {
			high = at
		}
	}
	return high
}

// endless reports whether somebody is in the range of the metric that has no upper end: what is above is not known then.
func (k Known) endless() bool {
	n, noise := k.sum(func(r Row) float64 {
		if r.Open {
			return 1
		}
		return 0
	})
	return n > math.Max(somebody, seenBy*noise)
}

// round keeps three digits: a plan's numbers are read by people.
func round(x float64) float64 {
	if x == 0 {
		return 0
	}
	unit := math.Pow10(int(math.Floor(math.Log10(math.Abs(x)))) - 2)
	return math.Round(x/unit) * unit
}

// bin is what lies between two ends of ranges: people, and sums of what is left, its square and the metric.
type bin struct{ n, left, square, raw, rawPeople float64 }

// cut chooses the range.
func (k Known) cut(m plan.Measure, s Shape, n float64, people int, noise float64, held func(Row) float64) (plan.Measure, Shape, error) {
	whole := 0.0
	two := true // zeros and ones alone
	var meanLeft float64
	for _, r := range k.Rows {
		if w := held(r); w > 0 {
			rest := left(m, r)
			meanLeft += w * rest / n
			whole += w * (r.Of - s.Mean) * (r.Of - s.Mean) / n
			two = two && (r.Of == 0 || r.Of == 1) && r.Before >= 0
		}
	}
	for _, r := range k.Rows {
		s.Best += held(r) * (left(m, r) - meanLeft) * (left(m, r) - meanLeft) / n
	}
	s.Whole = whole
	ends := steps(s.Mean)
	if two && m.Per == "" { // nothing is cut
		ends = []float64{0 - m.Times*math.Max(0, m.Most), 1}
	}
	bins := make([]bin, len(ends)+1) // what lies below the first end, between two, above the last
	for _, r := range k.Rows {
		rest, w := left(m, r), held(r)
		i, _ := slices.BinarySearch(ends, rest)
		b := &bins[i]
		b.n, b.left, b.square = b.n+w, b.left+w*rest, b.square+w*rest*rest
		b.raw, b.rawPeople = b.raw+r.People*r.Of, b.rawPeople+r.People
	}
	noiseAbove := make([]float64, len(ends)) // of the metric above an end
	for j, high := range ends {
		if k.Error == nil {
			break
		}
		_, noiseAbove[j] = k.sum(func(r Row) float64 {
			if left(m, r) > high {
				return r.Of
			}
			return 0
		})
	}
	endless := k.endless()
	type choice struct {
		low, high, cost, alike, share, lost, unit, variance float64
	}
	var best, capped *choice
	total := n * s.Mean
	for i, low := range ends[:len(ends)-1] {
		if below := sum(bins[:i+1]); !two && below.n > cutBelow*n {
			break
		}
		for j := i + 1; j < len(ends); j++ {
			high := ends[j]
			if !two && high <= 0 {
				continue
			}
			below, inside, above := sum(bins[:i+1]), sum(bins[i+1:j+1]), sum(bins[j+1:])
			mean := (below.n*low + inside.left + above.n*high) / n
			variance := (below.n*low*low+inside.square+above.n*high*high)/n - mean*mean
			u := (mean - low) / (high - low)
			c := choice{low: low, high: high, unit: u, variance: math.Max(0, variance)}
			c.cost = c.variance/float64(people) + 2*noise*noise*(high-low)*(high-low)*((1-u)*(1-u)+u*u)/float64(people)/float64(people)
			c.alike = math.Max(0, above.rawPeople) / n
			c.lost = math.Max(0, above.raw) / total
			c.share = math.Max(c.alike, c.lost+sureBy*noiseAbove[j]/total)
			if two {
				c.alike, c.share, c.lost = 0, 0, 0
			}
			if !endless && c.share <= mostLost && (best == nil || c.cost*(1+c.share)*(1+c.share) < best.cost*(1+best.share)*(1+best.share)) {
				best = &c
			}
			if above.n <= cappedTop*n && (capped == nil || c.cost < capped.cost) {
				capped = &c
			}
		}
	}
	switch {
	case best == nil && capped == nil:
		return m, s, errNobody
	case best == nil || capped != nil && best.cost > dearest*capped.cost:
		best, m.Capped = capped, true
		best.alike, best.share = 0, 0
	}
	m.Low, m.High, m.LostAlike, m.LostShare = best.low, best.high, up(best.alike), up(best.share)
	s.Unit, s.Variance, s.Lost = best.unit, best.variance, best.lost
	return m, s, nil
}

// left returns what is left of a row's metric.
func left(m plan.Measure, r Row) float64 {
	held := []float64{r.Of}
	if m.Before != "" {
		held = append(held, r.Before)
	}
	if m.Per != "" {
		held = append(held, r.Per)
	}
	return lift.Left(m, held)
}

func sum(all []bin) (b bin) {
	for _, one := range all {
		b.n, b.left, b.square = b.n+one.n, b.left+one.left, b.square+one.square
		b.raw, b.rawPeople = b.raw+one.raw, b.rawPeople+one.rawPeople
	}
	return b
}

// steps returns ends of ranges in rising order: powers of ladder times an eighth of a typical size, on both sides of
// zero.
func steps(mean float64) []float64 {
	typical := math.Abs(mean) / 8
	ends := []float64{0}
	for i := range rungs {
		ends = append(ends, round(typical*math.Pow(ladder, float64(i))))
		if i < rungsBelow {
			ends = append(ends, -round(typical*math.Pow(ladder, float64(i))))
		}
	}
	slices.SortFunc(ends, cmp.Compare[float64])
	return ends
}

// taken returns the mean of what a metric has beside what is told of it, with its error: what is subtracted and, of one that is
// not capped, what is cut off.
func (k Known) taken(m plan.Measure, n float64, held func(Row) float64) (mean, deviation float64) {
	of := func(r Row) float64 {
		rest := left(m, r)
		if m.Capped {
			return r.Of - rest
		}
		return r.Of - math.Max(m.Low, math.Min(m.High, rest))
	}
	for _, r := range k.Rows {
		mean += held(r) * of(r) / n
	}
	off := 0.0
	for _, r := range k.Rows {
		deviation += held(r) * (of(r) - mean) * (of(r) - mean)
		off += held(r) * math.Abs(m.Times) * r.Off
	}
	_, noise := k.sum(func(r Row) float64 {
		if held(r) == 0 {
			return 0
		}
		return of(r) - mean
	})
	return mean, up(math.Sqrt(deviation+noise*noise+off*off) / n)
}

// up keeps three digits, and rounds up.
func up(x float64) float64 {
	if x == 0 {
		return 0
	}
	unit := math.Pow10(int(math.Floor(math.Log10(x))) - 2)
	return math.Ceil(x/unit*(1-1e-12)) * unit
}
