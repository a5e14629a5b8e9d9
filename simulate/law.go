package simulate

import (
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/internal/simulate/distribution"
	"github.com/confetti-dp/confetti/protocol"
)

// Law draws the collection's totals from their exact distribution: what Full
// would count, in law, without making a message.
func Law(p *protocol.Protocol, who distribution.Population, seed uint64, progress Progress) (Collection, error) {
	col := Collection{Devices: who.Respondents()}
	stream := func(part ...uint64) *rand.Rand { return seeded.New(seed, part...) }
	var err error
	col.Crowds, err = distribution.Draw(p, who, stream, func(done int) { progress("draw totals", done, col.Devices) })
	if unfit, ok := errors.AsType[*question.OutOfDomainError](err); ok {
		col.Unfit, err = unfit.Values, nil
	}
	for crowd, c := range col.Crowds {
		if c.Tally == nil {
			col.Withheld = append(col.Withheld, fmt.Sprintf("crowd %d: fewer than %d respondents", crowd+1, p.Plan.Crowd.Minimum))
		}
	}
	return col, err
}
