package envelope

import (
	"regexp"
	"testing"

	"github.com/confetti-dp/confetti/internal/testkit/crosscheck"
)

// Python opens the golden envelopes, by its own HPKE, X25519, ML-KEM and AES-GCM.
func TestVectorsHaveASecondOrigin(t *testing.T) {
	crosscheck.Check(t, "testdata/vectors/origin.py", regexp.MustCompile(`"envelope": "[0-9a-f]{100}[a-f]*([0-9])`), "testdata/vectors/v1/x25519.json", "testdata/vectors/v1/x-wing.json")
	crosscheck.Check(t, "testdata/vectors/origin.py", regexp.MustCompile(`"body": "[0-9a-f]{300}[a-f]*([0-9])`), "testdata/vectors/v2/x25519.json", "testdata/vectors/v2/x-wing.json")
}
