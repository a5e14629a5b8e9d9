package party

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/storage/atomicfile"
)

type partyCertificate struct {
	File         string `arg:"" help:"Where to write the certificate (PEM)." type:"path"`
	Key          string `help:"Where to write its private key (mode 0600)." required:"" type:"path" placeholder:"FILE"`
	Host         string `help:"Name or address of the host, as in the party's address." required:"" placeholder:"HOST"`
	Days         int    `help:"How long it is good." default:"365"`
	Authority    string `help:"PEM file of the organisation's own authority, which signs it; without, it signs itself." type:"path" placeholder:"FILE"`
	AuthorityKey string `help:"PEM file of the authority's private key." type:"path" placeholder:"FILE"`
	terminal.Form
}

func (partyCertificate) Help() string {
	return `Others trust exactly this certificate, which the party's card has: neither the authority
that has signed it, nor any other host. Nothing is overwritten.

Example:
  confetti-server party certificate server.crt --key server.key --host confetti.north.example`
}

func (c partyCertificate) Run(std terminal.Streams) error {
	if (c.Authority == "") != (c.AuthorityKey == "") {
		return terminal.Usagef("--authority and --authority-key go together")
	}
	if c.Days < 1 || c.Days > 3650 {
		return terminal.Usagef("--days is %d: give 1 to 3650", c.Days)
	}
	certificate, key, err := c.make()
	if err != nil {
		return err
	}
	// The key first: a certificate without one is of no use.
	err = terminal.Uninterrupted(func() error {
		if err := atomicfile.Create(c.Key, key, 0o600); err != nil {
			return err
		}
		if err := atomicfile.Create(c.File, certificate, 0o644); err != nil {
			return errors.Join(err, os.Remove(c.Key))
		}
		return nil
	})
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%w: choose another name", err)
	}
	if err != nil {
		return err
	}
	return c.Print(std, struct {
		File string `json:"file"`
		Key  string `json:"key"`
		Host string `json:"host"`
		Days int    `json:"days"`
	}{c.File, c.Key, c.Host, c.Days}, "%s is the certificate of %s for %s, and %s its private key\n", c.File, c.Host, serve.Count(c.Days, "day", "days"), c.Key)
}

func (c partyCertificate) make() (certificate, key []byte, err error) {
	lasts := time.Duration(c.Days) * 24 * time.Hour
	if c.Authority == "" {
		return serve.SelfSigned(lasts, c.Host)
	}
	authority, err := serve.ReadAuthority(c.Authority, c.AuthorityKey, lasts)
	if err != nil {
		return nil, nil, err
	}
	return authority.Server(c.Host)
}
