// Command editor counts ten metrics by typed calls, as an app does. Used by whoever begins an app of their own, in a module of their own.
//
//	go run . confetti-device yes
package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/confetti-dp/confetti/client"
	"github.com/confetti-dp/confetti/client/native"

	"example.org/editor/counts" // confetti metrics code wrote it
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "editor:", err)
		os.Exit(1)
	}
}

func run() error {
	if len(os.Args) != 3 {
		return errors.New("usage: editor FOLDER yes|no|later")
	}
	store := native.Folder{Path: os.Args[1]} // the user's own folder, kept for good: what was drawn, spent and said
	stop, err := counts.Start(client.Options{Store: store, Transport: &native.Transport{}})
	if err != nil {
		return err
	}
	news, err := counts.New() // an error where nothing is counted, as in CI
	if err != nil {
		return err
	}
	for _, asks := range news {
		fmt.Println("asks:", asks)
	}
	if os.Args[2] != "later" { // after your user has read that
		if err := counts.Consent(os.Args[2] == "yes"); err != nil {
			return err
		}
	}
	edit()
	return stop()
}

// edit does what an editor does, and counts it where it happens.
func edit() {
	counts.Retention.Step(counts.RetentionOpened)
	counts.ExportFunnel.Step(counts.ExportFunnelOpened)
	counts.Theme.Set(counts.ThemeDark)
	counts.StartSeconds.Set(0.8)
	counts.Languages.Add(counts.LanguagesGo)
	counts.Crashed.Add(0)
	if counts.NewWelcome.Arm() == counts.NewWelcomeNew {
		fmt.Println("Welcome! Press any key.")
	} else {
		fmt.Println("Welcome.")
	}
	counts.ExportFunnel.Step(counts.ExportFunnelPreviewed)
	counts.ExportUsed.Add(1)
	counts.ExportFunnel.Step(counts.ExportFunnelExported)
	counts.NewWelcome.Outcome(counts.NewWelcomePaid)
	counts.FailingPlugin.Set("vim-mode")
}
