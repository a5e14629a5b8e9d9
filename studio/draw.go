package studio

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/confetti-dp/confetti/client/words"
	"github.com/confetti-dp/confetti/dp/account"
	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/internal/replay"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/plan/author"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/question"
	"github.com/confetti-dp/confetti/question/law"
	"github.com/confetti-dp/confetti/release"
	"github.com/confetti-dp/confetti/release/findings"
)

// Drawn is what a collection of so many people who answer as the rows do would publish, drawn
// once from its exact law, and what it costs. Shares are of all people.
type Drawn struct {
	People  int     `json:"people"`
	Rows    int     `json:"rows"`
	Left    int     `json:"left"` // rows that were left out for empty cells
	Values  []Value `json:"values"`
	Answer  string  `json:"answer"`
	Cards   []Card  `json:"cards"`
	Cost    []Line  `json:"cost"`
	Plan    string  `json:"plan"` // TOML, without the parties' keys
	Chosen  string  `json:"chosen"`
	Ordered bool    `json:"ordered"` // values are steps of a number
}

// Value is one that the plan names.
type Value struct {
	Name     string  `json:"name"`
	Truth    float64 `json:"truth"`    // share of the rows that hold it
	Estimate float64 `json:"estimate"` // as it would be published
	Low      float64 `json:"low"`      // 95 % for all values at once
	High     float64 `json:"high"`
}

// Card is one observer, and what it can learn of a person.
type Card struct {
	Observer string  `json:"observer"`
	Who      string  `json:"who"`
	Verdict  string  `json:"verdict"`
	Meaning  string  `json:"meaning"`
	Belief   string  `json:"belief,omitempty"` // of what was even odds before; "" where there is no limit
	Low      float64 `json:"low"`
	High     float64 `json:"high"`
	Weak     bool    `json:"weak"` // it is kept, and says little
}

// Line is a number for people.
type Line struct {
	Label string `json:"label"`
	Value string `json:"value"`
	Note  string `json:"note,omitempty"`
}

// holders are how many rows hold each cell, of sets the rows themselves, for one choice of what
// is asked: epsilon and people do not change them.
type holders struct {
	of     Choice
	counts []int
	values []question.Value // of sets
	rows   int
	left   int
	asked  plan.Attribute
}

// maxSets bounds the people of whom a draw of sets is made: each is drawn by itself.
const maxSets = 100_000

// Draw designs the plan of a choice, and draws a collection.
func (s *Sheet) Draw(c Choice) (Drawn, error) {
	if err := c.check(s); err != nil {
		return Drawn{}, err
	}
	if c.Kind == "set" && c.People > maxSets {
		return Drawn{}, fmt.Errorf("of sets at most %d people are drawn here: choose fewer, or draw more with confetti collect simulate", maxSets)
	}
	h, err := s.held(c)
	if err != nil {
		return Drawn{}, err
	}
	p, proto, err := design(c.draft(h.asked))
	if err != nil {
		return Drawn{}, err
	}
	promise, err := proto.Promise()
	if err != nil {
		return Drawn{}, err
	}
	d := Drawn{People: c.People, Rows: h.rows, Left: h.left, Ordered: c.Kind == "buckets", Chosen: p.Question.Histogram.Randomizer.Name}
	if err := d.draw(proto, h, c); err != nil {
		return Drawn{}, err
	}
	d.Cards, d.Answer = cards(promise.Statements), d.answer()
	for _, m := range promise.Cost {
		d.Cost = append(d.Cost, Line{m.Label, m.String(), m.Note})
	}
	took, err := sealing(proto.Plan)
	if err != nil {
		return Drawn{}, err
	}
	d.Cost = append(d.Cost, Line{"Time to seal", took, "measured in this browser, on this machine"})
	d.Plan = head + string(author.TOML(p))
	return d, nil
}

// head stands above a plan of this page.
const head = `# A plan without the keys of its parties, each of whom makes its own and sends the public half:
#   confetti keys new --for hop, and --for analyzer
# To try it with keys of one machine: confetti up trial --plan plan.toml --open
# To sign it, with keys and addresses in:
#   confetti plan sign plan.toml --key publisher.json --closes TIME --out plan.signed.json

`

// held finds the holders of a choice, or has them.
func (s *Sheet) held(c Choice) (holders, error) {
	of := c
	of.Epsilon, of.People, of.Seed, of.Title, of.Answer = 1, 1000, 0, "", "one-hot" // which change no row
	if s.holders.rows > 0 && s.holders.of == of {
		return s.holders, nil
	}
	rows, left, err := c.values(s)
	if err != nil {
		return holders{}, err
	}
	h := holders{of: of, rows: len(rows), left: left}
	if h.asked, err = c.attribute(s, rows); err != nil {
		return holders{}, err
	}
	_, proto, err := design(of.draft(h.asked))
	if err != nil {
		return holders{}, err
	}
	q, ok := proto.Question.(question.Read)
	if !ok {
		return holders{}, fmt.Errorf("a question of kind %s takes no rows", proto.Plan.Question.Kind)
	}
	values := make([]question.Value, len(rows))
	known := map[string]question.Value{}
	for i, row := range rows {
		v, there := known[row]
		if !there {
			var errs []error
			if v, errs = q.Value([]any{row}); len(errs) > 0 {
				return holders{}, fmt.Errorf("a row %w: ask this column as names", errs[0])
			}
			known[row] = v
		}
		values[i] = v
	}
	truth, err := law.Reveal(proto, law.Values(values))
	if err != nil {
		return holders{}, err
	}
	h.counts = truth.Table(0, 0).Counts
	if c.Kind == "set" {
		h.values = values
	}
	s.holders = h
	return h, nil
}

