package client_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/confetti-dp/confetti/client"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/question/density"
)

// A program asks its user once, and then answers whatever plan it is given by a
// publisher that it trusts.
func Example() {
	text, publisher, credential, authorities, done := published()
	defer done()
	folder := filepath.Join(os.TempDir(), "confetti-example")
	defer os.RemoveAll(folder)

	signed, err := plan.ParseSigned(text)
	check(err)
	check(client.Consent(folder, true)) // the user has agreed
	c, err := client.Open(signed, client.Options{Folder: folder, Publishers: plan.Trust(publisher), Bearer: credential, Roots: authorities})
	check(err)
	defer c.Close()
	check(c.Report(context.Background(), density.Labelled{Features: []float32{0.5, -0.25, 0}, Class: 1}))

	ledger, err := client.ReadLedger(folder)
	check(err)
	for _, e := range ledger.Entries {
		fmt.Printf("%s %d messages %s, epsilon %.1f\n", e.Title, len(e.Parts[0].Messages), e.Parts[0].State, e.Charge.Epsilon)
	}
	// Output: Where do people walk? 2 messages sent, epsilon 5.0
}
