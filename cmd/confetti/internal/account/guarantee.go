package account

import (
	"fmt"
	"io"
	"math"
	"text/tabwriter"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/bitnoise"
	"github.com/confetti-dp/confetti/internal/account/shuffle"
	"github.com/confetti-dp/confetti/internal/cli/flags"
	"github.com/confetti-dp/confetti/internal/cli/terminal"
)

type accountEpsilon struct {
	parameters
	Delta   float64 `help:"Probability that the bound by epsilon may fail by." required:""`
	Certify bool    `help:"Go through every data set, which may take seconds, and print a lower bound beside."`
	JSON    bool    `help:"Print JSON."`
}

func (accountEpsilon) Help() string {
	return `Examples:
  confetti account epsilon --mechanism rr --users 40000 --rounds 768 --flip-probability 0.176 --delta 1e-6
  confetti account epsilon --mechanism gaussian --sigma 117 --sensitivity 1 --rounds 768 --delta 1e-6
  confetti account epsilon --mechanism dpsgd --sampling 0.004 --noise-multiplier 1.1 --steps 14000 --delta 1e-5`
}

func (c accountEpsilon) Run(std terminal.Streams) error {
	m, err := c.check()
	if err != nil {
		return err
	}
	if err := flags.Probability("delta", c.Delta); err != nil {
		return err
	}
	if c.Certify && m.event == nil {
		return terminal.Usagef("--certify is not for --mechanism %s: leave it out", m.name)
	}
	s := m.statement(c.parameters)
	switch {
	case m.event == nil:
		s.Guarantee, err = c.fragments().Central(c.Delta)
	case c.Certify:
		err = s.certify(std, m.repeated(c.parameters), c.Delta)
	default:
		s.Guarantee, err = account.Epsilon(m.repeated(c.parameters), c.Delta)
	}
	if err != nil {
		return m.refused(err, "delta")
	}
	return s.print(std, c.JSON)
}

type accountDelta struct {
	parameters
	Epsilon float64 `help:"The epsilon at which delta is asked for." required:""`
	JSON    bool    `help:"Print JSON."`
}

func (accountDelta) Help() string {
	return "Example:\n  confetti account delta --mechanism 3nb --noise 0.8 --flood-shape 12 --flood-probability 0.9 --epsilon 1"
}

func (c accountDelta) Run(std terminal.Streams) error {
	m, err := c.check()
	if err != nil {
		return err
	}
	if err := flags.Positive("epsilon", c.Epsilon); err != nil {
		return err
	}
	if m.event == nil {
		return terminal.Usagef("--mechanism %s has no delta here: ask confetti account epsilon", m.name)
	}
	s := m.statement(c.parameters)
	if s.Guarantee, err = account.Delta(m.repeated(c.parameters), c.Epsilon); err != nil {
		return m.refused(err, "epsilon")
	}
	return s.print(std, c.JSON)
}

// statement is a guarantee with the mechanism that gives it, as it is printed.
type statement struct {
	account.Guarantee
	mechanism  string
	parameters []parameter
	certified  bool     // both bounds were asked for
	lower      *float64 // of epsilon, where known
}

// parameter is a number beside the guarantee; key is its name in JSON.
type parameter struct {
	key, label string
	value      float64
	note       string
}

// statement returns one without its guarantee yet.
func (m mechanism) statement(p parameters) *statement {
	s := &statement{mechanism: m.name}
	if m.says != nil {
		m.says(s, p)
	}
	return s
}

// add leaves out what is not a number: an error without bound, say.
func (s *statement) add(key, title string, value float64, note string) {
	if !math.IsInf(value, 0) && !math.IsNaN(value) {
		s.parameters = append(s.parameters, parameter{key, title, value, note})
	}
}

func (s *statement) randomizedResponse(e shuffle.RandomizedResponse, rounds int) {
	s.add("flip_probability", "flip probability", e.Flip, "of every bit")
	s.add("rmse", "RMSE", e.RMSE(), "of one sum, in respondents")
	s.add("messages_per_device", "messages per device", float64(rounds), "one bit each")
}

func (s *statement) pure(e bitnoise.Pure, rounds int) {
	s.add("epsilon_of_a_round", "epsilon of a round", e.Epsilon, "with delta 0")
	s.add("theta", "theta", e.Theta, "the part of it that hides who dropped out")
	s.add("drop_probability", "drop probability", e.Drop, "of an input")
	s.add("size", "size", float64(e.Size), "pairs of messages that every respondent sends")
	s.add("rmse", "RMSE", e.RMSE(e.Users), "of one sum, in respondents, at most")
	s.add("messages_per_device", "messages per device", float64(rounds)*(0.5+e.MessagesPerUser()), "on average, half the bits being ones; dummies come on top")
}

