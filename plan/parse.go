package plan

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// MaxBytes bounds the text of a plan.
const MaxBytes = 8 << 20

// Parse reads a plan in its canonical form, validates what every plan has, and refuses
// every other form, so that the bytes that were signed are the bytes that the
// plan is named by. Package author reads what people write.
//
// What it allocates is bounded by the length of the text, whatever the text.
func Parse(text []byte) (Plan, error) {
	if len(text) > MaxBytes {
		return Plan{}, fmt.Errorf("plan: text is longer than %d bytes", MaxBytes)
	}
	if err := bounded(text); err != nil {
		return Plan{}, err
	}
	// The version comes first, and what ended next, so that a newer plan is called newer and not malformed.
	var form struct {
		Version  int `json:"version"`
		Question struct {
			Histogram struct {
				Attributes []struct {
					Kind string `json:"kind"`
				} `json:"attributes"`
			} `json:"histogram"`
		} `json:"question"`
	}
	if err := json.Unmarshal(text, &form); err != nil {
		return Plan{}, fmt.Errorf("plan: not a plan in its canonical form: %w", err)
	}
	if form.Version < oldestVersion || form.Version > Version {
		return Plan{}, &VersionError{form.Version}
	}
	for i, a := range form.Question.Histogram.Attributes {
		if err := Ended(a.Kind); err != nil {
			return Plan{}, fmt.Errorf("plan: question.histogram.attributes[%d].kind: %w", i, err)
		}
	}
	var p Plan
	if err := known(text, &p); err != nil {
		return Plan{}, fmt.Errorf("plan: not a plan in its canonical form: %w", err)
	}
	if err := p.Validate(); err != nil {
		return Plan{}, err
	}
	// What decoding forgives shows here: repeated keys, keys in another case or
	// order, white space, numbers written differently, text that goes on.
	if canonical := p.Canonical(); !bytes.Equal(canonical, text) {
		return Plan{}, fmt.Errorf("plan: a plan, but not in its canonical form: %s: have the author write it anew (confetti plan show --json)", difference(text, canonical))
	}
	return p, nil
}

// known decodes JSON whose members are all known. A comparison with the canonical form refuses what
// decoding forgives.
func known(text []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	return d.Decode(into)
}

// VersionError is a plan of a version that this build does not read. Nothing else is known
// to be wrong with it.
type VersionError struct{ Version int }

// Error says what to do.
func (e *VersionError) Error() string { return "plan: " + otherVersion(e.Version) }

// difference says where a text first departs from the one that is due.
func difference(got, want []byte) string {
	at := 0
	for at < len(got) && at < len(want) && got[at] == want[at] {
		at++
	}
	here := func(text []byte) string {
		if at == len(text) {
			return "the end"
		}
		return fmt.Sprintf("%q", text[at:min(at+16, len(text))])
	}
	return fmt.Sprintf("byte %d begins %s where %s is due", at+1, here(got), here(want))
}
