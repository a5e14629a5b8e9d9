package dataset

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"gonum.org/v1/gonum/blas/blas32"
)

// GenerateOptions sizes a generated set. The zero value means the defaults.
type GenerateOptions struct {
	Train int // training documents; 12,000 by default
	Test  int // test documents; 3,000 by default
}

// Shape of the generated documents. With these the nearest class mean is right
// for about nine documents in ten, as for topics of real news.
const (
	dimension    = 256
	publicTexts  = 2600 // documents that the word vectors are learned from, as many as AG news has here
	minWords     = 6
	maxWords     = 18
	topicalShare = 0.3 // of a document's words come from its topic,
	strayShare   = 0.1 // as many from any one topic, the rest from none
)

// Generate makes labelled documents of four topics for when there is no data.
// They are drawn at random, word by word, and mean nothing: Synthetic is set.
//
// What a real application would do is done in earnest: word vectors come from a
// public corpus (drawn by the same law) by random indexing, that is each word is
// the sum of random vectors of the words it occurs with, less what all words
// share; a document is the inverse-frequency weighted sum of its words, less what
// all documents share, of unit length.
// The same seed gives the same set.
func Generate(seed uint64, o GenerateOptions) (*Set, error) {
	if o.Train == 0 {
		o.Train = 12000
	}
	if o.Test == 0 {
		o.Test = 3000
	}
	if o.Train < len(topics) || o.Test < len(topics) || o.Train > 1<<22 || o.Test > 1<<22 {
		return nil, fmt.Errorf("generated set of %d and %d documents: ask for %d to %d of each", o.Train, o.Test, len(topics), 1<<22)
	}
	var key [32]byte
	binary.LittleEndian.PutUint64(key[:], seed)
	r := rand.New(rand.NewChaCha8(key))
	w := newWriter()
	s := &Set{Name: "generated", Words: w.words, Synthetic: true}
	for _, t := range topics {
		s.Classes = append(s.Classes, t.name)
	}
	e := w.learn(r)
	s.WordX = e.words
	s.Train = w.collection(r, o.Train, e)
	s.Test = w.collection(r, o.Test, e)
	return s, nil
}

// writer draws documents.
type writer struct {
	words  []string
	topics []urn
	common urn
}

// urn draws from a list of words, the k-th with weight 1/(k+3): a flat Zipf law.
type urn struct {
	word       []int
	cumulative []float64
}

func (u urn) draw(r *rand.Rand) int {
	at, _ := slices.BinarySearch(u.cumulative, r.Float64()*u.cumulative[len(u.cumulative)-1])
	return u.word[at]
}

func newWriter() *writer {
	w := &writer{}
	index := map[string]int{}
	fill := func(text string) urn {
		var u urn
		var sum float64
		for _, word := range strings.Fields(text) {
			i, ok := index[word]
			if !ok {
				i = len(w.words)
				index[word] = i
				w.words = append(w.words, word)
			}
			sum += 1 / float64(len(u.word)+3)
			u.word = append(u.word, i)
			u.cumulative = append(u.cumulative, sum)
		}
		return u
	}
	for _, t := range topics {
		w.topics = append(w.topics, fill(t.words))
	}
	w.common = fill(commonWords)
	return w
}

// document appends the words of a document on the given topic to buf.
func (w *writer) document(r *rand.Rand, topic int, buf []int) []int {
	for range minWords + r.IntN(maxWords-minWords+1) {
		from := w.common
		switch u := r.Float64(); {
		case u < topicalShare:
			from = w.topics[topic]
		case u < topicalShare+strayShare:
			from = w.topics[r.IntN(len(w.topics))]
		}
		buf = append(buf, from.draw(r))
	}
	return buf
}

// embedding is what the public texts taught.
type embedding struct {
	words blas32.General // unit vectors
	idf   []float32      // inverse document frequencies, as logarithms
	mean  []float32      // of the public texts, which is what all texts share
}

// text writes the unit vector of a text to x.
func (e embedding) text(words []int, x []float32) {
	clear(x)
	for _, word := range words {
		add(x, e.idf[word], row(e.words, word))
	}
	unit(x)
	if e.mean != nil {
		add(x, -1, e.mean)
		unit(x)
	}
}

// learn draws public texts and indexes their words.
func (w *writer) learn(r *rand.Rand) embedding {
	e := embedding{words: matrix(len(w.words), dimension), idf: make([]float32, len(w.words))}
	texts := make([][]int, publicTexts)
	for i := range texts {
		texts[i] = w.document(r, r.IntN(len(w.topics)), nil)
		slices.Sort(texts[i])
		texts[i] = slices.Compact(texts[i])
		for _, word := range texts[i] {
			e.idf[word]++
		}
	}
	for i, n := range e.idf {
		e.idf[i] = float32(math.Log((1 + publicTexts) / (1 + float64(n))))
	}
	index := matrix(len(w.words), dimension)
	for i := range index.Data {
		index.Data[i] = float32(r.NormFloat64())
	}
	text, mean := make([]float32, dimension), make([]float32, dimension)
	for _, t := range texts {
		clear(text)
		for _, word := range t {
			add(text, e.idf[word], row(index, word))
		}
		for _, word := range t {
			add(row(e.words, word), 1/float32(len(t)), text)
		}
	}
	for i := range w.words {
		unit(row(e.words, i))
		add(mean, 1/float32(len(w.words)), row(e.words, i))
	}
	for i := range w.words {
		add(row(e.words, i), -1, mean)
		unit(row(e.words, i))
	}
	clear(mean)
	for _, t := range texts {
		e.text(t, text)
		add(mean, 1/float32(publicTexts), text)
	}
	e.mean = mean
	return e
}

func (w *writer) collection(r *rand.Rand, n int, e embedding) Labelled {
	l := Labelled{X: matrix(n, dimension), Y: make([]int, n)}
	var words []int
	for i := range n {
		l.Y[i] = r.IntN(len(w.topics))
		words = w.document(r, l.Y[i], words[:0])
		e.text(words, row(l.X, i))
	}
	return l
}

func add(y []float32, a float32, x []float32) {
	blas32.Axpy(a, blas32.Vector{N: len(x), Inc: 1, Data: x}, blas32.Vector{N: len(y), Inc: 1, Data: y})
}

func unit(x []float32) {
	v := blas32.Vector{N: len(x), Inc: 1, Data: x}
	if length := blas32.Nrm2(v); length > 0 {
		blas32.Scal(1/length, v)
	}
}
