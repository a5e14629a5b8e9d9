package party

import (
	"bytes"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/confetti-dp/confetti/cmd/internal/card"
	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/internal/sanitize"
	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/storage/atomicfile"
	"github.com/confetti-dp/confetti/plan"
)

type partyTrust struct {
	Dir  string   `arg:"" help:"The party's folder: confetti party new." type:"path"`
	Card []string `arg:"" help:"Cards of others, whose ids you have compared with them." type:"path"`
	terminal.Form
}

func (partyTrust) Help() string {
	return `Keeps the cards in the folder's parties, writes the certificates of all of them to roots.pem,
trusts the authorities of this system for parties whose cards have none (ACME),
adds a publisher's key to publishers.txt, and opens the secret of the pair that a leader's
card has for a helper. A card of the same role and address takes the place of an earlier
one. A service reads roots.pem when it starts.

Example:
  confetti-server party trust north south.card institute.card office.card`
}

func (c partyTrust) Run(std terminal.Streams) error {
	cards, errs := make([]card.Card, len(c.Card)), make([]error, len(c.Card))
	for i, file := range c.Card {
		cards[i], errs[i] = card.Read(file)
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	own, err := card.Read(filepath.Join(c.Dir, cardFile))
	if err != nil {
		return fmt.Errorf("%w: name the folder of a party (confetti party new)", err)
	}
	if err := os.MkdirAll(filepath.Join(c.Dir, othersFolder), 0o700); err != nil {
		return err
	}
	result := make([]any, len(cards))
	for i, one := range cards {
		if err := c.take(own, one); err != nil {
			return err
		}
		result[i] = shown(one)
		fmt.Fprintf(c.Words(std), "trusts %s, %s, %s\n", sanitize.Text(one.Name), one.Role, one.ID())
	}
	if err := c.roots(); err != nil {
		return err
	}
	return c.Print(std, map[string]any{"trusts": result}, "")
}

// take does with one card what its role asks for, and keeps it.
func (c partyTrust) take(own, one card.Card) error {
	switch {
	case one.Role == card.Publisher:
		if err := c.publisher(one.Signs); err != nil {
			return err
		}
	case one.Role == card.Leader && own.Role == card.Helper:
		if err := c.pair(one); err != nil {
			return err
		}
	}
	text, err := os.ReadFile(one.File)
	if err != nil {
		return err
	}
	return atomicfile.Replace(filepath.Join(c.Dir, keptAs(one)), text, 0o644)
}

// publisher adds a key to those whose plans are taken; one that is there stays as it is.
func (c partyTrust) publisher(key string) error {
	file := filepath.Join(c.Dir, publishersFile)
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return atomicfile.Create(file, plan.Trust(key).Marshal(), 0o644)
	}
	if err != nil {
		return err
	}
	p, err := plan.ParsePublishers(text)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	if _, known := p.Find(key); known {
		return nil
	}
	if !bytes.HasSuffix(text, []byte("\n")) {
		text = append(text, '\n')
	}
	return atomicfile.Replace(file, fmt.Appendln(text, plan.PublisherKey{Key: key}), 0o644)
}

// pair writes the secret that a leader's card has for one of our keys.
func (c partyTrust) pair(leader card.Card) error {
	keys, err := serve.OpeningKeys(filepath.Join(c.Dir, keysFolder))
	if err != nil {
		return err
	}
	secret, ours, err := leader.OpenPair(keys)
	if err != nil {
		return err
	}
	if !ours {
		return fmt.Errorf("%s has no secret for this helper: have the leader write its card with this helper's (--helper)", leader.File)
	}
	file := filepath.Join(c.Dir, pairFile)
	switch there, err := os.ReadFile(file); {
	case err == nil && bytes.Equal(there, secret):
		return nil
	case err == nil:
		return fmt.Errorf("%s is there, and %s has another: two aggregators that lose their secret lose what was sent to them: put it aside first", file, leader.File)
	}
	return atomicfile.Create(file, secret, 0o600)
}

// roots writes the certificates of all cards that are trusted, and the party's own. Where one has none, as by
// ACME, the authorities of the system are trusted beside them.
func (c partyTrust) roots() error {
	files, err := filepath.Glob(filepath.Join(c.Dir, othersFolder, "*.card"))
	if err != nil {
		return err
	}
	var text []byte
	public := false
	for _, file := range append([]string{filepath.Join(c.Dir, cardFile)}, files...) {
		one, err := card.Read(file)
		if err != nil {
			return err
		}
		public = public || len(one.Certificate) == 0 && one.Role != card.Publisher
		if len(one.Certificate) > 0 {
			text = append(text, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: one.Certificate})...)
		}
	}
	if public {
		text = append([]byte(serve.SystemRoots+"\n"), text...)
	}
	return atomicfile.Replace(filepath.Join(c.Dir, rootsFile), text, 0o644)
}
