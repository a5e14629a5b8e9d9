// Package features turns a record of features and a class into one vector of norm at most one, and takes the sum of
// such vectors apart again. Used by question/vector, internal/learn/moments and internal/release/results.
package features

import "fmt"

// Shape is of features of unit length, and classes.
type Shape struct{ Dimension, Classes int }

// maxLen bounds a message.
const maxLen = 1 << 28

// Validate says what is wrong with the shape.
func (s Shape) Validate() error {
	if s.Dimension < 1 || s.Classes < 2 || s.Dimension > 1<<14 || s.Classes > 1<<16 || s.Len() > maxLen {
		return fmt.Errorf("features: %d features and %d classes: give at least 1 and 2, and no more than %d numbers in a message", s.Dimension, s.Classes, maxLen)
	}
	return nil
}
