package terminal

import (
	"fmt"
	"io"
)

// Form chooses how a command prints its result: in words, or as one JSON object.
type Form struct {
	JSON bool `help:"Print one JSON object."`
}

// Print writes the words, or the result as JSON in their place. A command that has said all on its way has no words left.
func (f Form) Print(std Streams, result any, words string, a ...any) error {
	if f.JSON {
		return WriteJSON(std.Out, result)
	}
	_, err := fmt.Fprintf(std.Out, words, a...)
	return err
}

// Words returns where a command says on its way what it has done: beside the result, where that is JSON.
func (f Form) Words(std Streams) io.Writer {
	if f.JSON {
		return std.Err
	}
	return std.Out
}
