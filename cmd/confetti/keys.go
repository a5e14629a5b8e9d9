package main

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/confetti-dp/confetti/envelope"
)

type keysCommand struct {
	New  keysNew  `cmd:"" help:"Make a private key file for a hop or an analyzer; prints the public key for the plan."`
	Show keysShow `cmd:"" help:"Show the public part of a key file."`
}

type keysNew struct {
	File    string `arg:"" help:"Where to write the private key (mode 0600)." type:"path"`
	Suite   string `help:"x25519, or x-wing against recorded traffic and later quantum computers." enum:"x25519,x-wing" default:"x25519"`
	Purpose string `help:"Whose key it is, for people." default:"hop or analyzer"`
	Replace bool   `help:"Overwrite an existing file: what was sealed to its key is then lost."`
	JSON    bool   `help:"Print JSON."`
}

func (keysNew) Help() string {
	return "Example:\n  confetti keys new analyzer.key --purpose analyzer"
}

func (c keysNew) Run(std streams) error {
	key, err := envelope.GenerateKey(envelope.Suite(c.Suite))
	if err != nil {
		return err
	}
	f := envelope.KeyFile{Key: key, Purpose: c.Purpose}
	write := envelope.CreateKeyFile
	if c.Replace {
		write = envelope.ReplaceKeyFile
	}
	if err := uninterrupted(func() error { return write(c.File, f) }); err != nil {
		if errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("%w (--replace)", err)
		}
		return err
	}
	return showKey(std, f, c.JSON)
}

type keysShow struct {
	File string `arg:"" help:"A key file." type:"path"`
	JSON bool   `help:"Print JSON."`
}

func (keysShow) Help() string { return "Example:\n  confetti keys show analyzer.key" }

func (c keysShow) Run(std streams) error {
	f, err := envelope.ReadKeyFile(c.File)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no key file at %s: check the path, or make one with confetti keys new", c.File)
	}
	if err != nil {
		return err
	}
	return showKey(std, f, c.JSON)
}

// showKey prints the public half only.
func showKey(std streams, f envelope.KeyFile, asJSON bool) error {
	public := f.Key.Public()
	if asJSON {
		return writeJSON(std.out, struct {
			Purpose   string `json:"purpose"`
			Suite     string `json:"suite"`
			ID        string `json:"id"`
			PublicKey string `json:"public_key"`
		}{f.Purpose, string(public.Suite()), public.ID(), public.String()})
	}
	_, err := fmt.Fprintf(std.out, "purpose     %s\nsuite       %s\nid          %s\npublic key  %s\n", f.Purpose, public.Suite(), public.ID(), public)
	return err
}
