package simulate

import (
	"errors"
	"fmt"
	"github.com/confetti-dp/confetti/question/law"
	"math/rand/v2"

	"github.com/confetti-dp/confetti/internal/replay"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/question"
)

// Law draws the collection's totals from their exact distribution: what Full
// would count, in law, without making a message.
func Law(p *protocol.Protocol, values []question.Value, seed uint64, progress Progress) (Collection, error) {
	col := Collection{Devices: len(values)}
	stream := func(part ...uint64) *rand.Rand { return replay.New(seed, part...) }
	var err error
	col.Crowds, err = law.Draw(p, values, stream, func(done int) { progress("draw totals", done, len(values)) })
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
