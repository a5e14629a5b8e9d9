package kinds

import (
	"errors"
	"fmt"

	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/question/histogram"
)

// Draws lists what a device may add to numbers; it takes one entry, each with the same probability.
type Draws [][]Added

// Added is how much a device adds to a number.
type Added struct{ At, Times int }

// Drawn lists the draws of a device that holds the symbol of a histogram, or of a question that draws nothing. Coins that
// round vectors fall in too many ways to list: one way stands for all, which makes an attack a little weaker. Drawn
// refuses sketches in which a record without a cell counts in one at random.
func Drawn(of *protocol.Protocol, s question.Symbol) (all []Draws, err error) {
	inner, p := innerOf(of)
	q, ok := inner.(*histogram.Question)
	if !ok {
		summed, ok := inner.(question.Summer)
		if !ok {
			return nil, fmt.Errorf("audit: no attack is known of sums of kind %s", p.Question.Kind)
		}
		_, vector, err := summed.Measure(seeded.New(1), s, nil)
		var way []Added
		for i, x := range vector {
			if x > 0 {
				way = append(way, Added{i, int(x)})
			}
		}
		return []Draws{{way}}, err
	}
	first := 0
	_, held := histogram.Held(s)
	for attribute, cells := range held {
		rows, width := q.Law(attribute).Rows()
		ways := make(Draws, rows)
		if rows > 1 && len(cells) == 0 {
			return nil, errors.New("audit: no attack is known of a record that holds no cell of a sketch: it is summed in one at random")
		}
		r := seeded.New(uint64(attribute))
		for row := 0; row < rows; { // which is drawn, until each has been
			q.Law(attribute).Place(r, cells, rows, func(at int, cells []uint32, n int) {
				if at != row || n == 0 {
					return
				}
				for _, c := range cells {
					ways[row] = append(ways[row], Added{first + row*width + int(c), 1})
				}
				row++
			})
		}
		first += rows * width
		if all = append(all, ways); attribute > 0 && p.Question.Histogram.Collect == plan.CollectSample {
			all = []Draws{append(all[0], ways...)}
		}
	}
	return all, nil
}
