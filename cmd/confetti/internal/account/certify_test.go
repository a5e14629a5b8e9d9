package account

import (
	"bytes"
	"testing"

	"github.com/confetti-dp/confetti/internal/account/shuffle"
	"github.com/confetti-dp/confetti/internal/cli/terminal"
)

// A certificate writes nothing where nobody watches.
func TestCertifyingIsQuietInPipes(t *testing.T) {
	var out, err bytes.Buffer
	s := new(statement)
	if e := s.certify(terminal.Streams{Out: &out, Err: &err}, shuffle.RandomizedResponse{Users: 5000, Flip: 0.1}, 1e-6); e != nil || out.Len()+err.Len() > 0 {
		t.Errorf("%v: %q and %q are written where nobody watches", e, &out, &err)
	}
}
