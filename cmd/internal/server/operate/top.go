// Package operate implements confetti-server top and alarms: what operators ask of services. Used by
// cmd/internal/server, for operators.
package operate

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/confetti-dp/confetti/cmd/internal/plans"
	"github.com/confetti-dp/confetti/cmd/internal/services"
	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/internal/sanitize"
	"github.com/confetti-dp/confetti/internal/service/serve"
)

// watchedFlags name services that are looked at.
type watchedFlags struct {
	URL []string `arg:"" optional:"" name:"url" help:"Addresses of services; without, all that the plan names."`
	services.Operator
	Plan string `help:"A signed plan." type:"path" placeholder:"FILE"`
}

type Top struct {
	watchedFlags
	JSON bool `help:"Print JSON."`
	Web  bool `help:"Print links that open the services' pages in a browser, each once and within five minutes."`
}

func (Top) Help() string {
	return `Says what services tell their operator: crowds filling up, epochs, batches, drops and disk. The exit
code is 1 if a service does not answer or raises an alarm. Numbers that a plan keeps private are not among
them. Services for which no token is here are not ours, and say only whether they are ready. The console
and each service's own page show the same as it changes (--web).

Example:
  confetti-server top --dir trial
  confetti-server top --dir trial --web
  confetti-server top --plan plan.signed.json --tokens operator.tokens
  confetti-server top https://hop.example:8443 --tokens operator.tokens`
}

func (c Top) Run(std terminal.Streams) error {
	urls, err := c.urls()
	if err != nil {
		return err
	}
	s, ctx, done, err := c.Reach()
	if err != nil {
		return err
	}
	defer done()
	if c.Web {
		return links(ctx, s, urls, std.Out)
	}
	now := look(ctx, s, urls)
	if c.JSON {
		return terminal.WriteJSON(std.Out, now)
	}
	var b bytes.Buffer
	show(&b, now)
	if _, err := std.Out.Write(b.Bytes()); err != nil {
		return err
	}
	return trouble(now)
}

func (c watchedFlags) urls() ([]string, error) {
	switch {
	case len(c.URL) > 0 && c.Plan != "":
		return nil, terminal.Usagef("name the addresses of services or a signed plan with --plan, not both")
	case len(c.URL) > 0:
		for _, url := range c.URL {
			if err := serve.Address(url); err != nil {
				return nil, terminal.Usagef("%q is %v", url, err)
			}
		}
		return c.URL, nil
	}
	if c.Plan == "" && c.Dir == "" {
		return nil, terminal.Usagef("name the addresses of services, a signed plan with --plan, or with --dir a trial")
	}
	signed, err := services.SignedPlan{Plan: c.Plan}.Read(c.Dir)
	if err != nil {
		return nil, err
	}
	var urls []string
	for _, p := range plans.Parties(signed.Plan) {
		if p.URL != "" && !slices.Contains(urls, p.URL) {
			urls = append(urls, p.URL)
		}
	}
	if len(urls) == 0 {
		return nil, plans.Addressed(signed.Plan)
	}
	return urls, nil
}

// links writes the links of the services for which tokens are here.
func links(ctx context.Context, s *services.Services, urls []string, to io.Writer) error {
	var others error
	ours := 0
	for _, url := range urls {
		link, err := s.WebLink(ctx, url)
		if s.NotOurs(url, err) {
			others = errors.Join(others, err)
			continue
		}
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintln(to, link); err != nil {
			return err
		}
		ours++
	}
	if ours > 0 {
		return nil
	}
	return others
}

// sight is what one service tells.
type sight struct {
	URL      string             `json:"url"`
	Failed   string             `json:"failed,omitempty"`   // why it tells nothing
	NotOurs  string             `json:"not_ours,omitempty"` // of one for which no token is here: what it says to everybody
	Status   *serve.Status      `json:"status,omitempty"`
	Counters map[string]float64 `json:"counters,omitempty"` // of /metrics, added up over labels
}

// look asks all services at once.
func look(ctx context.Context, s *services.Services, urls []string) []sight {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	sights := make([]sight, len(urls))
	var asking sync.WaitGroup
	for i, url := range urls {
		asking.Go(func() {
			one := sight{URL: url}
			err := one.ask(ctx, s)
			if s.NotOurs(url, err) {
				one.NotOurs = "ready"
				_, err = s.Get(ctx, url+"/readyz")
			}
			if err != nil {
				one.NotOurs, one.Failed = "", err.Error()
			}
			sights[i] = one
		})
	}
	asking.Wait()
	return sights
}

