package protocol_test

import (
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/protocol/design"
)

// A number of rounds that is none is named, and not the kind of the question.
func TestAStudyHasARound(t *testing.T) {
	if _, err := design.Rounds(example.Histograms()["set"], 0); err == nil || !strings.Contains(err.Error(), "0 rounds: must be at least 1") {
		t.Errorf("%v", err)
	}
}