// coordinates are of a vector of bits that are flipped.
func (s *statement) coordinates(users int, flip float64, what string) {
	s.add("flip_probability", "flip probability", flip, what)
	s.add("rmse", "RMSE", shuffle.RandomizedResponse{Users: users, Flip: flip}.RMSE(), "of one coordinate's count, in respondents")
}

func (s *statement) threeNB(e bitnoise.ThreeNB, rounds int) {
	s.add("noise", "noise e1", e.Noise, "of the discrete Laplace in each sum")
	s.add("flood_shape", "flood shape r", e.FloodShape, "")
	s.add("flood_probability", "flood probability p", e.FloodProb, "")
	s.add("rmse", "RMSE", e.RMSE(), "of one sum, in respondents")
	if e.Users > 0 {
		mean := float64(rounds) * (0.5 + e.MessagesPerUser())
		s.add("messages_per_device", "messages per device", mean, "on average, half the bits being ones; dummies come on top")
	}
}

func (s *statement) poisson(e bitnoise.PoissonSum, rounds int) {
	s.add("mean", "mean", e.Mean, "of the noise of all users together")
	s.add("rmse", "RMSE", e.RMSE(), "of one sum, in respondents")
	s.add("messages_per_device", "messages per device", float64(rounds)*(0.5+e.MessagesPerUser()), "on average, half the bits being ones; dummies come on top")
}

// print writes the statement for people, or as JSON.
func (s *statement) print(std terminal.Streams, asJSON bool) error {
	if asJSON {
		return terminal.WriteJSON(std.Out, s.document())
	}
	w := tabwriter.NewWriter(std.Out, 0, 0, 2, ' ', 0)
	s.table(w)
	return w.Flush()
}

func (s *statement) table(w io.Writer) {
	g := s.Guarantee
	row := func(label, format string, a ...any) { fmt.Fprintf(w, "%s\t%s\n", label, fmt.Sprintf(format, a...)) }
	row("mechanism", "%s", s.mechanism)
	epsilon := fmt.Sprintf("%.6g", g.Epsilon)
	if s.lower != nil {
		epsilon += fmt.Sprintf(" proved, and not below %.6g whatever the accountant", *s.lower)
	} else if s.certified {
		epsilon += " proved; no lower bound is known"
	}
	if !g.Meaningful() {
		epsilon += ": " + account.NoProtection
	}
	row("epsilon", "%s", epsilon)
	row("delta", "%.4g", g.Delta)
	row("adjacency", "%s", g.Adjacency.Words())
	if h, err := g.Under(account.Replacement); err == nil && g.Adjacency != account.Replacement {
		row("", "that is %s", h.Verdict())
	}
	row("observer", "%s: %s", g.Trust, g.Trust.Words())
	if g.Users > 0 {
		row("respondents", "%s", terminal.Thousands(g.Users))
	}
	row("rounds", "%s", terminal.Thousands(g.Rounds))
	row("side", "%s: %s", g.Bound, g.Bound.Words())
	row("method", "%s", g.Method)
	row("source", "%s", g.Source)
	if g.Certified != "" {
		row("certificate", "%s", g.Certified)
	}
	for _, p := range s.parameters {
		if p.note != "" {
			row(p.label, "%.6g (%s)", p.value, p.note)
		} else {
			row(p.label, "%.6g", p.value)
		}
	}
}

// document returns the JSON of a statement: what does not apply is left out.
func (s *statement) document() map[string]any {
	g := s.Guarantee
	d := map[string]any{
		"mechanism": s.mechanism, "epsilon": g.Epsilon, "delta": g.Delta, "adjacency": g.Adjacency, "trust": g.Trust,
		"rounds": g.Rounds, "bound": g.Bound, "method": g.Method, "source": g.Source,
	}
	if g.Users > 0 {
		d["users"] = g.Users
	}
	if h, err := g.Under(account.Replacement); err == nil && g.Adjacency != account.Replacement {
		d["epsilon_replacement"], d["delta_replacement"] = h.Epsilon, h.Delta
	}
	if g.Certified != "" {
		d["certified"] = g.Certified
	}
	if s.lower != nil {
		d["epsilon_at_least"] = *s.lower
	}
	for _, p := range s.parameters {
		d[p.key] = p.value
	}
	return d
}
