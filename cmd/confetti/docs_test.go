package main

import (
	"io"
	"os"
	"strings"
	"testing"
)

// Every command line of the operating manual is one that the program takes.
func TestOperatingManualsCommands(t *testing.T) {
	text, err := os.ReadFile("../../docs/operating.md")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for line := range strings.SplitSeq(string(text), "\n") {
		if !strings.HasPrefix(line, "confetti ") {
			continue
		}
		found++
		var args []string // quoted words are one
		for i, part := range strings.Split(strings.TrimPrefix(line, "confetti "), `"`) {
			if i%2 == 1 {
				args = append(args, part)
			} else {
				args = append(args, strings.Fields(part)...)
			}
		}
		parser := newParser(streams{io.Discard, io.Discard}, func(int) { t.Errorf("%s: ends at once", line) })
		if _, err := parser.Parse(args); err != nil {
			t.Errorf("%s: %v", line, err)
		}
	}
	if found < 20 {
		t.Errorf("only %d commands were found", found)
	}
}
