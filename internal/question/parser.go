package question

// Parser is a question whose values stand in the rows of a table, one a row.
type Parser interface {
	// Fields are what a row holds, in order.
	Fields() []Field
	// Value is that of a row with what stands in each field: a text, or what JSON has (a
	// float64, a []any of these), or a []float32 of numbers. Errors are by field, nil where
	// all is well; they name the rule that was broken, and never what is there.
	Value(row []any) (Value, []error)
}

// Field is one thing that a row holds.
type Field struct {
	Name    string // as the plan asks; the crowd's may have another name in a table
	Crowd   bool   // the name of the respondent's crowd, or of the class that stands beside the rest
	List    bool   // may be empty: an empty text is a list of nothing
	Rest    bool   // the numbers in all columns of a table that no other field names
	Numbers int    // how many it is in a row of numbers alone; 0 where it has no such form
}
