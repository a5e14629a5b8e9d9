// Package metrics counts what a service does, and writes the counts in the text format that Prometheus scrapes. Used by
// internal/service/serve and the services, each for instruments of its own.
package metrics

import (
	"bytes"
	"context"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// maxSeries bounds the combinations of labels that an instrument keeps apart.
const maxSeries = 1000

// overflow labels what an instrument counts of all further combinations together.
const overflow = `overflow="true"`

// Set holds the instruments of one service. Labels name routes, outcomes and statuses, never a
// person.
type Set struct {
	prefix string

	mu          sync.Mutex
	instruments map[string]func(*bytes.Buffer) // by the name that is shown
	gauges      []gauges
}

type gauges struct {
	shown []Gauge
	read  func(context.Context) ([]float64, error)
}

// Gauge names a number that is read when somebody looks.
type Gauge struct{ Name, Help string }

// New returns an empty set, the names of whose instruments begin with a prefix.
func New(prefix string) *Set {
	return &Set{prefix: prefix, instruments: map[string]func(*bytes.Buffer){}}
}

var name = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)

// add takes an instrument in. It panics on a name or a label that the format does not know, or
// that is there already: both stand in the program.
func (s *Set) add(shown string, write func(*bytes.Buffer), labels ...string) {
	for _, word := range append(labels, shown) {
		if !name.MatchString(word) {
			panic("metrics: " + word + " is no name")
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.instruments[shown] != nil {
		panic("metrics: two instruments are called " + shown)
	}
	s.instruments[shown] = write
}

// Counter counts events.
type Counter struct{ rows rows[atomic.Uint64] }

// Counter returns a new counter, shown as PREFIXname_total.
func (s *Set) Counter(name, help string, labels ...string) *Counter {
	shown := s.prefix + name + "_total"
	c := &Counter{rows[atomic.Uint64]{labels: labels, fresh: func() *atomic.Uint64 { return new(atomic.Uint64) }}}
	s.add(shown, func(to *bytes.Buffer) {
		c.rows.each(func() { head(to, shown, help, "counter") }, func(labels string, n *atomic.Uint64) {
			line(to, shown, labels, float64(n.Load()))
		})
	}, labels...)
	return c
}

// Add counts n events of these values of the labels. A counter never falls: n below zero counts
// nothing.
func (c *Counter) Add(n int, values ...string) { c.rows.at(values).Add(uint64(max(0, n))) }

// Histogram counts durations by how long they are.
type Histogram struct {
	bounds []float64
	rows   rows[durations]
}

type durations struct {
	mu     sync.Mutex
	counts []uint64 // up to each bound, and beyond the last
	sum    float64
}

// Histogram returns a new histogram, shown as PREFIXname_seconds. Its bounds rise, in seconds.
func (s *Set) Histogram(name, help string, bounds []float64, labels ...string) *Histogram {
	shown := s.prefix + name + "_seconds"
	h := &Histogram{bounds: bounds, rows: rows[durations]{labels: labels, fresh: func() *durations { return &durations{counts: make([]uint64, len(bounds)+1)} }}}
	s.add(shown, func(to *bytes.Buffer) {
		h.rows.each(func() { head(to, shown, help, "histogram") }, func(labels string, d *durations) {
			d.mu.Lock()
			defer d.mu.Unlock()
			within := uint64(0)
			for i, n := range d.counts {
				edge := "+Inf"
				if i < len(bounds) {
					edge = number(bounds[i])
				}
				within += n
				line(to, shown+"_bucket", and(labels, `le="`+edge+`"`), float64(within))
			}
			line(to, shown+"_sum", labels, d.sum)
			line(to, shown+"_count", labels, float64(within))
		})
	}, labels...)
	return h
}

// Record counts a duration with these values of the labels.
func (h *Histogram) Record(took time.Duration, values ...string) {
	d, seconds := h.rows.at(values), took.Seconds()
	step, _ := slices.BinarySearch(h.bounds, seconds)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.counts[step]++
	d.sum += seconds
}

// Counts returns how many durations with these values of the labels ended up to each bound and
// beyond the one before it, and last, how many beyond all; nil where there is none.
func (h *Histogram) Counts(values ...string) []uint64 {
	d := h.rows.find(h.rows.key(values))
	if d == nil {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.counts)
}

// Gauges shows numbers that are read together whenever somebody looks, in the order of their
// names here. While read fails none of them is shown.
func (s *Set) Gauges(read func(context.Context) ([]float64, error), shown ...Gauge) {
	for _, g := range shown {
		s.add(s.prefix+g.Name, func(*bytes.Buffer) {})
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gauges = append(s.gauges, gauges{shown, read})
}

// Write writes every instrument by its name, and then what the process uses. It holds no lock
// while it writes: whoever reads slowly keeps nobody from counting.
func (s *Set) Write(ctx context.Context, to io.Writer) error {
	s.mu.Lock()
	all, asked := maps.Clone(s.instruments), slices.Clone(s.gauges)
	s.mu.Unlock()
	for _, g := range asked {
		values, err := g.read(ctx)
		if err != nil {
			continue
		}
		for i, one := range g.shown {
			all[s.prefix+one.Name] = func(to *bytes.Buffer) { single(to, s.prefix+one.Name, one.Help, "gauge", values[i]) }
		}
	}
	var text bytes.Buffer
	for _, shown := range slices.Sorted(maps.Keys(all)) {
		all[shown](&text)
	}
	process(&text)
	_, err := to.Write(text.Bytes())
	return err
}

// rows keeps something for each combination of the values of labels.
type rows[T any] struct {
	labels []string
	fresh  func() *T

	mu   sync.RWMutex
	kept map[string]*T // by labels with their values, as they are written
}

// key returns labels with their values as they are written.
func (r *rows[T]) key(values []string) (key string) {
	if len(values) != len(r.labels) {
		panic("metrics: there are " + strconv.Itoa(len(values)) + " values of the labels " + strings.Join(r.labels, ", "))
	}
	for i, label := range r.labels {
		key = and(key, label+`="`+inLabel.Replace(strings.ToValidUTF8(values[i], "\uFFFD"))+`"`)
	}
	return key
}

func (r *rows[T]) find(key string) *T {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.kept[key]
}

// at returns what is kept of these values.
func (r *rows[T]) at(values []string) *T {
	key := r.key(values)
	if row := r.find(key); row != nil {
		return row
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.kept == nil {
		r.kept = map[string]*T{}
	}
	if r.kept[key] == nil && len(r.kept) >= maxSeries-1 {
		key = overflow
	}
	if r.kept[key] == nil {
		r.kept[key] = r.fresh()
	}
	return r.kept[key]
}

// each calls first, and then write for each row in the order of its labels; neither where there
// is no row.
func (r *rows[T]) each(first func(), write func(labels string, row *T)) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	for i, key := range slices.Sorted(maps.Keys(r.kept)) {
		if i == 0 {
			first()
		}
		write(key, r.kept[key])
	}
}
