package density

import "github.com/confetti-dp/confetti/question"

// Fields are the class and the features.
func (d *Question) Fields() []question.Field {
	return []question.Field{{Name: "class", Crowd: true}, {Name: "features", Rest: true}}
}

// Value is the Labelled in a row.
func (d *Question) Value(row []any) (question.Value, []error) {
	class, none := question.CrowdNamed(d.plan.Crowd.Names, row[0])
	features, err := question.Vector(row[1])
	if none != nil || err != nil {
		return nil, []error{none, err}
	}
	return Labelled{Features: features, Class: class}, nil
}
