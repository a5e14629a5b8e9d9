// Package advise implements confetti-lab advise: which protocol or route suits a task, with error and cost. Used by
// lab/cmd/confetti-lab, for authors of plans.
package advise

import (
	"cmp"
	"fmt"
	"math"
	"strings"
	"text/tabwriter"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/internal/cli/flags"
	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/lab/advise"
)

// Command is confetti-lab advise.
type Command struct {
	Kind         string   `help:"values: the protocols that count or sum them; labels: the ways to tell private labels of public features." enum:"values,labels" default:"values"`
	Users        int      `help:"Honest respondents in one released batch." required:"" placeholder:"N"`
	Repetitions  *int     `help:"Bits that every respondent answers, as for a density; or --domain." placeholder:"K" xor:"question"`
	Domain       *int     `help:"Values, or labels, of which every respondent holds one." placeholder:"K" xor:"question"`
	Clusters     int      `help:"Labels: public clusters that they are counted in; 0: as many as counts can be told in." placeholder:"J"`
	Features     int      `help:"Labels: public numbers of a respondent, where sums are to be compared too." placeholder:"D"`
	Epsilon      float64  `help:"Epsilon of all that is released, together; may be left out beside --local-epsilon." placeholder:"E"`
	LocalEpsilon *float64 `help:"Epsilon of all that one device sends, though everyone colludes: compare at that, or, with --epsilon, where both hold." placeholder:"E"`
	Delta        float64  `help:"Probability that the bound by epsilon may fail by." default:"1e-6"`
	Tau          int      `help:"Report fragments: fragments of every bit." default:"4"`
	Hashes       int      `help:"Sketch: rows." default:"16"`
	Width        int      `help:"Sketch: cells of a row." default:"1024"`
	Hops         int      `help:"Hops of the shuffler, each a layer of every envelope." default:"2"`
	Suite        string   `help:"x25519 or x-wing." enum:"x25519,x-wing" default:"x25519"`
	Plot         string   `help:"Also draw the error against epsilon and against the respondents: NAME.png or NAME.svg gives NAME-epsilon and NAME-users." placeholder:"FILE" type:"path"`
	JSON         bool     `help:"Print JSON."`
}

func (Command) Help() string {
	return `Examples:
  confetti-lab advise --users 40000 --repetitions 768 --epsilon 1
  confetti-lab advise --users 40000 --domain 1000 --epsilon 1 --plot error.png
  confetti-lab advise --users 40000 --domain 1000 --local-epsilon 4
  confetti-lab advise --kind labels --users 54000 --domain 10 --features 100 --epsilon 0.25`
}

func (c Command) task() (advise.Task, error) {
	t := advise.Task{Users: c.Users, Epsilon: c.Epsilon, Delta: c.Delta, Tau: c.Tau, Hashes: c.Hashes, Width: c.Width}
	for name, n := range map[string]int{"users": c.Users, "tau": c.Tau, "hashes": c.Hashes, "width": c.Width, "hops": c.Hops} {
		if err := flags.Positive(name, float64(n)); err != nil {
			return t, err
		}
	}
	switch {
	case c.Repetitions != nil:
		t.Repetitions = *c.Repetitions
		if err := flags.Positive("repetitions", float64(t.Repetitions)); err != nil {
			return t, err
		}
	case c.Domain != nil:
		t.Domain = *c.Domain
		if t.Domain < 2 {
			return t, terminal.Usagef("--domain is %d: give at least 2 values", t.Domain)
		}
	default:
		return t, terminal.Usagef("--repetitions or --domain is missing: say how many bits every respondent answers, or out of how many values each holds one")
	}
	if c.Epsilon == 0 && c.LocalEpsilon == nil {
		return t, terminal.Usagef("--epsilon is 0 or missing: give a number above 0, a --local-epsilon, or both")
	}
	if err := flags.Positive("epsilon", c.Epsilon); err != nil && c.Epsilon != 0 {
		return t, err
	}
	if c.LocalEpsilon != nil {
		t.LocalEpsilon = *c.LocalEpsilon
		if err := flags.Positive("local-epsilon", t.LocalEpsilon); err != nil {
			return t, err
		}
	}
	return t, flags.Probability("delta", c.Delta)
}

