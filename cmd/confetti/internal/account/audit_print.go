package account

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/audit"
	"github.com/confetti-dp/confetti/internal/cli/terminal"
)

// printed is what an audit has found, as it is printed.
type printed struct {
	subject   string // the mechanism, or the plan's file
	findings  []audit.Finding
	constants []audit.Constant // what parties of the plan must keep to
	envelopes int              // of a collection of the plan's; 0: there is no plan
	sealed    *audit.Sealed    // nil: none was sealed
	took      time.Duration
}

// headline returns the finding that is said first: of a plan that of its own promise, which stands
// last, and of a mechanism the one that found most. One that proves a claim false comes
// before all others.
func (p printed) headline() audit.Finding {
	for _, f := range p.findings {
		if f.False() {
			return f
		}
	}
	if p.envelopes > 0 {
		return p.findings[len(p.findings)-1]
	}
	return audit.Best(p.findings)
}

// print prints the answer, then the evidence; a false claim is a failure, and a constant that is not kept.
func (p printed) print(std terminal.Streams, asJSON bool) error {
	best, err := p.headline(), error(nil)
	if asJSON {
		err = terminal.WriteJSON(std.Out, p.document(best))
	} else {
		err = p.write(std.Out, best)
	}
	if err == nil && best.False() {
		return fmt.Errorf("%s: %s", p.subject, best.Verdict())
	}
	for _, c := range p.constants {
		if err == nil && c.False() {
			return fmt.Errorf("%s: %s: %s: %s", p.subject, c.Party, c.Says, c.Verdict)
		}
	}
	return err
}

func (p printed) document(best audit.Finding) any {
	out := struct {
		Subject string `json:"subject"`
		audit.Written
		Findings        []audit.Written  `json:"findings"`
		Constants       []audit.Constant `json:"constants,omitempty"`
		SealedDevices   int              `json:"sealed_devices,omitempty"`
		SealedEnvelopes int              `json:"sealed_envelopes,omitempty"`
		SealedCompared  string           `json:"sealed_compared,omitempty"`
		Seconds         float64          `json:"seconds"`
	}{Subject: p.subject, Written: best.Written(), Constants: p.constants, Seconds: p.took.Seconds()}
	for _, f := range p.findings {
		out.Findings = append(out.Findings, f.Written())
	}
	if p.sealed != nil {
		out.SealedDevices, out.SealedEnvelopes, out.SealedCompared = p.sealed.Devices, p.sealed.Envelopes, p.sealed.Compared
	}
	return out
}

func (p printed) write(out io.Writer, best audit.Finding) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "claimed\t%s\n", best.Claimed)
	fmt.Fprintf(w, "found\tepsilon above %.4g, with confidence %s (%s)\n", best.Lower, account.Percent(audit.Confidence), best.Assumes)
	fmt.Fprintf(w, "means\t%s\n", best.Verdict())
	if !best.Doubtful() {
		fmt.Fprintf(w, "\tthe loss of privacy lies between the two: %.4g is proved to be lost (%s), and no more than %.4g can be\n", best.Lower, best.Assumes, best.Claimed.Epsilon)
	}
	for _, f := range p.findings {
		of := "evidence"
		if f.Observer != "" {
			of = f.Observer
		}
		fmt.Fprintf(w, "%s\t%s\n", of, f)
	}
	for _, c := range p.constants {
		fmt.Fprintf(w, "tested: %s\t%s\n", c.Party, c)
	}
	if p.sealed != nil {
		fmt.Fprintf(w, "sealed\t%s devices handed in %s envelopes, which went the whole way: %s\n", terminal.Thousands(p.sealed.Devices), terminal.Thousands(p.sealed.Envelopes), p.sealed.Compared)
	}
	if p.envelopes > 0 && p.sealed == nil {
		fmt.Fprintf(w, "not sealed\ta collection of this plan takes %s envelopes: no hop and no counter was attacked; give --sealed to wait for them\n", terminal.Thousands(p.envelopes))
	}
	fmt.Fprintf(w, "seconds\t%.1f\n", p.took.Seconds())
	return w.Flush()
}
