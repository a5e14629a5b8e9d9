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
	one := b.deviation / math.Sqrt(b.centred) // of a whole word's sum
	a := b.Symbols()
	each := float32(-math.Log(float64(a)))
	b.paths = append(b.paths[:0], path{state: b.Root()})
	if b.prior == nil {
		b.paths[0].spelt = -1e9
	}
	for at := range b.Length() {
		salt := b.Salt(bucket, at)
		cells := b.sums[at*b.Hashes*b.Cells:]
		said := float64((at+1)*b.Hashes) / float64(b.Positions())
		per := float32(1 / (one * math.Sqrt(said)))
		floor := float32(math.Inf(-1))
		b.next = b.next[:0]
		for i := range b.paths {
			p := &b.paths[i]
			if p.ended {
				n := *p
				n.parent, n.symbol = int32(i), 0
				n.sum += b.read(cells, p.state.Hash(salt))
				if n.fit = fit(n.sum*per, max(n.alike, n.spelt)); n.fit > floor {
					b.next = append(b.next, n)
				}
				continue
			}
			context := p.before
			if b.Alphabet == "" && at%2 == 0 {
				context = p.pairs
			}
			var prior []float32
			if b.prior != nil {
				row := b.Pair(at, context, 0)
				prior = b.prior[row : row+a]
			}
			from := 0
			if !b.Ends(at) {
				from = 1
			}
			for symbol := from; symbol < a; symbol++ {
				state := p.state.Next(uint8(symbol))
				sum := p.sum + b.read(cells, state.Hash(salt))
				alike, spelt := p.alike+each, p.spelt
				if prior != nil {
					spelt += prior[symbol]
				}
				f := fit(sum*per, max(alike, spelt))
				if f <= floor {
					continue
				}
				b.next = append(b.next, path{
					state: state, sum: sum, alike: alike, spelt: spelt, fit: f, parent: int32(i), symbol: uint8(symbol),
					before: uint8(symbol), pairs: p.before, ended: symbol == 0,
				})
			}
			if len(b.next) > 4*width {
				floor = b.keep(width)
			}
		}
		b.keep(width)
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

// read adds up the cells of a hash.
func (b *beam) read(cells []float32, hash uint64) (sum float32) {
	for k := range b.Hashes {
		sum += cells[k*b.Cells+b.Cell(hash, k)]
	}
	return sum
}

// fit returns the log of how likely a path is that stands out by z deviations.
func fit(z, prior float32) float32 {
	if z < 0 {
		return prior - z*z/2
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
