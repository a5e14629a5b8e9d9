package histogram_test

import (
	"regexp"
	"testing"

	"github.com/confetti-dp/confetti/internal/testkit/crosscheck"
)

// Plans' hashes, cells, payloads, counts and estimates of the golden flows are what Python computes
// from the documents.
func TestVectorsHaveASecondOrigin(t *testing.T) {
	var files []string
	for _, kind := range vectorKinds() {
		files = append(files, "testdata/vectors/v2/"+kind+".json")
	}
	for _, digit := range []string{`"counts": \[\s*([0-9])`, `"mean": -?([0-9])`} {
		crosscheck.Check(t, "testdata/vectors/origin.py", regexp.MustCompile(digit), files...)
	}
}
