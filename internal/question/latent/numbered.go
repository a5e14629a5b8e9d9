package latent

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/calibrate"
	"github.com/confetti-dp/confetti/internal/dp/fragment"
	"github.com/confetti-dp/confetti/internal/dp/latent"
	"github.com/confetti-dp/confetti/internal/dp/randomize"
	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/question/terms"
	"github.com/confetti-dp/confetti/plan"
)

// numbered are reports of one message each that begin with the number of the public record which they are of
// (LTN's joining). The analyzer sees whose record it is, and so does everybody who reads the release: nothing of it
// hides among others, and the promise is that of the device alone, whoever is honest.
type numbered struct {
	plan    plan.Plan
	records int
	vectors *vectors      // nil: symbols
	symbols latent.Subset // where there are no vectors
}

const numberBytes = 4

func newNumbered(p plan.Plan) (*numbered, error) {
	ask := p.Question.Latent
	n := &numbered{plan: p, records: ask.Records}
	if ask.Report == plan.LatentVector {
		var err error
		n.vectors, err = newVectors(p)
		return n, err
	}
	z := ask.Randomizer
	n.symbols = latent.Subset{SubsetSelection: randomize.SubsetSelection{K: symbols(ask), W: z.Subset, Epsilon: z.Epsilon}}
	return n, n.symbols.Validate()
}

// ofRecord is the symbol: -1, or a vector with class -1, is of what does not fit.
type ofRecord struct {
	number, symbol int
	vector         vector
}

// encodeNumbered refuses a number that is none of the plan's, which tells what is public.
func (q *Question) encodeNumbered(n *numbered, r Record) (question.Symbol, error) {
	if r.Number < 0 || r.Number >= n.records {
		return nil, fmt.Errorf("latent: the record is none of the plan's %d", n.records)
	}
	if n.vectors != nil {
		x, err := q.encodeVector(r)
		of, _ := x.(vector)
		return ofRecord{number: r.Number, vector: of}, err
	}
	symbol, err := q.symbol(r)
	if err == nil && symbol < 0 {
		err = &question.OutOfDomainError{Values: 1, Cause: errNoSymbol}
	}
	return ofRecord{number: r.Number, symbol: symbol}, err
}

func (n *numbered) size() int {
	if n.vectors != nil {
		return numberBytes + n.vectors.Size()
	}
	return numberBytes + n.symbols.Size()
}

// Randomize says one message.
func (n *numbered) Randomize(r *rand.Rand, s question.Symbol, _ question.Memory) (question.Report, error) {
	of := s.(ofRecord)
	message := binary.BigEndian.AppendUint32(nil, uint32(of.number))
	if n.vectors != nil {
		message = append(message, n.vectors.Report.Randomize(r, of.vector.x, of.vector.class)...)
	} else {
		message = append(message, n.symbols.Randomize(r, of.symbol)...)
	}
	return question.Report{Parts: [][][]byte{{message}}}, nil
}

// NewTally keeps messages as they are.
func (n *numbered) NewTally() tally.Tally { return tally.NewRows(n.size()) }

// local returns what a device is promised against everybody else.
func (n *numbered) local() account.Guarantee {
	if n.vectors != nil {
		return n.vectors.Local(account.Replacement)
	}
	return n.symbols.Local(account.Replacement)
}

// Event returns that of a report which stands alone: of all that keep a pure epsilon no two worlds are further apart than
// those of a coin.
func (n *numbered) Event(int, bool) account.Event {
	if n.local().Delta > 0 {
		return n.vectors.Report.Event(1)
	}
	return randomize.KRR{K: 2, Epsilon: n.local().Epsilon}.Event(1)
}

// Risks: nothing.
func (n *numbered) Risks() question.Risks { return question.Risks{} }

// Words returns the question's.
func (n *numbered) Words() question.Words {
	w := question.Words{Crowd: "crowd", Crowds: []string{"everybody"}}
	if n.vectors != nil {
		w.Assumptions = n.vectors.Words().Assumptions
	}
	return w
}

