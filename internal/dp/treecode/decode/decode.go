// Package decode reads the frequent strings out of the sum of their vectors, with errors and a bound on false
// discoveries (docs/strings.md). Used by question/strings.
//
// It walks the tree of each bucket with a beam, weighs paths by how the sum says that strings are spelt, fits all
// strings of a bucket together, and takes those that pass a check by positions that had no part in choosing them.
package decode

import (
	"cmp"
	"math"
	"runtime"
	"slices"
	"sync"

	"github.com/confetti-dp/confetti/internal/dp/estimate"
	"github.com/confetti-dp/confetti/internal/dp/treecode"
)

// Found is a string that was read.
type Found struct {
	Text    string
	Count   estimate.Value
	Needed  float64 // the count that it had to pass, before what is lent was taken off
	lent    float64 // by others who share a beginning, in expectation
	bucket  int
	symbols []uint8
	cells   []uint8
	z       float64          // deviations that it had to pass
	checked float64          // the count that its tail had to say
	tail    float64          // the share of positions that are its tail
	after   []estimate.Value // the count by what follows each beginning alone
}

// Check is the probability with which a string that nobody holds passes its check, at most.
const Check = 0.02

const (
	beamWidth    = 256
	confirmWidth = 1536 // of a bucket that holds something
	widest       = 4096
	tries        = 3    // candidates of a beam
	stray        = 0.5  // strings that nobody holds that stand out by so much, in a bucket's fit, in expectation
	least        = 5.0  // deviations from which a string may stand out as a whole, about
	slack        = 0.5  // by which a floor may sink from one position to the next
	uneasy       = 1.0  // deviations of the residual's energy that call for the beam of what holds something
	restless     = 2.0  // and for the widest
	cut          = 1.5  // deviations that a pair's cell loses
	uniform      = 0.02 // share of the prior that knows no pairs
)

// Strings reads the sum of vectors of a code, each number of which has the given deviation. The most
// frequent come first. Vectors of a norm came out too long by the factor excess; nil: none did. In expectation
// at most so many are held by nobody. The reserved string is none of them, and is counted whether it stands out or not.
func Strings(c *treecode.Code, sum []float64, deviation float64, excess func(norm float64) float64) (found []Found, reserved estimate.Value, falseAtMost float64) {
	d := newDecoder(c, sum, deviation)
	found, falseAtMost = d.strings()
	if excess != nil {
		for i := range found {
			found[i].divide(excess(c.Norm(len(found[i].symbols))))
		}
		d.reserved.divide(excess(c.Norm(0)))
		sortFound(found)
	}
	return found, d.reserved.Count, falseAtMost
}

// divide makes all that is said of a count smaller by a factor.
func (f *Found) divide(by float64) {
	f.Count.Mean, f.Count.StdErr = f.Count.Mean/by, f.Count.StdErr/by
	f.Needed, f.checked, f.lent = f.Needed/by, f.checked/by, f.lent/by
	for i, v := range f.after {
		f.after[i] = estimate.Value{Mean: v.Mean / by, StdErr: v.StdErr / by}
	}
}

// sortFound puts the most frequent first.
func sortFound(all []Found) {
	slices.SortFunc(all, func(a, b Found) int {
		return cmp.Or(cmp.Compare(b.Count.Mean, a.Count.Mean), cmp.Compare(a.Text, b.Text))
	})
}

// strings reads all buckets, and returns how many of what it found are false at most, in expectation.
func (d *decoder) strings() (out []Found, falseAtMost float64) {
	all, levels := make([][]*Found, d.Buckets), make([]float64, d.Buckets)
	next := make(chan int)
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			b := newBeam(d)
			for bucket := range next {
				c := &checks{asked: map[string]answer{}}
				all[bucket] = d.bucket(b, c, bucket)
				levels[bucket] = c.level
			}
		})
	}
	for bucket := range d.Buckets {
		next <- bucket
	}
	close(next)
	workers.Wait()
	for bucket, found := range all {
		falseAtMost += levels[bucket]
		for _, f := range found {
			differs := 0.0
			f.lent, differs = d.lent(f)
			f.Count.Mean -= f.lent
			f.Count.StdErr = math.Hypot(f.Count.StdErr, differs)
			out = append(out, *f)
		}
	}
	sortFound(out)
	return out, falseAtMost
}

// lent returns what people of the bucket who hold other strings with the same beginnings add to a count: what these
// beginnings have in all other buckets, where strings that were found are left out; and by how much that differs
// from bucket to bucket, beyond the noise.
func (d *decoder) lent(f *Found) (mean, differs float64) {
	sums, state := make([]float64, d.Buckets), d.Root()
	for at, symbol := range f.symbols {
		state = state.Next(symbol)
		for bucket := range d.Buckets {
			if bucket == f.bucket {
				continue
			}
			hash := state.Hash(d.Salt(bucket, at))
			for k := range d.Hashes {
				sums[bucket] += float64(d.sums[bucket*d.size+(at*d.Hashes+k)*d.Cells+d.Cell(hash, k)])
			}
		}
	}
	others := float64(d.Buckets - 1)
	if others < 2 {
		return 0, 0
	}
	scale, squares := 1/(d.roots*d.centred), 0.0
	for _, x := range sums {
		mean += x * scale / others
		squares += x * scale * x * scale / others
	}
	noise := d.deviation * d.deviation * d.centred * scale * scale * float64(len(f.symbols)*d.Hashes)
	return mean, math.Sqrt(math.Max(0, squares-mean*mean-noise))
}

// decoder has what all buckets share.
type decoder struct {
	*treecode.Code
	sums      []float32 // of positions, less strings that were found; each position's mean subtracted, per unit of the tree's share
	deviation float64   // of a number
	prior     []float32 // log of the prior of a symbol beside its context, by Pair; nil: none
	likeliest []uint8   // symbols of each context, the likeliest first
	share     float64   // log of stray
	level     float64   // Check
	size      int       // numbers of a bucket
	roots     float64   // sqrt(J)
	centred   float64   // 1 - 1/q
	reserved  *Found    // the reserved string, once its bucket is read
}

func newDecoder(c *treecode.Code, sum []float64, deviation float64) *decoder {
	share := math.Sqrt(1 - c.Pairs)
	d := &decoder{
		Code: c, sums: make([]float32, c.Buckets*c.Positions()*c.Cells), deviation: deviation / share, share: math.Log(stray), level: Check,
		size: c.Positions() * c.Cells, roots: math.Sqrt(float64(c.Positions())), centred: 1 - 1/float64(c.Cells),
	}
	for at := 0; at < len(d.sums); at += c.Cells {
		mean := 0.0
		for _, x := range sum[at : at+c.Cells] {
			mean += x
		}
		mean /= float64(c.Cells)
		for i, x := range sum[at : at+c.Cells] {
			d.sums[at+i] = float32((x - mean) / share)
		}
	}
	if c.Pairs > 0 {
		scale := math.Sqrt(float64(c.Length()) / c.Pairs)
		d.prior = spelling(c, sum[len(d.sums):], scale, deviation*scale)
		d.likeliest = likeliest(d.prior, c.Symbols())
	}
	d.reserved = &Found{}
	d.reserved.bucket, d.reserved.cells = c.Word(nil)
	return d
}
