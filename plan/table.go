package plan

import (
	"errors"
	"strings"
)

// Table is a table in the hands of one holder, who counts its rows and adds noise to the counts:
// no device answers, and nobody protects the rows from the holder. The analyzer of the plan is
// the holder.
type Table struct {
	People string `json:"people"` // whose rows they are: the holder's ledger has all releases of them under this name
	AsOf   string `json:"as_of"`  // the version of the table, by a name that the holder gives

	Law   string  `json:"law"`             // of the noise of counts: LawLaplace or LawGaussian; "" where nothing is counted (LabelEach)
	Decay float64 `json:"decay,omitempty"` // laplace
	Sigma float64 `json:"sigma,omitempty"` // gaussian
}

// RowsHidden says that the plan is of a table whose number of rows is private: neighbours have a row more or less.
func (p Plan) RowsHidden() bool { return p.Route.Table != nil && p.Budget.Adjacency == "removal" }

// Noise returns the route of a plan whose numbers are sums with noise: that of a sum, or of a
// table, whose holder adds the noise, as a sum whose noise nobody else adds. It is nil where
// answers are mixed.
func (r Route) Noise() *Sum {
	if t := r.Table; t != nil {
		return &Sum{Law: t.Law, Decay: t.Decay, Sigma: t.Sigma}
	}
	return r.Sum
}

// errTable refuses a table's plan where somebody would be asked.
var errTable = errors.New("plan: its rows lie in a table, whose holder counts them: nobody signs such a plan, and no device answers it")

func (t *Table) validate(ps *Problems) {
	const at = "route.table."
	for _, name := range [][2]string{{"people", t.People}, {"as_of", t.AsOf}} {
		ps.Require(strings.TrimSpace(name[1]) != "" && len(name[1]) <= maxTitle, at+"%s is empty, or has more than %d bytes", name[0], maxTitle)
	}
}

// noise checks that of the counts, of which labels one by one have none.
func (t *Table) noise(ps *Problems, counts bool) {
	const at = "route.table."
	if counts {
		validateNoise(ps, at, t.Law, t.Decay, t.Sigma)
		return
	}
	ps.Require(t.Law == "" && t.Decay == 0 && t.Sigma == 0, at+"law, decay and sigma are of counts, and labels one by one have a randomizer: leave them out")
}

// table checks what a plan of a table has in the place of parties.
func (p Plan) table(ps *Problems) {
	ps.Require(p.Envelopes == Envelopes{}, "envelopes are what devices send: leave them out of a plan of a table")
	ps.Require(strings.TrimSpace(p.Analyzer.Operator) != "" && p.Analyzer == Party{Operator: p.Analyzer.Operator}, "analyzer must have an operator alone: who holds the table")
	label := p.Question.Label
	if p.Route.Table != nil {
		p.Route.Table.noise(ps, label == nil || label.Report != LabelEach)
	}
	ps.Require(p.Crowd.Deletion == nil && p.Crowd.Maximum == 0 && (label != nil || len(p.Crowd.Names) == 0), "crowd.names, crowd.deletion and crowd.maximum are of respondents: leave them out of a plan of a table")
	ps.Require(p.Round == nil && p.Signatures == 0 && p.Times == Times{}, "round, signatures and times are of collections: leave them out of a plan of a table")
	ps.Require(p.Budget.DishonestShare == 0 && p.Budget.LocalEpsilon == 0, "budget.dishonest_share and budget.local_epsilon are of devices: leave them out of a plan of a table")
	if label != nil {
		ps.Require(p.Budget.Adjacency == AdjacencyLabel, "budget.adjacency must be %q in a plan of a table of which all is public but the labels", AdjacencyLabel)
		return
	}
	ps.Require(p.Budget.Adjacency == "replacement" || p.Budget.Adjacency == "removal", `budget.adjacency must be "replacement" in a plan of a table whose release says how many rows there are, or "removal" where that is private`)
}