func (c Command) Run(std terminal.Streams) error {
	task, err := c.task()
	if err != nil {
		return err
	}
	if c.Kind == "labels" {
		return c.labels(std, task)
	}
	if c.Clusters != 0 || c.Features != 0 {
		return terminal.Usagef("--clusters and --features are of --kind labels: leave them out")
	}
	if err := c.checkPlot(); err != nil {
		return err
	}
	advice, err := advise.Compare(task)
	if err != nil {
		return flags.Refused(err, "users", "repetitions", "domain", "epsilon", "local-epsilon", "delta", "tau", "hashes", "width")
	}
	if c.Plot != "" {
		if err := c.draw(std, task, advice); err != nil {
			return err
		}
	}
	if c.JSON {
		routes, err := advice.Routes(task)
		if err != nil {
			return err
		}
		return terminal.WriteJSON(std.Out, c.document(advice, routes))
	}
	if _, err = std.Out.Write([]byte(c.table(task, advice))); err != nil {
		return err
	}
	return c.routes(std, task, advice)
}

// routes prints the ways that the answers may go.
func (c Command) routes(std terminal.Streams, task advise.Task, a advise.Advice) error {
	all, err := a.Routes(task)
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(std.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "\nroute\tRMSE\tbytes\tservers,\teveryone\trests on\ta liar can")
	fmt.Fprintln(w, "\tof one sum\ta device\tabout ms\tcolludes\t\t")
	for _, r := range all {
		bytes := cmp.Or(r.Bytes, c.bytes(a.Options[max(0, a.Best)]))
		fmt.Fprintf(w, "%s\t%s\t%s\t%.3g\t%s\t%s\t%s\n", r.Name, terminal.Wide(r.RMSE), terminal.Thousands(bytes), r.Micros/1000, terminal.Wide(r.Local), r.Rests, r.Liar)
	}
	fmt.Fprintf(w, "\nRoute: %s\n", advise.Chosen(all))
	return w.Flush()
}

// messageBytes is the payload of an envelope in the plans that confetti authors.
const messageBytes = 8

// bytes returns what a device sends: every envelope in its layers.
func (c Command) bytes(o advise.Option) int {
	return o.Envelopes * envelope.Suite(c.Suite).Size(c.Hops+1, messageBytes)
}

func (c Command) table(task advise.Task, a advise.Advice) string {
	var b strings.Builder
	what := fmt.Sprintf("%s bits each", terminal.Thousands(task.Repetitions))
	if task.Domain > 0 {
		what = fmt.Sprintf("one of %s values each", terminal.Thousands(task.Domain))
	}
	var promised []string
	if task.Epsilon > 0 {
		promised = append(promised, fmt.Sprintf("epsilon %g, delta %g for whoever reads what is released", task.Epsilon, task.Delta))
	}
	if task.LocalEpsilon > 0 {
		promised = append(promised, fmt.Sprintf("epsilon %g, delta 0 though everyone colludes", task.LocalEpsilon))
	}
	fmt.Fprintf(&b, "%s respondents, %s; %s (replacement)\n\n", terminal.Thousands(task.Users), what, strings.Join(promised, "; "))
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "\tprotocol\tRMSE\tof n\tmessages\tenvelopes\tbytes\tepsilon:\tone fragment\teveryone\tnoise")
	fmt.Fprintln(w, "\t\tof one sum\t\ta device\ta device\ta device\tshuffled\tseen\tcolludes\t")
	for i, o := range a.Options {
		if o.Excluded != "" {
			continue
		}
		mark, messages, envelopes, bytes := "", terminal.Wide(o.Messages), terminal.Thousands(o.Envelopes), terminal.Thousands(c.bytes(o))
		if i == a.Best {
			mark = "*"
		}
		if o.Guarantee.Trust == account.Central {
			messages, envelopes, bytes = "curator", "", ""
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", mark, o.Protocol, terminal.Wide(o.RMSE), fmt.Sprintf("%.3g %%", 100*o.RMSE/float64(task.Users)),
			messages, envelopes, bytes, terminal.Wide(o.Guarantee.Epsilon), terminal.Wide(o.OneFragment.Epsilon), terminal.Wide(o.Local), o.Noise)
	}
	w.Flush()
	fmt.Fprintf(&b, "\nMessages are the mean; envelopes are what every device sends whatever its data, dummies included, each in %d layers of\n%s round %d bytes. One fragment seen: by somebody who opens it, knows whose it is, and sees all others among everybody's; its epsilon and\nthe shuffled one hold at delta %g. If everyone colludes delta is 0.\n",
		c.Hops+1, c.Suite, messageBytes, task.Delta)
	for _, o := range a.Options {
		if o.Excluded != "" {
			fmt.Fprintf(&b, "Not %s: %s.\n", o.Protocol, o.Excluded)
		}
	}
	fmt.Fprintf(&b, "\nRecommended: %s\n", a.Reason)
	return b.String()
}

