package main

import (
	"fmt"

	"github.com/confetti-dp/confetti/client"
)

type ledgerCommand struct {
	Show   ledgerShow   `cmd:"" help:"Show every bit that a device has sent, and how deniable it is."`
	OptIn  ledgerOptIn  `cmd:"" help:"Let the device answer plans."`
	OptOut ledgerOptOut `cmd:"" help:"Let it answer none, and drop what it has not sent yet."`
}

type ledgerShow struct {
	Folder string  `arg:"" help:"The device's folder." type:"path"`
	Prior  float64 `help:"How firmly somebody believed something of an answer before: a probability." default:"0.5"`
	JSON   bool    `help:"Print JSON."`
}

func (ledgerShow) Help() string { return "Example:\n  confetti ledger show ~/.confetti" }

func (c ledgerShow) Run(std streams) error {
	if !(c.Prior > 0 && c.Prior < 1) {
		return usagef("--prior is %v: give a probability above 0 and below 1", c.Prior)
	}
	l, err := client.ReadLedger(c.Folder)
	if err != nil {
		return err
	}
	if c.JSON {
		return writeJSON(std.out, l)
	}
	return client.Show(std.out, l, c.Prior)
}

type ledgerOptIn struct {
	Folder string `arg:"" help:"The device's folder; made if it is not there." type:"path"`
}

func (ledgerOptIn) Help() string { return "Example:\n  confetti ledger opt-in ~/.confetti" }

func (c ledgerOptIn) Run(std streams) error {
	if err := client.Consent(c.Folder, true); err != nil {
		return err
	}
	_, err := fmt.Fprintf(std.out, "this device answers plans of the publishers that it is told to trust; to stop:\n  confetti ledger opt-out %s\n", c.Folder)
	return err
}

type ledgerOptOut struct {
	Folder string `arg:"" help:"The device's folder." type:"path"`
}

func (ledgerOptOut) Help() string { return "Example:\n  confetti ledger opt-out ~/.confetti" }

func (c ledgerOptOut) Run(std streams) error {
	if err := client.Consent(c.Folder, false); err != nil {
		return err
	}
	_, err := fmt.Fprintln(std.out, "this device answers nothing any more; what had not been sent is gone")
	return err
}
