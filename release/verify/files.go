package verify

import (
	"github.com/confetti-dp/confetti/internal/release/sheets"
	"github.com/confetti-dp/confetti/internal/wire/relay"
	"github.com/confetti-dp/confetti/release"
)

// Names of files beside a release that was fetched: of the plan, signed and for people, and of
// the public state that it names.
const (
	SignedFile = "plan.signed.json"
	PlanFile   = "plan.toml"
	StateFile  = "state"
)

// studyFile is the release of all rounds so far, where a study merges them.
const (
	studyFile = "study.json"
	studyPage = "study.html"
)

// Published are the files that an analyzer publishes of a plan; counts only of questions
// that count, of all rounds so far
// only where a study merges them, an audit only where it attacks plans, and evidence only
// where a public log has them.
var Published = []string{release.JSONFile, release.PageFile, sheets.CountsFile, studyFile, studyPage, release.AuditFile, relay.ReceiptsFile, relay.SignatureFile, relay.EvidenceFile}

// Format returns the end of a published file's name at the analyzer.
func Format(file string) string {
	switch file {
	case release.JSONFile:
		return "json"
	case release.PageFile:
		return "html"
	}
	return file
}
