package question

// Describer is a question whose reports can be said in words.
type Describer interface {
	// Tell returns what the messages of one report say, for a sentence that begins with "you
	// said": "green, blue; one such word in five is the coin's". Messages that no device of the
	// plan sends are left out.
	Tell(bodies [][]byte) string
}
