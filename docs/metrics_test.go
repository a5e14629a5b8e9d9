//go:build unix

package docs_test

import (
	"testing"

	"github.com/confetti-dp/confetti/internal/tools/doctest"
)

// The lines of the page of metrics work as they stand, one after the other, in a folder of an app.
func TestTheMetricsWork(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the programs and runs a trial")
	}
	root := cloned(t)
	session := doctest.NewSession(t, root, doctest.Patience(t))
	if _, err := session.Run(`go build -o . ./cmd/... && export PATH="$PWD:$PATH" REPOSITORY="$PWD" && cd "$(mktemp -d)"`); err != nil {
		t.Fatal(err)
	}
	for _, c := range doctest.CommandsIn(t, root, "docs/metrics.md") {
		var err error
		if waits := service(c.Text); waits != "" {
			err = session.Start(c.Text, waits)
		} else {
			_, err = session.Run(c.Text)
		}
		if err != nil {
			t.Fatalf("%s\n%v", c, err)
		}
	}
	if err := session.End(); err != nil {
		t.Error(err)
	}
}
