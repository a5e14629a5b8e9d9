// Package report reads, writes and compares an audit's result: with a plan, with a release, and with an audit that
// is made again. Used by internal/audit, release/verify and internal/release/statement.
package report

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/release"
)

// Report is the audit of a plan that stands beside its release (release.AuditFile). Its seed
// follows from the plan: an analyzer cannot choose it, and anybody can draw the same views. Who
// writes a plan could try plans until the attacks are unlucky, which hides nothing from other seeds.
type Report struct {
	Format   string    `json:"format"` // reportFormat
	Plan     string    `json:"plan"`   // the plan's name
	Seed     uint64    `json:"seed"`
	Findings []Written `json:"findings"`
	// Constants are what parties must keep to whatever respondents hold; none in reports of format 2.
	Constants []Constant `json:"constants,omitempty"`
	// Left are the observers who were not attacked, with the reason.
	Left []string `json:"not_attacked,omitempty"`
}

const (
	reportFormat = "confetti-audit 3"
	olderFormat  = "confetti-audit 2" // of attacks that are no longer made
)

// Confidence is that of every bound: one in twenty is too large.
const Confidence = 0.95

// Assumption says what a bound rests on beside the draws.
type Assumption string

// Written is a finding in JSON.
type Written struct {
	Observer   string            `json:"observer,omitempty"`
	Lower      float64           `json:"epsilon_lower"`
	Sure       float64           `json:"epsilon_surely"` // but for one chance in a million
	Claimed    float64           `json:"epsilon_claimed"`
	Delta      float64           `json:"delta"`
	Adjacency  account.Adjacency `json:"adjacency"`
	Trust      account.Trust     `json:"trust"`
	Confidence float64           `json:"confidence"`
	Attack     string            `json:"attack"`
	Assumes    Assumption        `json:"assumes"`
	Runs       int               `json:"runs"`
	Guesses    int               `json:"guesses"`
	Verdict    string            `json:"verdict"`
}

// String says what was found by whom, and what it rests on.
func (f Written) String() string {
	in := fmt.Sprintf("%d collections", f.Runs)
	if f.Runs == 1 {
		in = "one collection"
	}
	return fmt.Sprintf("epsilon above %.4g of %.4g, %s: %s (%d guesses in %s)", f.Lower, f.Claimed, f.Assumes, f.Attack, f.Guesses, in)
}

// Constant is what a party must keep to whatever respondents hold, such as a flip rate or the law of its
// noise, and how well its draws fit.
type Constant struct {
	Party string `json:"party"`
	Says  string `json:"constant"`
	Draws int    `json:"draws"`
	// P is the probability of draws that fit as badly, or worse, where the party keeps to it.
	P float64 `json:"p"`
	// Fresh says that no seed gives these draws again, since seals are among them: drawn again they are others.
	Fresh   bool   `json:"fresh,omitempty"`
	Verdict string `json:"verdict"`
}

// Judge says what such a probability means; sure is the chance by which a party is said not to keep to
// a constant that it keeps to.
func Judge(p, sure float64) string {
	if p < sure {
		return broken
	}
	return "kept"
}

const broken = "not kept, but for one chance in a million"

// String says what is kept or not, and how sure that is.
func (c Constant) String() string {
	return fmt.Sprintf("%s: %s (%d draws, p = %.2g)", c.Says, c.Verdict, c.Draws, c.P)
}

// False says whether the party does not keep to it.
func (c Constant) False() bool { return c.Verdict == broken }

// New returns the report of a plan's audit before anything is found.
func New(p plan.Plan) Report {
	return Report{Format: reportFormat, Plan: p.Name(), Seed: seedOf(p), Findings: []Written{}}
}

// seedOf returns the seed of a plan's audit.
func seedOf(p plan.Plan) uint64 {
	hash := p.Hash()
	return uint64(binary.BigEndian.Uint32(hash[:4]))
}

// False gives the error of a promise that an attack proves to be false, or of a constant that is not kept.
func (r Report) False() error {
	for _, f := range r.Findings {
		if f.Sure > f.Claimed {
			return fmt.Errorf("audit: %s: %s", f.Observer, f.Verdict)
		}
	}
	for _, c := range r.Constants {
		if c.False() {
			return fmt.Errorf("audit: %s: %s: %s", c.Party, c.Says, c.Verdict)
		}
	}
	return nil
}

// Marshal returns the file's one form.
func (r Report) Marshal() []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(r); err != nil {
		panic("audit: " + err.Error()) // its numbers are finite
	}
	return b.Bytes()
}

// ParseReport reads what Marshal wrote, and nothing else.
func ParseReport(text []byte) (Report, error) {
	var r Report
	if err := json.Unmarshal(text, &r); err != nil || r.Format != reportFormat && r.Format != olderFormat || !bytes.Equal(r.Marshal(), text) {
		return Report{}, errors.New("audit: not a report of an audit in its one form")
	}
	return r, nil
}

// tolerance is how far a number may be from one that another machine has computed.
const tolerance = 1e-6

func alike(a, b float64) bool { return math.Abs(a-b) <= tolerance*math.Max(1, math.Abs(b)) }

