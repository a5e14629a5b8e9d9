package metrics

import (
	"fmt"
	"os"
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
	var all metrics.Showing
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
	_, err = fmt.Fprint(std.Out, all)
	return err
}
