package account

import (
	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/cli/terminal"
)

// certify puts what is proved over every data set and what no accountant can prove
// less than side by side. It may take seconds: a terminal shows how far it is.
func (s *statement) certify(std terminal.Streams, e account.Event, delta float64) (err error) {
	defer terminal.Counting(std.Err, "certifying")()
	s.certified = true
	if s.Guarantee, err = account.Certify(e, delta); err != nil {
		return err
	}
	if low, err := account.LowerEpsilon(e, delta); err == nil { // not known for every mechanism
		s.lower = &low.Epsilon
	}
	return nil
}
