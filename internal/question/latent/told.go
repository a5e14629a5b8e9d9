package latent

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"

	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/question/terms"
	"github.com/confetti-dp/confetti/plan"
)

// Tell returns the clusters and classes that were said, or that a vector was (question.Describer).
func (q *Question) Tell(bodies [][]byte) string {
	switch r := q.report.(type) {
	case *vectors:
		return q.tellVector(r, bodies, 0)
	case *numbered:
		if r.vectors != nil {
			return q.tellVector(r.vectors, bodies, numberBytes)
		}
		var names []string
		for _, body := range bodies {
			for symbol := range r.symbols.K {
				if len(body) >= r.size() && r.symbols.Holds(body[numberBytes:r.size()], symbol) {
					names = append(names, q.name(symbol))
				}
			}
		}
		if len(names) == 0 {
			return terms.Nothing
		}
		w, e := float64(r.symbols.W), math.Exp(r.symbols.Epsilon)
		return terms.List(names...) + "; " + terms.Coin(1-e/(w*e+float64(r.symbols.K)-w), "word")
	}
	return q.Inner().TellBy(bodies, func(_, symbol int) string { return q.name(symbol) })
}

// tellVector reads the class behind the first so many bytes of the one message.
func (q *Question) tellVector(v *vectors, bodies [][]byte, before int) string {
	for _, body := range bodies {
		if len(body) < before+v.Size() {
			continue
		}
		_, class, err := v.Split(body[before : before+v.Size()])
		if err != nil {
			continue
		}
		said := fmt.Sprintf("the %d numbers of an encoder, with noise in each", q.ask.Vector.Dim)
		if v.Class.K > 0 {
			said += "; and " + terms.List(q.ask.Classes[class]) + "; " + terms.Coin(1-v.Class.Prob(0, 0), "word")
		}
		return said
	}
	return terms.Nothing
}

// name returns that of a symbol, such as "cluster 4, spam".
func (q *Question) name(symbol int) string {
	if q.ask.Report == plan.LatentRight {
		return []string{"the model is wrong", "the model is right"}[symbol]
	}
	k := max(1, len(q.ask.Classes))
	names := []string{fmt.Sprintf("cluster %d", symbol/k+1)}
	if len(q.ask.Classes) > 0 {
		names = append(names, q.ask.Classes[symbol%k])
	}
	return strings.Join(names, " with ")
}

// Prob gives the probability of a report that stands by itself when a device holds the symbol, up to a factor;
// 0 of a report that says something in sum, or has another length.
func (q *Question) Prob(body []byte, s question.Symbol) float64 {
	switch r := q.report.(type) {
	case *vectors:
		if len(body) < r.Size() {
			return 0
		}
		return r.prob(body[:r.Size()], s.(vector))
	case *numbered:
		of := s.(ofRecord)
		if len(body) < r.size() || binary.BigEndian.Uint32(body) != uint32(of.number) {
			return 0
		}
		said := body[numberBytes:r.size()]
		if r.vectors != nil {
			return r.vectors.prob(said, of.vector)
		}
		if of.symbol < 0 {
			return 0
		}
		return math.Exp(r.symbols.LogProb(r.symbols.Holds(said, of.symbol)))
	}
	return 0
}

func (v *vectors) prob(said []byte, x vector) float64 {
	told, class, err := v.Split(said)
	if err != nil {
		return 0
	}
	p := math.Exp(v.Vector.LogProb(x.x)(told))
	switch {
	case v.Class.K == 0:
		return p
	case x.class < 0:
		return p / float64(v.Class.K)
	}
	return p * v.Class.Prob(class, x.class)
}

// Symbol gives the number of a record's symbol; -1 of one that has none.
func (q *Question) Symbol(r Record) (int, error) { return q.symbol(r) }
