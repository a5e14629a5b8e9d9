//go:build unix

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const toy = `# A page

    GOMAXPROCS=1 go test -run '^$' -bench 'Seal|Open' -count 3 ./box
    GOMAXPROCS=1 go test -run '^$' -bench Seal -count 3 ./tables   # tables

| path | floor | ours | ratio | range | by |
| --- | --- | ---: | ---: | --- | --- |
| seal a thing | bare | 60 µs | 1.00 | 1.00-1.01 | ` + "`Seal/x`" + ` |
| | by tables | 20 µs | 0.30 | 0.30-0.30 | ` + "`Seal/x @tables`" + ` |
| open | bare | 30 µs | 1.00 | | ` + "`Open ns/item`" + ` |
| by hand | | 4 s | | | |

And ` + "`go test -run Speed -v ./box`" + `:

| what | amount | by |
| --- | ---: | --- |
| accept | 492,000 a second | ` + "`accept: # a second`" + ` |
| gone | 4 ms | ` + "`close: # ms`" + ` |
`

// fake stands for go: what it prints depends on what it is asked.
const fake = `#!/bin/sh
echo run >> "$RUNS"
case "$*" in
*tables*) echo 'BenchmarkSeal/x-2 	 9	 21000 ns/item	 0.35 ratio' ;;
*-bench*) for r in 1.02 1.01 0.99; do echo "BenchmarkSeal/x 	 9	 61000 ns/item	 $r ratio"; done
   echo 'BenchmarkOpen 	 9	 29000 ns/item	 2.0 ratio' ;;
*) echo '    box_test.go:9: accept: 500,000. a second' ;;
esac
`

