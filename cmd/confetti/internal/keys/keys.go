// Package keys implements confetti keys and publishers: keys of parties, and lists of whose keys count. Used
// by cmd/confetti, for operators.
package keys

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/internal/keyfile"
	"github.com/confetti-dp/confetti/internal/keyfile/keytext"
	"github.com/confetti-dp/confetti/internal/keyfile/partykey"
	"github.com/confetti-dp/confetti/internal/token"
	"github.com/confetti-dp/confetti/internal/wire/relay"
)

type Command struct {
	New  keysNew  `cmd:"" help:"Make a private key file; prints the public key for the plan or the configuration."`
	Show keysShow `cmd:"" help:"Show the public part of a key file."`
	Pair keysPair `cmd:"" help:"Make the secret that the two aggregators of a plan share."`
}

type keysNew struct {
	File    string `arg:"" help:"Where to write the private key (mode 0600), in a folder that is made (mode 0700) if it is not there. A service looks for *.json in its folder of keys." type:"path"`
	For     string `help:"opening: envelopes and shares, by a hop, an aggregator or an analyzer; receipts: signed by a hop or an aggregator; releases: signed by an analyzer; tokens: signed by an issuer for one of them and plan; publisher: of plans." enum:"opening,receipts,releases,tokens,publisher" default:"opening"`
	Suite   string `help:"Of a key for opening: x25519, or x-wing against recorded traffic and later quantum computers." enum:"x25519,x-wing" default:"x25519"`
	Purpose string `help:"Whose key it is, for people." placeholder:"TEXT"`
	Replace bool   `help:"Overwrite an existing file: what was sealed to its key is then lost."`
	JSON    bool   `help:"Print JSON."`
}

func (keysNew) Help() string {
	return "Example:\n  confetti keys new analyzer.json --purpose analyzer\n  confetti keys new receipts.json --for receipts\n  confetti keys new releases.json --for releases"
}

func (c keysNew) Run(std terminal.Streams) error {
	write, err := c.generate()
	if err != nil {
		return err
	}
	// A folder of keys is its owner's alone, and a missing one no reason to stop.
	if err := os.MkdirAll(filepath.Dir(c.File), 0o700); err != nil {
		return err
	}
	if err := terminal.Uninterrupted(write); err != nil {
		if errors.Is(err, fs.ErrExist) && c.For == "opening" {
			return fmt.Errorf("%w (--replace)", err)
		}
		return err
	}
	return keysShow{File: c.File, JSON: c.JSON}.Run(std)
}

// generate draws a key and returns what writes it.
func (c keysNew) generate() (write func() error, err error) {
	if c.Replace && c.For != "opening" {
		return nil, terminal.Usagef("--replace is for keys that open envelopes: old keys of %s stay, as plans and receipts name them; choose another name", c.For)
	}
	switch c.For {
	case "receipts", "releases", "publisher":
		key, err := relay.GenerateSignKey()
		return func() error { return partykey.CreateSigning(c.File, key, cmp.Or(c.Purpose, c.For)) }, err
	case "tokens":
		key, err := token.GenerateKey()
		return func() error { return partykey.CreateTokens(c.File, key, cmp.Or(c.Purpose, c.For)) }, err
	}
	key, err := envelope.GenerateKey(envelope.Suite(c.Suite))
	create := partykey.CreateOpening
	if c.Replace {
		create = partykey.ReplaceOpening
	}
	return func() error { return create(c.File, key, cmp.Or(c.Purpose, "hop or analyzer")) }, err
}

type keysShow struct {
	File   string `arg:"" help:"A key file." type:"path"`
	JSON   bool   `help:"Print JSON." xor:"form"`
	Public bool   `help:"Print the public key and nothing else." xor:"form"`
}

func (keysShow) Help() string {
	return "Example:\n  confetti keys show analyzer.json\n  confetti keys show publisher.json --public"
}

func (c keysShow) Run(std terminal.Streams) error {
	f, err := readKey(c.File)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no key file at %s: check the path, or make one with confetti keys new", c.File)
	}
	if err != nil {
		return err
	}
	if c.Public {
		_, err := fmt.Fprintln(std.Out, f.PublicKey)
		return err
	}
	id := keytext.ID(f.PublicKey) // the public half only
	if c.JSON {
		return terminal.WriteJSON(std.Out, struct {
			Purpose   string `json:"purpose"`
			Suite     string `json:"suite"`
			ID        string `json:"id"`
			PublicKey string `json:"public_key"`
		}{f.Purpose, f.Suite, id, f.PublicKey})
	}
	_, err = fmt.Fprintf(std.Out, "purpose     %s\nsuite       %s\nid          %s\npublic key  %s\n", f.Purpose, f.Suite, id, f.PublicKey)
	return err
}

// readKey reads a key file of any suite, strictly: its two halves belong together.
func readKey(path string) (keyfile.File, error) {
	f, err := keyfile.Read(path)
	if err != nil {
		return f, err
	}
	switch {
	case envelope.Suite(f.Suite).Validate() == nil:
		_, _, err = partykey.ReadOpening(path)
	case f.Suite == token.Suite:
		_, _, err = partykey.ReadTokens(path)
	default:
		_, _, err = partykey.ReadSigning(path)
	}
	return f, err
}
