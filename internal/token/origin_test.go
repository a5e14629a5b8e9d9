package token

import (
	"regexp"
	"testing"

	"github.com/confetti-dp/confetti/internal/testkit/crosscheck"
)

// Python checks the golden token by its own RSA and PSS.
func TestVectorsHaveASecondOrigin(t *testing.T) {
	crosscheck.Check(t, "testdata/vectors/origin.py", regexp.MustCompile(`"token": "[^"]{100}[^0-9"]*([0-9])`), "testdata/vectors/v1/token.json")
}