// population is so many people who answer as the rows do.
func (h holders) population(people int) law.Population {
	if h.values != nil {
		all := make(law.Values, people)
		for i := range all { // every row as often as every other, to one
			all[i] = h.values[i*len(h.values)/people]
			if people > len(h.values) {
				all[i] = h.values[i%len(h.values)]
			}
		}
		return all
	}
	// Each share is rounded down, and who is left goes to the largest remainders.
	out, left := make(law.Holders, len(h.counts)), people
	order := make([]int, len(h.counts))
	for i, n := range h.counts {
		out[i], order[i] = n*people/h.rows, i
		left -= out[i]
	}
	slices.SortStableFunc(order, func(a, b int) int { return h.counts[b]*people%h.rows - h.counts[a]*people%h.rows })
	for _, i := range order[:left] {
		out[i]++
	}
	return out
}

// draw draws one collection, and reads it as an analyzer does.
func (d *Drawn) draw(proto *protocol.Protocol, h holders, c Choice) error {
	stream := func(part ...uint64) *rand.Rand { return replay.New(c.Seed, part...) }
	crowds, err := law.Draw(proto, h.population(c.People), stream, func(int) {})
	if err != nil {
		return err
	}
	model, err := proto.Learn(crowds)
	if err != nil {
		return err
	}
	sheet, err := findings.Beside(model, findings.Public{})
	if err != nil {
		return err
	}
	counts, err := release.ReadCounts(bytes.NewReader(sheet.Text), len(h.counts))
	if err != nil {
		return err
	}
	n := float64(c.People)
	for i, v := range counts {
		d.Values = append(d.Values, Value{
			Name: v.Value, Truth: float64(h.counts[i]) / float64(h.rows), Estimate: v.Estimate / n, Low: v.LowAll / n, High: v.HighAll / n,
		})
	}
	return nil
}

// answer says how well a value is known, in a sentence.
func (d Drawn) answer() string {
	most, worst := 0, 0.0
	for i, v := range d.Values {
		if v.Truth > d.Values[most].Truth {
			most = i
		}
		worst = max(worst, v.half())
	}
	first := d.Values[most]
	return fmt.Sprintf("Of %s people, “%s”, which %s of your rows hold, would be known to ±\u00a0%s, and every value at once to ±\u00a0%s or better.",
		release.FormatNumber(float64(d.People)), first.Name, percent(first.Truth), points(first.half()), points(worst))
}

// half is that of the interval, to the farther end.
func (v Value) half() float64 { return max(v.Estimate-v.Low, v.High-v.Estimate) }

// points is a difference of shares.
func points(share float64) string {
	return fmt.Sprintf("%s points", strings.TrimSuffix(percent(share), "\u00a0%"))
}

func percent(share float64) string {
	digits := 1
	if share < 0.01 {
		digits = 2
	}
	return fmt.Sprintf("%.*f\u00a0%%", digits, 100*share)
}

// weakFrom is the belief above which a promise says little.
const weakFrom = 0.95

func cards(all []account.Statement) (out []Card) {
	for _, s := range all {
		c := Card{Observer: s.Observer, Who: s.Who, Verdict: s.Guarantee.Verdict(), Meaning: s.Guarantee.Meaning(), High: 1}
		if g, err := s.Guarantee.Under(account.Replacement); err == nil && g.Meaningful() {
			c.Low, c.High = words.Belief(0.5, g.Epsilon)
			c.Belief, c.Weak = "From 50\u00a0% to "+strings.TrimPrefix(words.Between(c.Low, c.High), " "), c.High > weakFrom
		}
		out = append(out, c)
	}
	return out
}

// sealed is how many envelopes are sealed to see how long it takes.
const sealed = 8

// sealing measures what a device takes to seal its envelopes.
func sealing(p plan.Plan) (string, error) {
	var keys []envelope.PublicKey
	for _, party := range append(slices.Clone(p.Route.Instances()[0].Hops), p.Analyzer) {
		key, err := envelope.ParsePublicKey(party.Key)
		if err != nil {
			return "", err
		}
		keys = append(keys, key)
	}
	sealer, err := envelope.NewSealer(envelope.Route(p.Hash(), 0, 0, keys...), p.Envelopes.PayloadBytes)
	if err != nil {
		return "", err
	}
	payload := make([]byte, p.Envelopes.PayloadBytes)
	n := min(p.Envelopes.PerDevice, sealed)
	start := time.Now()
	for range n {
		if _, err := sealer.Seal(payload); err != nil {
			return "", err
		}
	}
	seconds := time.Since(start).Seconds() / float64(n) * float64(p.Envelopes.PerDevice)
	if seconds < 0.01 {
		return "less than 0.01 s", nil
	}
	return fmt.Sprintf("%.2g s", seconds), nil
}
