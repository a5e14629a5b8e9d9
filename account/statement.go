package account

import (
	"encoding/json"
	"errors"
	"math"

	"github.com/confetti-dp/confetti/internal/strictjson"
)

// Statement is a guarantee together with the observer it speaks of.
type Statement struct {
	Observer string // short, such as ShufflerHonest
	Who      string // who that observer is, in plain words
	// Guarantee may have an infinite epsilon, which reads as no protection.
	Guarantee Guarantee
	Note      string // a restriction the reader must not miss, such as "labels are not protected"
}

// JSON has no infinity, but an observer with no noise between him and the data has
// an infinite epsilon, and a statement must say so.
const infinity = `"infinity"`

type extended float64

func (x extended) MarshalJSON() ([]byte, error) {
	if math.IsInf(float64(x), 1) {
		return []byte(infinity), nil
	}
	return json.Marshal(float64(x))
}

func (x *extended) UnmarshalJSON(data []byte) error {
	if string(data) == infinity {
		*x = extended(math.Inf(1))
		return nil
	}
	return json.Unmarshal(data, (*float64)(x))
}

// written is the JSON form of a statement. Replacement, Verdict and Meaning follow
// from the guarantee: they are written for programs that have no accountant, and what
// is read has them computed anew.
type written struct {
	Observer  string `json:"observer"`
	Who       string `json:"who"`
	Guarantee struct {
		Epsilon   *extended `json:"epsilon"`
		Delta     *float64  `json:"delta"`
		Guarantee           // the other fields, under their own keys
	} `json:"guarantee"`
	Replacement *pair  `json:"replacement,omitempty"` // what a removal guarantee says of any other record
	Verdict     string `json:"verdict"`
	Meaning     string `json:"meaning"`
	Note        string `json:"note,omitempty"`
}

type pair struct {
	Epsilon extended `json:"epsilon"`
	Delta   float64  `json:"delta"`
}

// MarshalJSON writes an infinite epsilon as the string "infinity".
func (s Statement) MarshalJSON() ([]byte, error) {
	w := written{Observer: s.Observer, Who: s.Who, Note: s.Note, Verdict: s.Guarantee.Verdict(), Meaning: s.Guarantee.Meaning()}
	w.Guarantee.Guarantee = s.Guarantee
	w.Guarantee.Epsilon = (*extended)(&s.Guarantee.Epsilon)
	w.Guarantee.Delta = &s.Guarantee.Delta
	if h, ok := s.Guarantee.asReplacement(); ok {
		w.Replacement = &pair{extended(h.Epsilon), h.Delta}
	}
	return json.Marshal(w)
}

// UnmarshalJSON reads what MarshalJSON wrote; unknown keys are errors.
func (s *Statement) UnmarshalJSON(data []byte) error {
	var w written
	if err := strictjson.JSON(data, &w); err != nil {
		return err
	}
	if w.Guarantee.Epsilon == nil || w.Guarantee.Delta == nil {
		return errors.New("a guarantee lacks its epsilon or its delta")
	}
	*s = Statement{w.Observer, w.Who, w.Guarantee.Guarantee, w.Note}
	s.Guarantee.Epsilon = float64(*w.Guarantee.Epsilon)
	s.Guarantee.Delta = *w.Guarantee.Delta
	return nil
}
