package latent

import (
	"encoding/binary"
	"math"

	"github.com/confetti-dp/confetti/question"
)

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
