package up

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"unicode"
	"unicode/utf8"

	"github.com/confetti-dp/confetti/cmd/internal/plans"
	"github.com/confetti-dp/confetti/cmd/internal/trial"
	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/internal/sanitize"
	"github.com/confetti-dp/confetti/internal/storage/atomicfile"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol/design"
)

// Bounds of a poll, so that a phone and a screen that is far away show all of it.
const (
	maxQuestion = 120 // letters
	maxAnswer   = 40  // letters
	maxAnswers  = 20
	minPeople   = 2
)

// pollEpsilon bounds what the result tells of an answer: who gives one even odds becomes at most 89 % sure of it.
const pollEpsilon = 2

// settlePoll checks --ask, --answers and --people, and sets what follows from them: pages, for phones on the network.
func (c *Command) settlePoll(t trial.Folder) error {
	if len(c.Answers) == 0 && c.People == 0 {
		if err := c.takeUp(t); err != nil {
			return err
		}
	}
	c.named = c.LAN
	if c.Ask == "" && (len(c.Answers) > 0 || c.People != 0) {
		return terminal.Usagef(`--answers and --people go with a question, and there is none: give one, such as --ask "What do you drink?"`)
	}
	if c.Ask == "" {
		return nil
	}
	for i, a := range c.Answers {
		c.Answers[i] = strings.TrimSpace(a)
	}
	c.Ask = strings.TrimSpace(c.Ask)
	var errs terminal.Faults
	errs.Require(c.Ask != "" && fits(c.Ask, maxQuestion), "--ask has %d letters: give a question of 1 to %d that can be printed on one line", utf8.RuneCountInString(c.Ask), maxQuestion)
	switch n := len(c.Answers); {
	case n < 2:
		errs.Require(false, "--answers has %d of at least 2: give what can be chosen, with commas between, such as --answers tea,coffee,mate", n)
	case n > maxAnswers:
		errs.Require(false, "--answers has %d, and a phone shows at most %d: leave some out, or have one for all others", n, maxAnswers)
	}
	for i, a := range c.Answers {
		errs.Require(a != "", "--answers: number %d is empty: give words between all commas, or leave the comma out", i+1)
		errs.Require(fits(a, maxAnswer), "--answers: number %d has %d letters: give at most %d, on one line", i+1, utf8.RuneCountInString(a), maxAnswer)
		errs.Require(a == "" || slices.Index(c.Answers, a) == i, "--answers: number %d is there before: give each once", i+1)
	}
	errs.Require(c.People >= minPeople && c.People <= maxTrial, "--people is %d: give the fewest of whom a result is shown, %d to %d; of one alone it would be that one's", c.People, minPeople, maxTrial)
	errs.Require(c.Rounds == 0, "--rounds is of studies: a poll is asked once, so leave it out")
	if len(errs) > 0 {
		return terminal.Usage(errors.Join(errs...))
	}
	c.Open = true
	c.places = min(2*c.People, maxTrial) // one for each phone, and some to spare
	if c.LAN == "" {
		c.LAN = network()
	}
	return nil
}

// takeUp takes up the poll of a folder as it was asked, where no question is given. Its file has the address that phones
// were let in at, where one was named.
func (c *Command) takeUp(t trial.Folder) error {
	text, err := atomicfile.Read(t.Path(asked))
	if errors.Is(err, fs.ErrNotExist) || c.Ask != "" || c.Plan != "" {
		return nil
	} else if err != nil {
		return err
	}
	signed, err := plans.ReadSigned(t.Path(trial.Plan))
	if errors.Is(err, fs.ErrNotExist) { // its making was cut short
		return nil
	} else if err != nil {
		return err
	}
	h := signed.Plan.Question.Histogram
	if h == nil || len(h.Attributes) != 1 {
		return fmt.Errorf("%s says that the trial is a poll, and its plan is of another question: remove the file, and the trial goes on without pages", t.Path(asked))
	}
	c.Ask, c.Answers, c.People = signed.Plan.Title, h.Attributes[0].Values, signed.Plan.Crowd.Minimum
	c.LAN = cmp.Or(c.LAN, strings.TrimSpace(string(text)))
	return nil
}

// asked names the file that makes a trial's folder one of a poll.
const asked = "poll"

// fits reports whether a text has at most so many letters, all of which print.
func fits(text string, most int) bool {
	return utf8.ValidString(text) && utf8.RuneCountInString(text) <= most && !strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) })
}