func (c Command) document(a advise.Advice, routes []advise.Route) any {
	type route struct {
		Name   string   `json:"route"`
		RMSE   float64  `json:"rmse"`
		Bytes  int      `json:"bytes_per_device"`
		Micros float64  `json:"server_microseconds_per_device"` // about
		Local  *float64 `json:"epsilon_local,omitempty"`        // left out: nothing is promised
		Rests  string   `json:"rests_on"`
		Liar   string   `json:"a_liar_can"`
	}
	type option struct {
		Protocol    string   `json:"protocol"`
		Excluded    string   `json:"excluded,omitempty"`
		Epsilon     float64  `json:"epsilon,omitempty"`
		Delta       float64  `json:"delta,omitempty"`
		Adjacency   string   `json:"adjacency,omitempty"`
		Trust       string   `json:"trust,omitempty"`
		Method      string   `json:"method,omitempty"`
		Certified   string   `json:"certified,omitempty"`
		RMSE        float64  `json:"rmse,omitempty"`
		Relative    float64  `json:"rmse_of_users,omitempty"`
		Messages    *float64 `json:"messages_per_device,omitempty"` // mean; none for a curator
		Envelopes   *int     `json:"envelopes_per_device,omitempty"`
		Bytes       *int     `json:"bytes_per_device,omitempty"`
		Local       *float64 `json:"epsilon_local,omitempty"`        // left out: nothing is promised
		OneFragment *float64 `json:"epsilon_one_fragment,omitempty"` // opened, and the others seen shuffled
		OneDelta    *float64 `json:"delta_one_fragment,omitempty"`
		Noise       string   `json:"noise,omitempty"`
	}
	out := struct {
		Recommended string   `json:"recommended"`
		Reason      string   `json:"reason"`
		Options     []option `json:"options"`
		Route       string   `json:"route"`
		Routes      []route  `json:"routes"`
	}{Reason: a.Reason, Route: advise.Chosen(routes)}
	for _, r := range routes {
		row := route{r.Name, r.RMSE, cmp.Or(r.Bytes, c.bytes(a.Options[max(0, a.Best)])), r.Micros, nil, r.Rests, r.Liar}
		if !math.IsInf(r.Local, 1) {
			row.Local = &r.Local
		}
		out.Routes = append(out.Routes, row)
	}
	if a.Best >= 0 {
		out.Recommended = a.Options[a.Best].Protocol
	}
	for _, o := range a.Options {
		g := o.Guarantee
		row := option{
			Protocol: o.Protocol, Excluded: o.Excluded, Epsilon: g.Epsilon, Delta: g.Delta, Adjacency: string(g.Adjacency), Trust: string(g.Trust),
			Method: g.Method, Certified: g.Certified, RMSE: o.RMSE, Relative: o.RMSE / float64(c.Users), Noise: o.Noise,
		}
		if o.Excluded == "" && g.Trust != account.Central {
			bytes := c.bytes(o)
			row.Messages, row.Envelopes, row.Bytes = &o.Messages, &o.Envelopes, &bytes
			if !math.IsInf(o.Local, 1) {
				row.Local = &o.Local
			}
			if one := o.OneFragment; !math.IsInf(one.Epsilon, 1) {
				row.OneFragment, row.OneDelta = &one.Epsilon, &one.Delta
			}
		}
		out.Options = append(out.Options, row)
	}
	return out
}
