package question

// Describer is a question whose messages can be said in words.
type Describer interface {
	// Tell is the body of a message in words, such as "colour: green"; "" of one that has none.
	Tell(body []byte) string
}