// Check says why the report is not one of this plan, which promises these statements.
func (r Report) Check(p plan.Plan, promised []account.Statement) error {
	if r.Plan != p.Name() || r.Seed != seedOf(p) {
		return errors.New("audit: the report is of another plan, or of views that its plan's seed does not draw")
	}
	if len(r.Findings) == 0 && len(r.Left) == 0 {
		return errors.New("audit: the report says nothing")
	}
	for _, f := range r.Findings {
		of := slices.IndexFunc(promised, func(s account.Statement) bool { return s.Observer == f.Observer })
		if of < 0 {
			return fmt.Errorf("audit: the plan promises nothing to %q", f.Observer)
		}
		g, err := Claim(promised[of].Guarantee)
		if err != nil {
			return err
		}
		if !alike(f.Claimed, g.Epsilon) || !alike(f.Delta, g.Delta) {
			return fmt.Errorf("audit: the report has epsilon %.6g at delta %.3g for the claim before %q, and the plan promises %.6g at %.3g", f.Claimed, f.Delta, f.Observer, g.Epsilon, g.Delta)
		}
	}
	return r.False()
}

// Claim gives what a guarantee says of two records: of two labels, where it speaks of the label alone.
func Claim(g account.Guarantee) (account.Guarantee, error) {
	if g.Adjacency == account.Label {
		return g, nil
	}
	return g.Under(account.Replacement)
}

// Same says in what two audits of a plan differ, but for the last digits of numbers.
func (r Report) Same(again Report) error {
	if r.Format != again.Format {
		return fmt.Errorf("audit: the report is of format %q, whose attacks are no longer made: these are of %q", r.Format, again.Format)
	}
	if len(r.Findings) != len(again.Findings) {
		return fmt.Errorf("audit: the report has %d attacks, and they give %d again", len(r.Findings), len(again.Findings))
	}
	if !slices.Equal(r.Left, again.Left) {
		return fmt.Errorf("audit: the report leaves out %q, and again %q is left out", r.Left, again.Left)
	}
	if len(r.Constants) != len(again.Constants) {
		return fmt.Errorf("audit: the report has %d constants, and drawing them again gives %d", len(r.Constants), len(again.Constants))
	}
	for i, c := range r.Constants {
		d := again.Constants[i]
		if c.Fresh && d.Fresh {
			d.P, d.Draws = c.P, c.Draws // what both say of them is compared
		}
		if !alike(c.P, d.P) {
			return fmt.Errorf("audit: %s: %s: the report has draws of probability %.6g, and drawing them again gives %.6g", c.Party, c.Says, c.P, d.P)
		}
		if d.P = c.P; c != d {
			return fmt.Errorf("audit: the report describes a constant otherwise than it comes out again: %+v, %+v", c, d)
		}
	}
	for i, f := range r.Findings {
		g := again.Findings[i]
		if f.Observer != g.Observer || f.Runs != g.Runs || !alike(f.Lower, g.Lower) || !alike(f.Sure, g.Sure) {
			return fmt.Errorf("audit: %s: the report has an epsilon above %.6g (surely %.6g) of %d collections, and drawing them again gives %.6g (%.6g) of %d", f.Observer, f.Lower, f.Sure, f.Runs, g.Lower, g.Sure, g.Runs)
		}
		g.Lower, g.Sure, g.Claimed, g.Delta = f.Lower, f.Sure, f.Claimed, f.Delta // Check has compared the claim
		if f != g {
			return fmt.Errorf("audit: %s: the report describes the attack otherwise than it comes out again: %+v, %+v", f.Observer, f, g)
		}
	}
	return nil
}

// Section returns what a release says of the audit.
func (r Report) Section() release.Section {
	under := account.Replacement
	if len(r.Findings) > 0 {
		under = r.Findings[0].Adjacency
	}
	s := release.Section{
		Title: "What an attacker finds",
		Text:  "An attacker puts one of two records to the devices of this plan, again and again, and guesses from what each observer sees which it was. Right guesses prove that so much privacy is lost at least; the guarantees prove how much at most.",
		Tables: []release.Table{{
			Title:   "Epsilon found and claimed",
			Columns: []release.Column{{Title: "Observer"}, {Title: "Attack"}, {Title: "Rests on"}, {Title: "Found: above"}, {Title: "Claimed: at most"}, {Title: "Verdict"}},
			Note:    fmt.Sprintf("Each is found with confidence %s, at the delta of the claim, under %s. Seed %d, which follows from the plan.", account.Percent(Confidence), under, r.Seed),
			Rows:    r.rows(),
		}},
	}
	if len(r.Constants) == 0 {
		return s
	}
	t := release.Table{
		Title:   "What each party keeps to",
		Columns: []release.Column{{Title: "Party"}, {Title: "Keeps to"}, {Title: "Draws"}, {Title: "Chance of a worse fit"}, {Title: "Verdict"}},
		Note:    "These hold whatever respondents say: draws of what ships are compared with the numbers of the plan.",
	}
	for _, c := range r.Constants {
		t.Rows = append(t.Rows, []release.Cell{release.Text(c.Party), release.Text(c.Says), release.Number(float64(c.Draws), 0), release.Number(c.P, 0), release.Text(c.Verdict)})
	}
	s.Tables = append(s.Tables, t)
	return s
}

// rows has one for each finding, and then one for each observer who was not attacked.
func (r Report) rows() (rows [][]release.Cell) {
	for _, f := range r.Findings {
		rows = append(rows, []release.Cell{
			release.Text(f.Observer), release.Text(f.Attack), release.Text(string(f.Assumes)), release.Number(f.Lower, 0), release.Number(f.Claimed, 0), release.Text(f.Verdict),
		})
	}
	none := release.Text("–")
	for _, who := range r.Left {
		rows = append(rows, []release.Cell{release.Text(who), release.Text("not attacked"), none, none, none, none})
	}
	return rows
}
