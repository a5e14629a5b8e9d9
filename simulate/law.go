package simulate

import (
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/confetti-dp/confetti/internal/replay"
	"github.com/confetti-dp/confetti/internal/simulate/law"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/question"
)

// Law draws the collection's totals from their exact distribution: what Full
// would count, in law, without making a message.
func Law(p *protocol.Protocol, who law.Population, seed uint64, progress Progress) (Collection, error) {
	col := Collection{Devices: who.Respondents()}
	stream := func(part ...uint64) *rand.Rand { return replay.New(seed, part...) }
	var err error
	col.Crowds, err = law.Draw(p, who, stream, func(done int) { progress("draw totals", done, col.Devices) })
	if unfit, ok := errors.AsType[*question.UnfitError](err); ok {
		col.Unfit, err = unfit.Values, nil
	}
	for crowd, c := range col.Crowds {
		if c.Tally == nil {
			col.Withheld = append(col.Withheld, fmt.Sprintf("crowd %d: fewer than %d respondents", crowd+1, p.Plan.Crowd.Minimum))
		}
	}
	return col, err
}