// ask reads what a service tells its operator.
func (one *sight) ask(ctx context.Context, s *services.Services) error {
	text, err := s.Get(ctx, one.URL+"/status.json")
	if err == nil {
		one.Status, err = readStatus(text)
	}
	if err == nil {
		text, err = s.Get(ctx, one.URL+"/metrics")
	}
	if err == nil {
		one.Counters = counters(text)
	}
	return err
}

// maxStatus bounds what a service tells of itself, in bytes.
const maxStatus = 4 << 20

// readStatus reads /status.json, which whoever answers may have made up.
func readStatus(text []byte) (*serve.Status, error) {
	if len(text) > maxStatus {
		return nil, fmt.Errorf("a status of more than %d bytes", maxStatus)
	}
	var st *serve.Status
	if err := json.Unmarshal(text, &st); err != nil || st == nil {
		return nil, errors.New("it answered, but is not a Confetti service: check the address")
	}
	return st, nil
}

// counters adds up our counters of a page of metrics, in the text form of
// Prometheus, over their labels.
func counters(text []byte) map[string]float64 {
	sums := map[string]float64{}
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		name, rest, _ := strings.Cut(lines.Text(), " ")
		if i := strings.Index(lines.Text(), "{"); i >= 0 {
			name, rest = lines.Text()[:i], lines.Text()[strings.LastIndex(lines.Text(), "}")+1:]
		}
		short, ours := strings.CutPrefix(name, "confetti_")
		short, counter := strings.CutSuffix(short, "_total")
		if x, err := strconv.ParseFloat(strings.TrimSpace(rest), 64); ours && counter && err == nil {
			sums[short] += x
		}
	}
	return sums
}

// show writes what services tell.
func show(w io.Writer, now []sight) {
	for _, s := range now {
		if s.Failed != "" {
			fmt.Fprintf(w, "%s\n  !! %s\n\n", s.URL, sanitize.Lines(strings.TrimSpace(s.Failed)))
			continue
		}
		if s.NotOurs != "" {
			fmt.Fprintf(w, "%s\n  not ours: says that it is %s, and no more without a token\n\n", s.URL, s.NotOurs)
			continue
		}
		fmt.Fprintf(w, "%s at %s, up for %s\n", sanitize.Text(s.Status.Service), s.URL, s.Status.Now.Sub(s.Status.Since).Round(time.Second))
		for _, alarm := range s.Status.Alarms {
			fmt.Fprintf(w, "  !! %s\n", sanitize.Text(alarm))
		}
		for _, a := range s.Status.Acknowledged {
			fmt.Fprintf(w, "  %s\n", seen(a))
		}
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		for _, f := range s.Status.Facts {
			fmt.Fprintf(t, "  %s\t%s\n", sanitize.Text(f.Name), sanitize.Text(f.Value))
		}
		for _, name := range slices.Sorted(maps.Keys(s.Counters)) {
			fmt.Fprintf(t, "  %s\t%.0f\n", sanitize.Text(strings.ReplaceAll(name, "_", " ")), s.Counters[name])
		}
		t.Flush()
		for _, g := range s.Status.Gauges {
			full := int(20 * min(max(g.Share, 0), 1))
			fmt.Fprintf(w, "  %s [%s%s] %s\n", sanitize.Text(g.Name), strings.Repeat("#", full), strings.Repeat(".", 20-full), sanitize.Text(g.Text))
		}
		for _, table := range s.Status.Tables {
			fmt.Fprintf(w, "  %s\n", sanitize.Text(table.Title))
			t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
			for _, row := range append([][]string{table.Columns}, table.Rows...) {
				fmt.Fprintf(t, "    %s\n", sanitize.Cells(row))
			}
			t.Flush()
		}
		fmt.Fprintln(w)
	}
}

// trouble returns an error if a service does not answer or raises an alarm.
func trouble(now []sight) error {
	bad, ours := 0, 0
	for _, s := range now {
		if s.NotOurs == "" {
			ours++
		}
		if s.Failed != "" || s.Status != nil && len(s.Status.Alarms) > 0 {
			bad++
		}
	}
	switch {
	case bad > 0:
		return fmt.Errorf("of %s %d did not answer or raised an alarm", serve.Count(len(now), "service", "services"), bad)
	case ours == 0:
		return errors.New("no token is here for any of these services: give a file of addresses and tokens with --tokens")
	}
	return nil
}
