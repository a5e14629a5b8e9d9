package gradient

import "github.com/confetti-dp/confetti/question"

// Fields are the class and the features.
func (q *Question) Fields() []question.Field {
	return []question.Field{{Name: "class", Crowd: true}, {Name: "features", Rest: true}}
}

// Value is the Labelled in a row.
func (q *Question) Value(row []any) (question.Value, []error) {
	class, none := question.CrowdNamed(q.ask.Classes, row[0])
	features, err := question.Vector(row[1])
	if none != nil || err != nil {
		return nil, []error{none, err}
	}
	return Labelled{Features: features, Class: class}, nil
}
