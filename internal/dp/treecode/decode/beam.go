package decode

import (
	"cmp"
	"math"
	"slices"

	"github.com/confetti-dp/confetti/internal/dp/treecode"
)

// path is a beginning of strings of a bucket.
type path struct {
	state         treecode.State
	sum           float32 // of its cells
	alike, spelt  float32 // logs of its priors
	fit           float32 // by which paths are kept
	parent        int32
	symbol        uint8
	before, pairs uint8 // the symbol before, and the one before that
	ended         bool
}

// came tells how a path came to its place.
type came struct {
	parent int32
	symbol uint8
}

// beam walks the tree of one bucket at a time.
type beam struct {
	*decoder
	paths, next []path
	came        [][]came // by place
	fits        []float32
	sums        []float32
}

func newBeam(d *decoder) *beam {
	return &beam{decoder: d, came: make([][]came, d.Length()), sums: make([]float32, d.size)}
}

// candidate is a whole string of the bucket.
type candidate struct {
	symbols []uint8
	fit     float32
}

// walk returns the likeliest whole strings of a bucket, of what is left of its sums, from a beam of a width. It reads no
// position of a tail.
func (b *beam) walk(left []float32, bucket, width int) []candidate {
	scale := float32(1 / (b.roots * b.centred))
	for i, x := range left {
		b.sums[i] = x * scale
	}
	b.paths = append(b.paths[:0], path{state: b.Root()})
	if b.prior == nil {
		b.paths[0].spelt = -1e9
	}
	floor := float32(math.Inf(-1))
	for at := range b.Length() {
		// As many paths of noise alone are above a floor at one position as at the next, about.
		b.next = b.next[:0]
		if floor -= slack; !b.goOn(bucket, at, width, floor) {
			b.next = b.next[:0]
			b.goOn(bucket, at, width, float32(math.Inf(-1)))
		}
		floor = b.keep(width)
		b.came[at] = b.came[at][:0]
		for _, p := range b.next {
			b.came[at] = append(b.came[at], came{p.parent, p.symbol})
		}
		b.paths, b.next = b.next, b.paths
	}
	var out []candidate
	for i, p := range b.paths {
		if b.Bucket(p.state) == bucket {
			out = append(out, candidate{b.symbols(i), p.fit})
		}
	}
	slices.SortFunc(out, func(x, y candidate) int { return cmp.Compare(y.fit, x.fit) })
	return out
}

// goOn makes the paths that go on from those of the position before, but for those that fit no better than a floor. It says
// whether they fill half of the width, or there was no floor.
func (b *beam) goOn(bucket, at, width int, floor float32) bool {
	open := math.IsInf(float64(floor), -1)
	symbols := b.Symbols()
	each := float32(-math.Log(float64(symbols)))
	salt, cells := b.Salt(bucket, at), b.sums[at*b.Hashes*b.Cells:]
	most := highest(cells[:b.Hashes*b.Cells], b.Cells)
	said := math.Sqrt(float64((at+1)*b.Hashes) / float64(b.Positions()))
	per, scant := float32(math.Sqrt(b.centred)/(b.deviation*said)), float32(least*said)
	for from := range b.paths {
		p := &b.paths[from]
		if p.ended {
			n := *p
			n.parent, n.symbol = int32(from), 0
			n.sum += b.read(cells, p.state.Hash(salt))
			if n.fit = fit(n.sum*per, scant, max(n.alike, n.spelt)); n.fit > floor {
				b.next = append(b.next, n)
			}
			continue
		}
		row, known := 0, b.prior != nil
		if known {
			context := p.before
			if b.Alphabet == "" && at%2 == 0 {
				context = p.pairs
			}
			row = b.Pair(at, context, 0)
		}
		best := (p.sum + most) * per
		for i := range symbols {
			symbol, alike, spelt := uint8(i), p.alike+each, p.spelt
			if known { // the likeliest first
				symbol = b.likeliest[row+i]
				spelt += b.prior[row+int(symbol)]
			}
			prior := max(alike, spelt)
			if fit(best, scant, prior) <= floor {
				break // neither does one that is less likely stay
			}
			if symbol == 0 && !b.Ends(at) {
				continue
			}
			state := p.state.Next(symbol)
			sum := p.sum + b.read(cells, state.Hash(salt))
			f := fit(sum*per, scant, prior)
			if f <= floor {
				continue
			}
			b.next = append(b.next, path{
				state: state, sum: sum, alike: alike, spelt: spelt, fit: f, parent: int32(from), symbol: symbol,
				before: symbol, pairs: p.before, ended: symbol == 0,
			})
		}
		if len(b.next) > 4*width {
			floor = b.keep(width)
		}
	}
	return open || len(b.next) >= width/2
}

// highest returns the most that cells of all positions add up to, of so many each.
func highest(cells []float32, each int) (sum float32) {
	for at := 0; at < len(cells); at += each {
		sum += slices.Max(cells[at : at+each])
	}
	return sum
}

// read adds up the cells of a hash.
func (b *beam) read(cells []float32, hash uint64) (sum float32) {
	for k := range b.Hashes {
		sum += cells[k*b.Cells+b.Cell(hash, k)]
	}
	return sum
}

// fit returns the log of how likely a path is that stands out by z deviations, beside noise alone: of the count that fits it
// best, and where that stands out too little to pass as a whole of the least that may.
func fit(z, scant, prior float32) float32 {
	if z < scant {
		return prior + scant*(z-scant/2)
	}
	return prior + z*z/2
}

// keep leaves the best paths, as many as the width, and returns the fit of the last.
func (b *beam) keep(width int) float32 {
	if len(b.next) <= width {
		return float32(math.Inf(-1))
	}
	b.fits = b.fits[:0]
	for i := range b.next {
		b.fits = append(b.fits, b.next[i].fit)
	}
	floor := nth(b.fits, len(b.fits)-width)
	ties := width // many paths share their cells, and so their fit: none of these is in the way of a better one
	for _, f := range b.fits {
		if f > floor {
			ties--
		}
	}
	kept := b.next[:0]
	for _, p := range b.next {
		if p.fit == floor {
			if ties--; ties < 0 {
				continue
			}
		}
		if p.fit >= floor {
			kept = append(kept, p)
		}
	}
	b.next = kept
	return floor
}

// nth returns the k-th smallest, from 0, and reorders.
func nth(x []float32, k int) float32 {
	low, high := 0, len(x)-1
	for low < high {
		pivot := x[(low+high)/2]
		i, j := low, high
		for i <= j {
			for x[i] < pivot {
				i++
			}
			for x[j] > pivot {
				j--
			}
			if i <= j {
				x[i], x[j] = x[j], x[i]
				i++
				j--
			}
		}
		switch {
		case k <= j:
			high = j
		case k >= i:
			low = i
		default:
			return x[k]
		}
	}
	return x[k]
}

// symbols returns those of a path of the last place.
func (b *beam) symbols(path int) []uint8 {
	out := make([]uint8, b.Length())
	i := int32(path)
	for at := b.Length() - 1; at >= 0; at-- {
		c := b.came[at][i]
		out[at], i = c.symbol, c.parent
	}
	if end := slices.Index(out, 0); end >= 0 {
		out = out[:end]
	}
	return out
}