// Guarantees all see the report as it is.
func (n *numbered) Guarantees(shuffled account.Guarantee) ([]account.Statement, error) {
	local := n.local()
	shuffled.Epsilon = min(shuffled.Epsilon, local.Epsilon)
	return terms.OneMessage(n.plan, local, shuffled), nil
}

// Numbered are reports of public records as they came, in the order of their numbers.
type Numbered struct {
	Reports []NumberedReport
	Symbols latent.Subset // of symbols
	Vectors bool          // Body is Vector's, and its class
	How     latent.Report
}

// NumberedReport is what was said of a public record: nobody has seen to it that its own device said so.
type NumberedReport struct {
	Number int
	Body   []byte // of vectors for the mechanism, of symbols a set
	Class  int    // of vectors, as told: often another than the true one
}

// read passes over what is no report, which only a device that does not follow the plan sends.
func (n *numbered) read(crowds []tally.Crowd) *Numbered {
	m := &Numbered{Symbols: n.symbols, Vectors: n.vectors != nil}
	if n.vectors != nil {
		m.How = n.vectors.Report
	}
	if len(crowds) != 1 || crowds[0].Tally == nil {
		return m
	}
	for message := range crowds[0].Tally.(*tally.Rows).All() {
		of, err := NumberedReport{Number: int(binary.BigEndian.Uint32(message)), Body: append([]byte(nil), message[numberBytes:]...)}, error(nil)
		if n.vectors != nil {
			of.Body, of.Class, err = n.vectors.Split(of.Body)
		} else {
			err = n.symbols.Check(of.Body)
		}
		if err == nil && of.Number < n.records {
			m.Reports = append(m.Reports, of)
		}
	}
	return m
}

// designNumbered fills in the mechanism at the local epsilon, and the one message.
func designNumbered(p plan.Plan, ask *plan.Latent) (plan.Plan, error) {
	if p.Budget.Epsilon == 0 { // nothing hides a report: it tells what its device lets it
		p.Budget.Epsilon = p.Budget.LocalEpsilon
	}
	if ask.Report == plan.LatentVector {
		var err error
		if p, err = designVectors(p, ask); err != nil {
			return p, err
		}
	} else {
		epsilon := p.Budget.LocalEpsilon
		ask.Randomizer = &plan.Randomizer{Name: subset, Accounting: string(calibrate.Exact), Epsilon: epsilon, Subset: randomize.SubsetSize(symbols(ask), epsilon)}
	}
	n, err := newNumbered(p)
	if err != nil {
		return p, err
	}
	p.Envelopes.PerDevice, p.Envelopes.PayloadBytes = 1, max(p.Envelopes.PayloadBytes, fragment.Size(n.size()))
	return p, nil
}

// validNumbered lists what is wrong with a designed plan of numbered records.
func validNumbered(p plan.Plan, ps *plan.Problems) {
	ask := p.Question.Latent
	if r := ask.Randomizer; ask.Report == plan.LatentSymbols {
		ps.Require(r != nil, "question.latent.randomizer is missing: design the plan")
		if r == nil {
			return
		}
		ps.Require(*r == plan.Randomizer{Name: r.Name, Accounting: r.Accounting, Epsilon: r.Epsilon, Subset: r.Subset}, "question.latent.randomizer: beside the number of a record a set has a name, an accounting, an epsilon and a size: leave out the rest")
		ps.Require(r.Epsilon <= p.Budget.LocalEpsilon, "question.latent.randomizer.epsilon is above the budget's local one")
	}
	n, err := newNumbered(p)
	if err != nil {
		ps.Require(false, "question.latent: %v", err)
		return
	}
	ps.Require(p.Envelopes.PerDevice == 1, "envelopes.per_device must be 1: a report is one message")
	ps.Require(p.Envelopes.PayloadBytes >= fragment.Size(n.size()), "envelopes.payload_bytes must be at least %d", fragment.Size(n.size()))
}
