package inbox

import (
	"testing"

	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/internal/storage/keep"
)

// The longest contribution that a plan may ask for fits a row, with what is written beside it.
func TestTheLongestContributionFitsARow(t *testing.T) {
	if envelope.MaxContribution+labelBytes > keep.MaxValue {
		t.Errorf("%d bytes do not go into a row of %d", envelope.MaxContribution+labelBytes, keep.MaxValue)
	}
}
