package operate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"

	"github.com/confetti-dp/confetti/cmd/internal/services"
	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/internal/sanitize"
	"github.com/confetti-dp/confetti/internal/service/serve"
)

type Alarms struct {
	watchedFlags
	Acknowledge []string `help:"Say of alarms that they have been looked at: their ids, as listed, or all." placeholder:"ID"`
	JSON        bool     `help:"Print JSON."`
}

func (Alarms) Help() string {
	return `Lists what services want looked at, each with an id. An alarm that was acknowledged
stays in sight and is no failure of confetti top any more. It is an alarm again if it
ends and comes back, says something else, or the service was started anew.

Example:
  confetti-server alarms --dir trial
  confetti-server alarms --dir trial --acknowledge all
  confetti-server alarms https://analyzer.example:8443 --tokens operator.tokens --acknowledge 5d41402a`
}

func (c Alarms) Run(std terminal.Streams) error {
	urls, err := c.urls()
	if err != nil {
		return err
	}
	s, ctx, done, err := c.Reach()
	if err != nil {
		return err
	}
	defer done()
	now := look(ctx, s, urls)
	var errs []error
	if len(c.Acknowledge) > 0 {
		errs = append(errs, acknowledge(ctx, s, now, c.Acknowledge))
		now = look(ctx, s, urls)
	}
	if c.JSON {
		err = terminal.WriteJSON(std.Out, listed(now))
	} else {
		showAlarms(std.Out, now)
	}
	errs = append(errs, err)
	for _, one := range now {
		if one.Failed != "" {
			errs = append(errs, fmt.Errorf("%s: %s", one.URL, one.Failed))
		}
	}
	return errors.Join(errs...)
}

// acknowledge tells services of alarms by their ids; all of them for "all".
func acknowledge(ctx context.Context, s *services.Services, now []sight, ids []string) error {
	all := slices.Contains(ids, "all")
	known := map[string]bool{}
	var errs []error
	for _, one := range now {
		if one.Status == nil {
			continue
		}
		for _, a := range one.Status.Acknowledged { // before, and still
			known[serve.AlarmID(a.Text)] = true
		}
		for _, text := range one.Status.Alarms {
			id := serve.AlarmID(text)
			if !all && !slices.Contains(ids, id) {
				continue
			}
			known[id] = true
			body, err := json.Marshal(map[string]string{"alarm": id})
			if err == nil {
				_, _, err = s.Do(ctx, http.MethodPost, one.URL+"/alarms", "application/json", body)
			}
			errs = append(errs, err)
		}
	}
	for _, id := range ids {
		if id != "all" && !known[id] {
			errs = append(errs, fmt.Errorf("no service has an alarm with the id %s: without --acknowledge they are listed", id))
		}
	}
	return errors.Join(errs...)
}

// alarm is one of a service's, as listed.
type alarm struct {
	URL          string `json:"url"`
	ID           string `json:"id"`
	Text         string `json:"text"`
	Acknowledged string `json:"acknowledged,omitempty"` // when, RFC 3339
}

func listed(now []sight) []alarm {
	all := []alarm{}
	for _, one := range now {
		if one.Status == nil {
			continue
		}
		for _, text := range one.Status.Alarms {
			all = append(all, alarm{URL: one.URL, ID: serve.AlarmID(text), Text: text})
		}
		for _, a := range one.Status.Acknowledged {
			all = append(all, alarm{one.URL, serve.AlarmID(a.Text), a.Text, a.At.UTC().Format("2006-01-02T15:04:05Z")})
		}
	}
	return all
}

func showAlarms(w io.Writer, now []sight) {
	for _, one := range now {
		if one.Status == nil {
			continue // its failure is told as an error
		}
		fmt.Fprintf(w, "%s at %s\n", sanitize.Text(one.Status.Service), one.URL)
		if len(one.Status.Alarms)+len(one.Status.Acknowledged) == 0 {
			fmt.Fprintln(w, "  no alarm")
		}
		for _, text := range one.Status.Alarms {
			fmt.Fprintf(w, "  %s  %s\n", serve.AlarmID(text), sanitize.Text(text))
		}
		for _, a := range one.Status.Acknowledged {
			fmt.Fprintf(w, "  %s  %s\n", serve.AlarmID(a.Text), seen(a))
		}
	}
}

// seen returns an acknowledged alarm in words.
func seen(a serve.Acknowledged) string {
	return fmt.Sprintf("%s (acknowledged %s)", sanitize.Text(a.Text), a.At.UTC().Format("2006-01-02 15:04 UTC"))
}
