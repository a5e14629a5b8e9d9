package protocol_test

import (
	"regexp"
	"testing"

	"github.com/confetti-dp/confetti/internal/testkit/crosscheck"
)

// The golden reports of vectors with noise on a grid are what Python computes from docs/wire-reports.md. A digit that is
// changed in one with Gaussian noise is caught.
func TestReportsOfVectorsHaveASecondOrigin(t *testing.T) {
	crosscheck.Check(t, "testdata/vectors/origin.py", regexp.MustCompile(`(?s)"latent, gaussian in crowds", "key".*?"bodies":\[\["[0-9a-f]*?([0-9])`), reportsFile)
}
