// Package describe prints what a plan comes to: whether its promise holds, and what it costs a device. Used by
// cmd/confetti/internal/plan and cmd/confetti/internal/plan/draft.
package describe

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/internal/audit"
	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/internal/client/words"
	"github.com/confetti-dp/confetti/internal/dp/sum/vdaf"
	"github.com/confetti-dp/confetti/internal/prio3"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/release/statement"
	"github.com/confetti-dp/confetti/internal/rng"
	"github.com/confetti-dp/confetti/internal/sanitize"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/protocol/design"
	"github.com/confetti-dp/confetti/release"
)

// Description is a plan whose promise holds, with what it costs a device.
type Description struct {
	plan      plan.Plan
	Publisher string // who have signed it, a space apart; empty: nobody
	promise   protocol.Promise
	cost      []release.Metric // of one device
	verified  time.Duration    // what recomputing the promise took
	thinning  string           // what the promise rests on, beside what all do
	unfit     string           // what a device sends whose value does not fit
	// comparisons are of the ways in which the same could have been asked.
	comparisons []question.Comparison
	doubts      []string     // what is likely to be a mistake
	Audit       audit.Report // what an attacker found, before each observer; empty: nobody asked
}

// Plan recomputes the promise, and of a round what all rounds of its study tell (nil: it is none),
// and measures the seconds here and now, with real seals.
func Plan(p plan.Plan, study *plan.Study) (Description, error) {
	d := Description{plan: p}
	proto, err := protocol.New(p)
	if err != nil {
		return d, err
	}
	start := time.Now()
	if d.promise, err = proto.Promise(); err != nil {
		return d, err
	}
	if d.promise.Statements, err = proto.Stated(d.promise, study); err != nil {
		return d, err
	}
	d.verified, d.unfit, d.thinning = time.Since(start), proto.Words().Unfit, proto.Words().Thinning
	if p.Route.Table != nil {
		return d, nil // nobody is asked, and nothing is sent
	}
	d.comparisons, d.doubts = design.Compare(proto), design.Doubts(proto)
	cost := release.Metric{Name: "seconds_per_device", Title: "Seconds per device", Unit: release.Seconds}
	if p.Route.Sum != nil {
		cost.Note = "to split and prove its vector, on one core of this machine"
		cost.Value, err = splitSeconds(p)
	} else {
		cost.Note = "to seal all its envelopes, on one core of this machine"
		cost.Value, err = sealSeconds(p)
	}
	d.cost = append(statement.Cost(proto), cost)
	return d, err
}

// WriteJSON writes it for programs.
func (d Description) WriteJSON(w io.Writer) error {
	out := struct {
		Plan       string              `json:"plan"`
		Publisher  string              `json:"publisher,omitempty"`
		Epsilon    float64             `json:"epsilon"`
		Delta      float64             `json:"delta"`
		Guarantees []account.Statement `json:"guarantees"`
		Cost       map[string]float64  `json:"cost"`
		Compared   map[string]string   `json:"compared,omitempty"` // by what is chosen
		Doubts     []string            `json:"doubts,omitempty"`
		Addresses  []string            `json:"addresses,omitempty"` // who sees the network address of a device
		Audit      []audit.Written     `json:"audit,omitempty"`
		Constants  []audit.Constant    `json:"constants,omitempty"`
	}{d.plan.Name(), d.Publisher, d.promise.Shuffled.Epsilon, d.promise.Shuffled.Delta, d.promise.Statements, map[string]float64{}, map[string]string{}, d.doubts, words.Addresses(d.plan), d.Audit.Findings, d.Audit.Constants}
	for _, c := range d.comparisons {
		out.Compared[c.Key] = c.Says
	}
	for _, m := range d.cost {
		out.Cost[m.Name] = m.Value
	}
	return terminal.WriteJSON(w, out)
}