// network returns the address of this machine on a private network, by which it would reach others; "" where it has none.
func network() string {
	c, err := net.Dial("udp4", "192.0.2.1:9") // an address of documents, to which nothing is sent
	if err != nil {
		return ""
	}
	defer c.Close()
	if at, is := c.LocalAddr().(*net.UDPAddr); is && at.IP.IsPrivate() {
		return at.IP.String()
	}
	return ""
}

// poll returns a plan with the question of --ask, which phones answer in the way that errs least.
func (c Command) poll(p plan.Plan) plan.Plan {
	p.Title = c.Ask
	p.Question.Histogram.Attributes = []plan.Attribute{{Name: "answer", Kind: "categories", Values: slices.Clone(c.Answers)}}
	if p.Route.Sum == nil {
		p.Question.Histogram.Randomizer.Name = ""
	}
	p.Budget.Epsilon, p.Crowd.Minimum = pollEpsilon, c.People
	return p
}

// asksAnother refuses a question that the trial of the folder does not ask.
func (c Command) asksAnother(t trial.Folder, signed plan.Signed) error {
	p := signed.Plan
	if c.Plan != "" {
		return c.plansAnother(t, signed)
	}
	if c.Ask == "" {
		return nil
	}
	h := p.Question.Histogram
	if h == nil || len(h.Attributes) != 1 || p.Title != c.Ask || !slices.Equal(h.Attributes[0].Values, c.Answers) || p.Crowd.Minimum != c.People {
		return terminal.Usagef("%s has a poll already, which asks “%s”: name another folder for another question, or start this one again by the same words", t, sanitize.Text(p.Title))
	}
	return nil
}

// plansAnother refuses a plan that asks, promises or waits for something else than the trial of the folder does.
func (c Command) plansAnother(t trial.Folder, signed plan.Signed) error {
	draft, err := c.Draft()
	if err == nil && unfilled(draft) {
		draft, err = design.Fill(draft)
	}
	if err != nil {
		return err
	}
	made := signed.Plan
	if study, is := signed.InStudy(); is {
		made = study.Study.Plan
	}
	kept := func(p plan.Plan) string {
		one := plan.Plan{Version: plan.Version, Title: p.Title, Question: p.Question, Budget: p.Budget, Crowd: p.Crowd, Route: plan.Route{Kind: p.Route.Kind}}
		if s := p.Route.Sum; s != nil {
			one.Route.Sum = &plan.Sum{Noise: s.Noise, Correlated: s.Correlated}
		}
		return one.Name()
	}
	if kept(draft) != kept(made) {
		return terminal.Usagef("%s has a trial already, of another plan than %s: “%s”; name another folder for this plan, or leave --plan out to go on with that one", t, c.Plan, sanitize.Text(made.Title))
	}
	return nil
}

// listenPages takes a port for the pages: the one that phones know the poll by, or at first a free one, which is written down.
func listenPages(t trial.Folder, ip net.IP) (net.Listener, error) {
	file := t.Path(port)
	text, err := atomicfile.Read(file)
	if errors.Is(err, fs.ErrNotExist) {
		l, err := net.Listen("tcp", net.JoinHostPort(ip.String(), "0"))
		if err != nil {
			return nil, err
		}
		_, at, err := net.SplitHostPort(l.Addr().String())
		if err == nil {
			err = atomicfile.Replace(file, []byte(at+"\n"), 0o600)
		}
		if err != nil {
			return nil, errors.Join(err, l.Close())
		}
		return l, nil
	}
	if err != nil {
		return nil, err
	}
	at, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 16)
	if err != nil {
		return nil, fmt.Errorf("%s is no port: remove the file, and phones have another address", file)
	}
	l, err := net.Listen("tcp", net.JoinHostPort(ip.String(), strconv.FormatUint(at, 10)))
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("port %d of %s, by which phones know this poll, is taken: stop what has it, perhaps the poll itself; or remove %s, and phones have another address", at, ip, file)
	}
	return l, err
}

// port names the file that keeps the port of a poll's pages over restarts.
const port = "port"

// introducePoll writes the question, the least number of people, and how to close the poll.
func introducePoll(t trial.Folder, out io.Writer, p plan.Plan, over bool) {
	fmt.Fprintf(out, "A poll is up in %s: a trial, in which this machine has all keys and makes the page that phones open.\n\nIt asks: %s\n", t, sanitize.Text(p.Title))
	if over {
		fmt.Fprintln(out, "It has closed. For another one, name another folder.")
		return
	}
	fmt.Fprintf(out, "A result needs %d people.\nIt closes at %s, and the result shows by itself. To close it now, press Close on the screen, or type in another terminal:\n  confetti plan close --dir %s\n", p.Crowd.Minimum, local(p.Times.Closes), t)
}
