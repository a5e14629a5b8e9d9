package metrics

import (
	"fmt"
	"io"
	"os"
	"text/tabwriter"
	"time"

	"github.com/confetti-dp/confetti/client"
	"github.com/confetti-dp/confetti/client/metrics"
	"github.com/confetti-dp/confetti/client/native"
	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/internal/sanitize"
)

type device struct {
	Folder string `arg:"" help:"The app's folder on this machine." type:"path" placeholder:"DIR"`
	File   string `help:"What the app asks." default:"confetti.toml" type:"path" placeholder:"FILE"`
	Signed string `help:"The registry that the app embeds." name:"registry" default:"confetti.registry.json" type:"path" placeholder:"FILE"`
	terminal.Form

	now func() time.Time // nil: the machine's
}

func (device) Help() string {
	return `Shows of each season what the app keeps now and by what chance it would tell it, and
afterwards what it said. It draws no answer to show, and changes nothing. With CI or
CONFETTI_OFF in the environment an app keeps nothing, and nothing is shown.

Example:
  confetti metrics device ~/.config/editor/counts --registry counts/confetti.registry.json`
}

func (c device) Run(std terminal.Streams) error {
	of := asked{File: c.File, Registry: c.Signed, now: c.now}
	_, r, err := of.read()
	if err != nil {
		return err
	}
	if r.Version == 0 {
		return terminal.Usagef("there is no %s yet: sign one with confetti metrics sign", c.Signed)
	}
	off := os.Getenv("CI") != "" || os.Getenv(client.Off) != ""
	var all []metrics.Shown
	if !off {
		if all, err = metrics.Show(native.Folder{Path: c.Folder}, r, of.today()); err != nil {
			return err
		}
	}
	if c.JSON {
		return terminal.WriteJSON(std.Out, map[string]any{"app": r.App, "off": off, "seasons": all})
	}
	if off {
		_, err := fmt.Fprintf(std.Out, "%s  switched off here: nothing is kept or said\n", sanitize.Text(r.App))
		return err
	}
	if len(all) == 0 {
		_, err := fmt.Fprintf(std.Out, "%s  nothing is kept: nobody has agreed, or no season has begun since\n", sanitize.Text(r.App))
		return err
	}
	for _, s := range all {
		if err := writeShown(std.Out, s); err != nil {
			return err
		}
	}
	return nil
}

// writeShown writes a season for people.
func writeShown(out io.Writer, s metrics.Shown) error {
	const day = "2 January 2006"
	fmt.Fprintf(out, "season %s, asked of %s to %s\n", s.Season, s.From.Format(day), s.Until.AddDate(0, 0, -1).Format(day))
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, k := range s.Kept {
		fmt.Fprintf(w, "  %s\t%s\t%s\n", k.Metric, sanitize.Text(k.Value), sanitize.Text(k.Told))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	said := map[string]string{
		"comes": "  nothing is kept yet", "counts": "  nothing is said before its end", "silent": "  nothing was said",
		"waits": "  the answer waits for its round, or to be sent", "said": "  you said: " + s.Said,
	}[s.State]
	if s.State == "waits" && s.Said != "" {
		said = "  drawn, and to be sent: " + s.Said
	}
	_, err := fmt.Fprintln(out, sanitize.Text(said))
	return err
}