// Write writes it for people.
func (d Description) Write(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "plan\t%s\n", d.plan.Name())
	for _, one := range strings.Fields(d.Publisher) {
		fmt.Fprintf(w, "publisher\t%s (the signature is its)\n", one)
	}
	fmt.Fprintf(w, "promise\tholds: epsilon %s of the promised %g at delta %g, %s (recomputed in %.0f ms)\n", account.AtMost(d.promise.Shuffled.Epsilon, 4), d.plan.Budget.Epsilon, d.plan.Budget.Delta, d.plan.Budget.Adjacency, d.verified.Seconds()*1000)
	for i, s := range d.promise.Statements {
		fmt.Fprintf(w, "%s\t%s\n", s.Observer, s.Guarantee)
		// What holds for several observers in a row is said once, after the last.
		if s.Note != "" && (i+1 == len(d.promise.Statements) || d.promise.Statements[i+1].Note != s.Note) {
			fmt.Fprintf(w, "\t%s\n", s.Note)
		}
	}
	for _, m := range d.cost {
		fmt.Fprintf(w, "%s\t%s (%s)\n", m.Title, m, m.Note)
	}
	if d.thinning != "" {
		fmt.Fprintf(w, "Rests on\t%s\n", d.thinning)
	}
	if d.unfit != "" {
		fmt.Fprintf(w, "What does not fit\t%s\n", d.unfit)
	}
	for _, says := range words.Addresses(d.plan) {
		fmt.Fprintf(w, "Network address\t%s\n", sanitize.Text(says))
	}
	for _, c := range d.comparisons {
		fmt.Fprintf(w, "%s\t%s\n", c.Title, c.Says)
	}
	for _, doubt := range d.doubts {
		fmt.Fprintf(w, "Look again\t%s\n", doubt)
	}
	for _, f := range d.Audit.Findings {
		fmt.Fprintf(w, "attacked: %s\t%s; confidence %s\n", f.Observer, f, account.Percent(f.Confidence))
	}
	for _, c := range d.Audit.Constants {
		fmt.Fprintf(w, "tested: %s\t%s\n", c.Party, c)
	}
	for _, l := range d.Audit.Left {
		fmt.Fprintf(w, "not attacked\t%s\n", l)
	}
	return w.Flush()
}

// splitSeconds measures what a device takes to split a vector of zeros and ones that the
// plan's proof allows, or one of no length.
func splitSeconds(p plan.Plan) (float64, error) {
	v, err := vdaf.New(p.Route.Sum, nil)
	if err != nil {
		return 0, err
	}
	vector := make([]uint64, v.Length())
	vector[0] = 1
	if c := p.Route.Sum.Circuit; c.Square > 0 {
		for i := range vector {
			vector[i] = uint64(c.Max / 2)
		}
	}
	const times = 3
	start := time.Now()
	for range times {
		if _, _, _, err := v.Split(rng.Reader(rng.New()), [prio3.NonceSize]byte{}, vector); err != nil {
			return 0, err
		}
	}
	return time.Since(start).Seconds() / times, nil
}

// sealSeconds measures what a device's seals take, from a sample of them.
func sealSeconds(p plan.Plan) (float64, error) {
	var keys []envelope.PublicKey
	for _, party := range append(slices.Clone(p.Route.Instances()[0].Hops), p.Analyzer) {
		key, err := envelope.ParsePublicKey(party.Key)
		if err != nil {
			return 0, fmt.Errorf("key of %s: %w", party.Operator, err)
		}
		keys = append(keys, key)
	}
	sealer, err := envelope.NewSealer(envelope.Route(p.Hash(), 0, 0, keys...), p.Envelopes.PayloadBytes)
	if err != nil {
		return 0, err
	}
	payload := make([]byte, p.Envelopes.PayloadBytes)
	n := min(p.Envelopes.PerDevice, 50)
	start := time.Now()
	for range n {
		if _, err := sealer.Seal(payload); err != nil {
			return 0, err
		}
	}
	return time.Since(start).Seconds() / float64(n) * float64(p.Envelopes.PerDevice), nil
}
