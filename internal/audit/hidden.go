package audit

import (
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/audit/kinds"
	"github.com/confetti-dp/confetti/internal/seeded"
)

// Canaries returns one collection in every round, of sums of vectors or of gradients, in which so
// many of the honest respondents are canaries: what each holds has a direction of its own, or
// the opposite, in all rounds. Their devices answer by the pipeline, and the score is what the
// sums, less what is known of the others, say along the differences.
func (t *Route) Canaries(canaries int, seed uint64, progress func(stage string, done, of int)) ([]Finding, error) {
	first := t.legs[0]
	s, ok := kinds.Sums(first.protocol)
	if !ok {
		return nil, fmt.Errorf("audit: a question of kind %q has no room for canaries: only sums of vectors and gradients have", first.protocol.Plan.Question.Kind)
	}
	honest := first.protocol.Plan.MinHonest()
	if most := min(honest, s.Dimension); canaries < 4 || canaries > most {
		return nil, fmt.Errorf("audit: %d canaries: give 4 to %d, one for an honest respondent and a feature", canaries, most)
	}
	r := seeded.New(seed)
	c := Guessed{make([]float64, canaries), make([]bool, canaries)}
	for i := range c.Second {
		c.Second[i] = r.Uint64()>>63 == 1
	}
	for round, g := range t.legs {
		if err := g.hide(c, r, func(done int) { progress("canaries", round*honest+done, len(t.legs)*honest) }); err != nil {
			return nil, err
		}
	}
	observer := account.ShufflerHonest
	claim, err := first.claim(observer)
	if len(t.legs) > 1 {
		observer = account.AllRoundsSeen
		claim, err = t.all.Guarantee.Under(account.Replacement)
	}
	if err != nil {
		return nil, err
	}
	all, err := c.Findings(fmt.Sprintf("%d canaries in directions of their own, in the sums of %s", canaries, inRounds(len(t.legs))), claim)
	for i := range all {
		all[i].Observer = observer
	}
	return all, err
}

// hide adds to the scores of canaries what the sum of a round says of each.
func (g *leg) hide(c Guessed, r *rand.Rand, progress func(done int)) error {
	s, _ := kinds.Sums(g.protocol)
	d, err := g.device(r)
	if err != nil {
		return err
	}
	honest, counts := g.protocol.Plan.MinHonest(), g.protocol.NewTally()
	for i := range honest {
		value := g.holds[2]
		if i < len(c.Second) {
			value = s.Lone(i, c.Second[i])
		}
		if _, err := d.answer(value, counts, nil); err != nil {
			return err
		}
		progress(i + 1)
	}
	sum, err := s.Sum(counts, honest)
	if err != nil {
		return err
	}
	others, err := s.Vector(g.holds[2])
	for i := range c.Score {
		first, errFirst := s.Vector(s.Lone(i, false))
		second, errSecond := s.Vector(s.Lone(i, true))
		if err = errors.Join(err, errFirst, errSecond); err != nil {
			return err
		}
		for j, x := range sum {
			c.Score[i] += (second[j] - first[j]) * (x - float64(honest-len(c.Second))*others[j])
		}
	}
	return err
}
