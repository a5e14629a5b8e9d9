package dataset

import (
	"errors"
	"fmt"
	"slices"

	"github.com/confetti-dp/confetti/internal/table"
)

// NewSet makes a data set of two tables; its classes are the labels of train.
func NewSet(name string, train, test *table.Records) (*Set, error) {
	s := &Set{Name: name, Classes: train.Classes(), Columns: train.Columns}
	if len(s.Classes) < 2 {
		return nil, fmt.Errorf("training records have %d classes: at least 2 are needed", len(s.Classes))
	}
	if train.X.Cols != test.X.Cols {
		return nil, fmt.Errorf("training records have %d features but test records %d", train.X.Cols, test.X.Cols)
	}
	if len(train.Columns) == len(test.Columns) && !slices.Equal(train.Columns, test.Columns) {
		return nil, errors.New("training and test records do not have the same features in the same order")
	}
	var err error
	if s.Train, err = labelled(train, s.Classes); err != nil {
		return nil, fmt.Errorf("training records: %w", err)
	}
	if s.Test, err = labelled(test, s.Classes); err != nil {
		return nil, fmt.Errorf("test records: %w", err)
	}
	return s, nil
}

// labelled turns labels into indices of classes. A label that is none of them is
// an error naming its row.
func labelled(t *table.Records, classes []string) (Labelled, error) {
	if len(t.Labels) != t.X.Rows {
		return Labelled{}, fmt.Errorf("%d records have %d labels: name the label column", t.X.Rows, len(t.Labels))
	}
	l := Labelled{X: t.X, Y: make([]int, len(t.Labels))}
	for i, label := range t.Labels {
		if l.Y[i] = slices.Index(classes, label); l.Y[i] < 0 {
			return Labelled{}, fmt.Errorf("label of row %d is none of the %d classes", i+1, len(classes))
		}
	}
	return l, l.check(len(classes))
}
