package registry

import (
	"fmt"

	"github.com/confetti-dp/confetti/plan"
)

// room says whose places are taken. A publisher has Most of them. A study takes one from each
// of its publishers, and its rounds have Most of their own: who signs the rounds of a study
// fills those, and keeps no other plan out. Correlated rounds have as many as their publishers signed: all are
// kept until the study closes.
func (x *Plans[P]) room(signed plan.Signed) error {
	study, rounds := studyOf(signed), 0
	taken := map[string]map[string]bool{} // by publisher: names of studies, and of plans that are in none
	x.mu.Lock()
	defer x.mu.Unlock()
	for hash, p := range x.served {
		place := studyOf(p.signed)
		switch {
		case place == "":
			place = string(hash[:])
		case place == study:
			rounds++
		}
		for _, publisher := range p.signed.Signers() {
			if taken[publisher] == nil {
				taken[publisher] = map[string]bool{}
			}
			taken[publisher][place] = true
		}
	}
	most := x.Most
	if c := signed.Plan.Correlated(); c != nil {
		most = max(most, c.Rounds)
	}
	if rounds >= most {
		return Refused(fmt.Sprintf("%d rounds of its study are served already, the limit", most))
	}
	for _, publisher := range signed.Signers() {
		if of := taken[publisher]; len(of) >= x.Most && !(study != "" && of[study]) {
			return Refused(fmt.Sprintf("%d plans and studies of %s are served already, the limit", x.Most, publisher))
		}
	}
	return nil
}

// studyOf returns the name of the study that a plan is a round of; "": it is none.
func studyOf(signed plan.Signed) string {
	if signed.Plan.Round == nil {
		return ""
	}
	return signed.Plan.Round.Study
}

// RoundTaken returns the problem of a round of which another version was registered here.
func RoundTaken(r plan.Round) error {
	return Refused(fmt.Sprintf("round %d of study %s was registered here as another plan: the first that comes is taken, and no other", r.Number, plan.Short(r.Study)))
}
