package keys

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/internal/storage/atomicfile"
	"github.com/confetti-dp/confetti/plan"
)

type Publishers struct {
	Add     publishersAdd     `cmd:"" help:"Trust a publisher's key, with an end if you like."`
	Revoke  publishersRevoke  `cmd:"" help:"Trust a key no more from a date on: it was lost or stolen."`
	Require publishersRequire `cmd:"" help:"Say how many publishers must have signed a plan."`
	Log     publishersLog     `cmd:"" help:"Take only plans that stand in a public log, which others have watched."`
	Show    publishersShow    `cmd:"" help:"Check a file of publishers, and show whose plans are taken."`
}

func (Publishers) Help() string {
	return `A file of publishers says whose plans a service or device takes. A service that has it
as publishers_file takes a change up within a second. It is text of one line a key, with
comments as you like; docs/wire-plans.md has its form.`
}

type publishersAdd struct {
	File string    `arg:"" help:"The file, which is made if it is not there." type:"path"`
	Key  []string  `arg:"" help:"Public keys: confetti keys show --public."`
	Ends time.Time `help:"The last moment at which a plan of these keys may close (RFC 3339); without, they have no end." placeholder:"TIME"`
}

func (publishersAdd) Help() string {
	return "Example:\n  confetti publishers add publishers.txt ed25519:bm90IGEga2V5LCBhbiBleGFtcGxlIG9mIGEga2V5IQ --ends 2028-01-01T00:00:00Z"
}

func (c publishersAdd) Run(std terminal.Streams) error {
	text, err := atomicfile.Read(c.File)
	if errors.Is(err, fs.ErrNotExist) {
		text, err = []byte(strings.SplitAfter(string(plan.Publishers{}.Marshal()), "\n")[0]), nil
	}
	if err != nil {
		return err
	}
	if len(text) > 0 && !bytes.HasSuffix(text, []byte("\n")) {
		text = append(text, '\n')
	}
	for _, key := range c.Key {
		text = fmt.Appendln(text, plan.PublisherKey{Key: key, Ends: c.Ends})
	}
	return replacePublishers(c.File, text)
}

type publishersRevoke struct {
	File string    `arg:"" help:"The file of publishers." type:"path"`
	Key  string    `arg:"" help:"The public key, which is in the file."`
	At   time.Time `help:"Since when it is not trusted: since it was stolen, as far as you know (RFC 3339); now without it." placeholder:"TIME"`
	terminal.Form
}

func (publishersRevoke) Help() string {
	return `A plan of the key that closes later than the date is refused, and suspended where it is
under way: nothing more is collected or released, and nothing is lost, until a publisher
who is trusted signs it too (confetti plan sign) or it is withdrawn (confetti plan
withdraw). Plans that had closed by then stand, and so do their releases.

Example:
  confetti publishers revoke publishers.txt ed25519:bm90IGEga2V5LCBhbiBleGFtcGxlIG9mIGEga2V5IQ --at 2027-01-05T12:00:00Z`
}

func (c publishersRevoke) Run(std terminal.Streams) error {
	if c.At.IsZero() {
		c.At = time.Now()
	}
	c.At = c.At.UTC().Truncate(time.Second)
	p, err := plan.ReadPublishers(c.File)
	if err != nil {
		return err
	}
	k, known := p.Find(c.Key)
	switch {
	case !known:
		return terminal.Usagef("%s does not have that key", c.File)
	case !k.Revoked.IsZero() && k.Revoked.Before(c.At):
		return terminal.Usagef("the key is revoked as of %s already, which is earlier", k.Revoked.Format(time.RFC3339))
	}
	was := k.String()
	k.Revoked = c.At
	text, err := atomicfile.Read(c.File)
	if err != nil {
		return err
	}
	lines := strings.SplitAfter(string(text), "\n")
	for i, line := range lines {
		if one := strings.TrimRight(line, "\r\n"); one == was {
			lines[i] = k.String() + line[len(one):]
		}
	}
	if err := replacePublishers(c.File, []byte(strings.Join(lines, ""))); err != nil {
		return err
	}
	return c.Print(std, struct {
		Key     string    `json:"key"`
		Revoked time.Time `json:"revoked"`
	}{c.Key, c.At}, "revoked as of %s\n", c.At.Format(time.RFC3339))
}

type publishersRequire struct {
	File       string `arg:"" help:"The file of publishers." type:"path"`
	Signatures int    `arg:"" help:"How many different publishers of the file must have signed a plan."`
}

func (publishersRequire) Help() string {
	return "Whoever has stolen fewer keys can have no plan taken.\n\nExample:\n  confetti publishers require publishers.txt 2"
}

