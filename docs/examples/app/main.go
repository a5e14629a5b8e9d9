// Command app answers a trial's plan from a program in Go. Used by whoever begins an app of their own, in a module of their own.
//
//	go run . trial/app.json green
package main

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/confetti-dp/confetti/client"
	"github.com/confetti-dp/confetti/client/native"
	"github.com/confetti-dp/confetti/plan"
	_ "github.com/confetti-dp/confetti/question/histogram" // the kind of question that is answered here
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "app:", err)
		os.Exit(1)
	}
}

func run() error {
	if len(os.Args) != 3 {
		return errors.New("usage: app APP.json COLOUR")
	}
	var trial struct { // confetti up writes it; your app has these from whoever runs the collection
		Plan, Bearer, Roots string
		Publishers          []string
	}
	text, err := os.ReadFile(os.Args[1])
	if err == nil {
		err = json.Unmarshal(text, &trial)
	}
	if err != nil {
		return err
	}
	roots := x509.NewCertPool() // of the trial's own authority: services with public certificates need none
	if text, err = os.ReadFile(trial.Roots); err != nil {
		return err
	}
	roots.AppendCertsFromPEM(text)

	store := native.Folder{Path: "confetti-device"}     // the user's own folder, kept for good: what was said and spent
	if err := client.Consent(store, true); err != nil { // after your user has agreed
		return err
	}
	c, err := client.OpenURL(context.Background(), trial.Plan, client.Options{
		Store: store, Transport: &native.Transport{Roots: roots}, Publishers: plan.Trust(trial.Publishers...), Bearer: trial.Bearer,
		Delay: client.NoDelay, // of trials: leave it out, and the moment of the answer does not tell whose it is
	})
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.Report(context.Background(), client.Answers{"colour": os.Args[2]}); err != nil {
		return err
	}
	ledger, err := client.ReadLedger(store)
	if err != nil {
		return err
	}
	last := ledger.Entries[len(ledger.Entries)-1]
	fmt.Printf("%s You said: %s.\n", last.Title, last.Said)
	return nil
}