// playing is a page, a go that is not one, and a file for results.
func playing(t *testing.T) (page string, m measuring, runs func() int) {
	folder := t.TempDir()
	write := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	page = write("performance-toy.md", toy, 0o600)
	write("go", fake, 0o700)
	t.Setenv("PATH", folder+":"+os.Getenv("PATH"))
	t.Setenv("RUNS", filepath.Join(folder, "runs"))
	out, err := os.Create(filepath.Join(folder, "out"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { out.Close() })
	return page, measuring{out: out, file: filepath.Join(folder, "measured.json"), limit: 1e9}, func() int {
		text, _ := os.ReadFile(filepath.Join(folder, "runs"))
		return strings.Count(string(text), "\n")
	}
}

func (m measuring) said(t *testing.T, only, page string) (string, error) {
	t.Helper()
	if err := m.out.Truncate(0); err != nil {
		t.Fatal(err)
	}
	if _, err := m.out.Seek(0, 0); err != nil {
		t.Fatal(err)
	}
	failed := m.run(t.Context(), only, []string{page})
	text, err := os.ReadFile(m.out.Name())
	if err != nil {
		t.Fatal(err)
	}
	return string(text), failed
}

// line returns the one that has a text.
func lineWith(t *testing.T, said, text string) string {
	t.Helper()
	for l := range strings.Lines(said) {
		if strings.Contains(l, text) && strings.HasPrefix(l, "performance-toy") {
			return l
		}
	}
	t.Fatalf("no line has %q:\n%s", text, said)
	return ""
}

// Every row of a page is found by its command, and one that is worse than the page says is marked.
func TestRowsAreMade(t *testing.T) {
	page, m, runs := playing(t)
	said, err := m.said(t, "", page)
	if err == nil || !strings.Contains(err.Error(), "1 rows are worse") || !strings.Contains(err.Error(), "1 were not found") {
		t.Errorf("%v", err)
	}
	for text, want := range map[string]string{
		"seal a thing  ":          "1.01 (0.99 to 1.02)",
		"seal a thing, by tables": "0.35 (0.35 to 0.35)  WORSE by 17 %",
		"open":                    "2.9e-05",
		"accept":                  "5e+05",
		"gone":                    "not found",
	} {
		if l := lineWith(t, said, text); !strings.Contains(l, want) || strings.Contains(l, "WORSE") != strings.Contains(want, "WORSE") {
			t.Errorf("%q: want %q", l, want)
		}
	}
	if !strings.Contains(said, "1 rows of these pages name no benchmark") {
		t.Error(said)
	}
	var kept results
	text, err := os.ReadFile(m.file)
	if err == nil {
		err = json.Unmarshal(text, &kept)
	}
	if err != nil || len(kept.Rows) != 5 || len(kept.Commands) != 3 || len(kept.Machine.Features) == 0 || runs() != 3 {
		t.Fatalf("%d runs, %+v, %v", runs(), kept, err)
	}
	if v := kept.Commands["GOMAXPROCS=1 go test -run '^$' -bench 'Seal|Open' -count 3 ./box"].Values["Seal/x ratio"]; v != (measure{1.01, 0.99, 1.02, 3}) {
		t.Errorf("%+v", v)
	}

	m.resume = true
	if _, err := m.said(t, "", page); err == nil || runs() != 3 {
		t.Errorf("%d runs after what is kept was asked for again: %v", runs(), err)
	}
}

// A page's number was rounded: only what is worse by 3 % than the largest that rounds to it is.
func TestRoundedRows(t *testing.T) {
	for page, want := range map[string]bool{"0.0001": false, "0.00010": true, "0.000114": false} {
		_, rows, err := read("page", "| a | ratio | by |\n| --- | --- | --- |\n| x | "+page+" | `Seal` |\n")
		if err != nil {
			t.Fatal(err)
		}
		if c := rows[0].beside(result{Values: map[string]measure{"Seal ratio": {Median: 0.000115}}}); c.Worse != want {
			t.Errorf("%s: %+v", page, c)
		}
	}
}

// A busy machine's ratios are hidden, or marked where they were asked for; times are told.
func TestBusyMachinesTellNoRatios(t *testing.T) {
	page, m, runs := playing(t)
	m.limit = -1
	said, err := m.said(t, "Seal|Open", page)
	if err == nil || !strings.Contains(err.Error(), "2 may not be told") || runs() != 2 {
		t.Errorf("%d runs, %v", runs(), err)
	}
	if l := lineWith(t, said, "by tables"); !strings.Contains(l, "hidden") || strings.Contains(l, "0.35") {
		t.Error(l)
	}
	if l := lineWith(t, said, "open"); !strings.Contains(l, "LOUD") || !strings.Contains(l, "2.9e-05") {
		t.Error(l)
	}
	m.loud, m.resume = true, true // what was loud is not kept
	said, err = m.said(t, "tables", page)
	if l := lineWith(t, said, "by tables"); !strings.Contains(l, "0.35") || !strings.Contains(l, "LOUD") || err == nil || runs() != 3 {
		t.Error(l, err, runs())
	}
}

// Pages that cannot be followed are refused by name.
func TestPagesThatCannotBeRead(t *testing.T) {
	page, m, _ := playing(t)
	if _, err := m.said(t, "nothing has this", page); err == nil || !strings.Contains(err.Error(), "nothing has this") {
		t.Error(err)
	}
	for planted, want := range map[string]string{
		"| a | b | by |\n| --- | --- | --- |\n| x | 1 s | `Seal @lanes` |\n": "no command is named lanes",
		"| a | b | by |\n| --- | --- | --- |\n| x | none | `Seal` |\n":       "no number",
		"| a | b | by |\n| --- | --- | --- |\n| x | 1 | `Seal a b c` |\n":    "at most",
	} {
		if _, _, err := read("planted", planted); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), `"x"`) {
			t.Errorf("%q: %v", planted, err)
		}
	}
	if err := os.WriteFile(m.file, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := m.said(t, "", page); err == nil || !strings.Contains(err.Error(), "not of this program") {
		t.Error(err)
	}
}