func (c publishersRequire) Run(std terminal.Streams) error {
	p, err := plan.ReadPublishers(c.File)
	if err != nil {
		return err
	}
	text, err := atomicfile.Read(c.File)
	if err != nil {
		return err
	}
	lines := strings.SplitAfter(string(text), "\n")
	if p.Least > 0 {
		for i, line := range lines {
			if strings.HasPrefix(line, "signatures ") {
				lines = append(lines[:i], lines[i+1:]...)
				break
			}
		}
	}
	lines[0] += fmt.Sprintf("signatures %d\n", c.Signatures)
	if _, err := plan.ParsePublishers([]byte(strings.Join(lines, ""))); err != nil {
		return terminal.Usage(err)
	}
	return replacePublishers(c.File, []byte(strings.Join(lines, "")))
}

type publishersLog struct {
	File    string   `arg:"" help:"The file of publishers." type:"path"`
	Key     string   `help:"The log's key, as confetti log show prints it." required:"" placeholder:"KEY"`
	Witness []string `help:"Key of a witness, as confetti log show --witness prints it: each runs something else, best one who runs a hop." placeholder:"KEY"`
	Least   int      `help:"How many of the witnesses must have signed what the log is; 0: all."`
}

func (publishersLog) Help() string {
	return `Whoever would show one person a plan that nobody else sees needs the log's key and those
of so many witnesses. A log that the file had is replaced.

Example:
  confetti publishers log publishers.txt --key log.example/plans+5d5bb2a4+AXY1Tm90IGEga2V5LCBhbiBleGFtcGxlIG9mIGEga2V5`
}

func (c publishersLog) Run(std terminal.Streams) error {
	text, err := atomicfile.Read(c.File)
	if err != nil {
		return err
	}
	lines := slices.DeleteFunc(strings.SplitAfter(string(text), "\n"), func(line string) bool {
		word, _, _ := strings.Cut(line, " ")
		return word == "log" || word == "witness" || word == "witnesses"
	})
	log, _ := strings.CutPrefix(string(plan.Publishers{Log: plan.Log{Key: c.Key, Witnesses: c.Witness, Least: c.Least}}.Marshal()), lines[0])
	lines[0] += log
	return replacePublishers(c.File, []byte(strings.Join(lines, "")))
}

// replacePublishers writes what can be read again, and nothing else.
func replacePublishers(file string, text []byte) error {
	if _, err := plan.ParsePublishers(text); err != nil {
		return terminal.Usage(fmt.Errorf("%s stays as it is: %w", file, err))
	}
	return atomicfile.Replace(file, text, 0o644)
}

type publishersShow struct {
	File string `arg:"" help:"The file of publishers." type:"path"`
	JSON bool   `help:"Print JSON."`
}

func (publishersShow) Help() string { return "Example:\n  confetti publishers show publishers.txt" }

func (c publishersShow) Run(std terminal.Streams) error {
	p, err := plan.ReadPublishers(c.File)
	if err != nil {
		return err
	}
	least := max(1, p.Least)
	if c.JSON {
		type key struct {
			Key     string    `json:"key"`
			Ends    time.Time `json:"ends,omitzero"`
			Revoked time.Time `json:"revoked,omitzero"`
		}
		out := struct {
			Signatures int      `json:"signatures"`
			Log        string   `json:"log,omitempty"`
			Witnesses  []string `json:"witnesses,omitempty"`
			Cosigned   int      `json:"cosigned,omitempty"` // how many of the witnesses must have
			Keys       []key    `json:"keys"`
		}{Signatures: least, Log: p.Log.Key, Witnesses: p.Log.Witnesses, Cosigned: p.Log.Cosigned()}
		for _, k := range p.Keys {
			out.Keys = append(out.Keys, key(k))
		}
		return terminal.WriteJSON(std.Out, out)
	}
	for _, k := range p.Keys {
		line := k.Key
		switch {
		case !k.Revoked.IsZero():
			line += "  revoked as of " + k.Revoked.Format(time.RFC3339)
		case !k.Ends.IsZero():
			line += "  for plans that close by " + k.Ends.Format(time.RFC3339)
		}
		fmt.Fprintln(std.Out, line)
	}
	fmt.Fprintf(std.Out, "a plan needs the signatures of %d of them\n", least)
	if p.Log.Key != "" {
		fmt.Fprintf(std.Out, "and stands in the log %s, signed by %d of %d witnesses\n", p.Log.Key, p.Log.Cosigned(), len(p.Log.Witnesses))
	}
	return nil
}
