package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// What stands between backquotes in a document and begins as a command does is a command
// that there is.
func TestTheCommandsThatDocumentsMentionExist(t *testing.T) {
	leaf := map[string]bool{} // by command; false for one that only has others
	for _, p := range programs {
		for _, c := range leaves(parser(t, p).Model.Node) {
			words := strings.Fields(c.FullPath())
			for _, words[0] = range []string{"confetti", p.Name} { // which starts the other
				leaf[strings.Join(words, " ")] = true
				for n := 2; n < len(words); n++ {
					leaf[strings.Join(words[:n], " ")] = false
				}
			}
		}
	}
	found := 0
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".md" {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for i, span := range strings.Split(string(text), "`") {
			words := strings.Fields(span)
			if i%2 == 0 || len(words) < 2 || words[0] != "confetti" && words[0] != "confetti-server" || strings.Contains(span, "\n") {
				continue
			}
			found++
			command, n := words[0], 1
			for ; n < len(words); n++ {
				if _, is := leaf[command+" "+words[n]]; !is {
					break
				}
				command += " " + words[n]
			}
			switch {
			case leaf[command]: // the rest is its own
			case n < len(words) && !strings.HasPrefix(words[n], "-") && words[n] != "…" && words[n] != "...":
				if names := strings.Split(words[n], "|"); len(names) == 1 || slices.ContainsFunc(names, func(name string) bool { return !leaf[command+" "+name] }) {
					t.Errorf("%s mentions %q: there is no such command", path, span)
				}
			}
		}
		return nil
	})
	if err != nil || found < 10 {
		t.Errorf("%d mentions, %v", found, err)
	}
}

// The page of programs has each command in the program that it is in.
func TestThePageOfProgramsListsTheirCommands(t *testing.T) {
	text, err := os.ReadFile("../../docs/programs.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range programs {
		names := p.Names()
		slices.Sort(names)
		if cell := "`" + strings.Join(names, "` `") + "` |\n"; !strings.Contains(string(text), cell) || !strings.Contains(string(text), "| `"+p.Name+"` | ") {
			t.Errorf("docs/programs.md lacks, of %s: %s", p.Name, cell)
		}
	}
}
