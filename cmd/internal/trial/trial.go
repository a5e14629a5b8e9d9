// Package trial finds the files in the folder of a trial, and its addresses. Used by cmd/internal/server/up, which makes the folder,
// and by commands that take --dir, such as cmd/confetti/internal/device.
package trial

import (
	"fmt"
	"path/filepath"

	"github.com/confetti-dp/confetti/cmd/internal/plans"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/plan"
)

// Folder is the folder of confetti up. Every party has a folder in it, with the
// configuration that a service of its own would have.
type Folder string

// What is in the folder of a trial beside the parties' folders. The plan is
// written last: a folder without it is not finished.
const (
	Plan        = "plan.signed.json"
	Roots       = "authority.crt"
	Publisher   = "publisher.json"
	Publishers  = "publishers.txt"
	Tokens      = "operator.tokens" // the one operator's bearer token, with the address of each service
	Operators   = "operators"       // its hash, for the services
	Devices     = "devices.tokens"  // bearer tokens of the devices, one a line
	Bearers     = "devices.bearers" // their hashes, for the issuer
	Simulated   = "devices"         // folder of what the devices keep
	Values      = "values.csv"
	Coordinator = "coordinator.json" // signs the rounds of a study; in the analyzer's folder
	Log         = "log"
	State       = "state" // public, of a study's first round
	App         = "app.json"
	Population  = "everybody"
	Host        = "127.0.0.1"
	Name        = "trial" // operator of every party
)

// Path is below the folder.
func (t Folder) Path(elements ...string) string {
	return filepath.Join(append([]string{string(t)}, elements...)...)
}

// Address returns where the analyzer has a plan, or the study that it is a round of.
func Address(signed plan.Signed) string {
	if signed.Study != nil {
		return signed.Plan.Analyzer.URL + wire.StudyPath(signed.Study.Hash())
	}
	return signed.Plan.Analyzer.URL + wire.PlanPath(signed.Plan.Hash())
}

// Round returns the file of a round of a study.
func (t Folder) Round(number int) string { return t.Path(fmt.Sprintf("round-%d.signed.json", number)) }

// Of returns the folder of a party.
func (t Folder) Of(p plans.Party) string {
	if p.Role == "shuffler" {
		return t.Path(fmt.Sprintf("instance-%d-hop-%d", p.Instance+1, p.Hop+1))
	}
	return t.Path(p.Role)
}

// Config returns the file of a party's configuration.
func (t Folder) Config(p plans.Party) string { return filepath.Join(t.Of(p), p.Role+".toml") }
