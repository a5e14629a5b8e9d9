package inbox

import (
	"testing"

	"github.com/confetti-dp/confetti/internal/envelope/sizes"
	"github.com/confetti-dp/confetti/internal/storage/keep"
)

// The longest contribution that a plan may ask for fits a row, with what is written beside it.
func TestTheLongestContributionFitsARow(t *testing.T) {
	if sizes.MaxContribution+tagBytes > keep.MaxValue {
		t.Errorf("%d bytes do not go into a row of %d", sizes.MaxContribution+tagBytes, keep.MaxValue)
	}
}
