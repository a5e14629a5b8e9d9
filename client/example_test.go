package client_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/confetti-dp/confetti/client"
	"github.com/confetti-dp/confetti/client/native"
	"github.com/confetti-dp/confetti/plan"
	_ "github.com/confetti-dp/confetti/question/all"
)

// A program asks its user once, and then answers whatever plan it is given the address of, if
// a publisher that it trusts has signed it.
func Example() {
	address, publisher, credential, authorities, done := published()
	defer done()
	store := native.Folder{Path: filepath.Join(os.TempDir(), "confetti-example")}
	defer os.RemoveAll(store.Path)

	check(client.Consent(store, true)) // the user has agreed
	c, err := client.OpenURL(context.Background(), address, client.Options{Store: store, Transport: &native.Transport{Roots: authorities}, Publishers: plan.Trust(publisher), Bearer: credential})
	check(err)
	defer c.Close()
	check(c.Report(context.Background(), client.Answers{"class": "shore", "features": []float64{0.5, -0.25, 0}}))

	ledger, err := client.ReadLedger(store)
	check(err)
	for _, e := range ledger.Entries {
		fmt.Printf("%s %d messages %s, epsilon %.1f\n", e.Title, len(e.Parts[0].Messages), e.Parts[0].Status, e.Charge.Epsilon)
	}
	// Output: Where do people walk? 2 messages sent, epsilon 5.0
}
