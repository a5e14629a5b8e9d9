package docs_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A page has one reader: longer ones are split by who reads them. Its first paragraph says what that reader came for.
const mostWords, mostFirst = 3000, 60

// longer are the pages above the bound, each with its reason.
var longer = map[string]string{
	"results/esa.md": "every table of a paper, written by a program from measured cells",
	"results/kde.md": "every table of a paper, written by a program from measured cells",
	"results/ldc.md": "every table of a paper, written by a program from measured cells",
	"results/ltn.md": "every table of a paper, written by a program from measured cells",
}

// shape says what is wrong with a page's length and beginning; nothing where it is right.
func shape(page, text string) (faults []string) {
	words := len(strings.Fields(text))
	if longer[page] == "" && words > mostWords {
		faults = append(faults, fmt.Sprintf("%d words, and at most %d: split it by who reads it", words, mostWords))
	}
	if longer[page] != "" && words <= mostWords {
		faults = append(faults, "it is no longer above the bound: take it off the list")
	}
	title, rest, _ := strings.Cut(text, "\n")
	if !strings.HasPrefix(title, "# ") {
		faults = append(faults, "it does not begin with a title")
	}
	first, _, _ := strings.Cut(strings.TrimLeft(rest, "\n"), "\n\n")
	if n := len(strings.Fields(first)); n > mostFirst {
		faults = append(faults, fmt.Sprintf("its first paragraph has %d words, and at most %d", n, mostFirst))
	}
	for _, mark := range []string{"|", "#", "- ", "* ", "1. ", "!", "```", "    "} {
		if first == "" || strings.HasPrefix(first, mark) {
			faults = append(faults, "no paragraph stands before its first table, list, block or section")
			break
		}
	}
	return faults
}

// pages are the files that readers are led to, by their place below docs.
func pages(t *testing.T) (all []string) {
	t.Helper()
	for _, pattern := range []string{"*.md", "tutorials/*.md", "results/*.md"} {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			t.Fatal(pattern, err)
		}
		all = append(all, found...)
	}
	return all
}

func TestPagesAreShort(t *testing.T) {
	all := pages(t)
	for _, page := range all {
		for _, fault := range shape(page, read(t, page)) {
			t.Errorf("%s: %s", page, fault)
		}
	}
	for page := range longer {
		if !slices.Contains(all, page) {
			t.Errorf("%s is not there", page)
		}
	}
	for text, want := range map[string]string{
		"# Title\n\nWhat it is.\n\n| a |\n":                               "",
		"# Title\n\n" + strings.Repeat("Much of it. ", 21) + "\n":         "first paragraph",
		"# Title\n\n| a |\n| --- |\n":                                     "before its first table",
		"# Title\n\n## Section\n\nWhat it is.\n":                          "before its first table",
		"Title\n\nWhat it is.\n":                                          "title",
		"# Title\n\nWhat it is.\n\n" + strings.Repeat("word ", mostWords): "split it",
	} {
		faults := strings.Join(shape("planted.md", text), "; ")
		if !strings.Contains(faults, want) || (want == "") != (faults == "") {
			t.Errorf("%.30q: %q, want %q", text, faults, want)
		}
	}
}

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.*)$`)
	block   = regexp.MustCompile("(?ms)^```.*?^```")
	linked  = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	dropped = regexp.MustCompile(`[^\p{L}\p{N}_\- ]`)
)

// anchors are the names that sections of a page have in links.
func anchors(text string) (all []string) {
	for _, h := range heading.FindAllStringSubmatch(block.ReplaceAllString(text, ""), -1) {
		name := strings.ToLower(linked.ReplaceAllString(h[1], "$1"))
		all = append(all, strings.ReplaceAll(dropped.ReplaceAllString(name, ""), " ", "-"))
	}
	return all
}

// astray returns the links of a page that lead to no file or to no section.
func astray(page, text string) (all []string) {
	for _, l := range link.FindAllStringSubmatch(text, -1) {
		file, section, _ := strings.Cut(l[1], "#")
		if strings.Contains(l[1], "://") || strings.HasPrefix(l[1], "mailto:") {
			continue
		}
		to := text
		if file != "" {
			body, err := os.ReadFile(filepath.Join(filepath.Dir(page), file))
			if info, is := os.Stat(filepath.Join(filepath.Dir(page), file)); err != nil && (is != nil || !info.IsDir()) {
				all = append(all, l[1])
				continue
			}
			to = string(body)
		}
		if section != "" && (file == "" || strings.HasSuffix(file, ".md")) && !slices.Contains(anchors(to), section) {
			all = append(all, l[1])
		}
	}
	return all
}

func TestLinksLeadSomewhere(t *testing.T) {
	for _, page := range append(pages(t), "../README.md", "../DESIGN.md", "../CONTRIBUTING.md", "../SECURITY.md") {
		for _, l := range astray(page, read(t, page)) {
			t.Errorf("%s: nothing is at %s", page, l)
		}
	}
	planted := "# A title's `code` of [two](wire.md)\n\n[right](#a-titles-code-of-two) [right](wire.md#keys) [right](results)\n[wrong](#elsewhere) [wrong](wire.md#nowhere) [wrong](nothing.md)\n```\n# No section\n```\n[wrong](#no-section)\n"
	if got, want := astray("planted.md", planted), []string{"#elsewhere", "wire.md#nowhere", "nothing.md", "#no-section"}; !slices.Equal(got, want) {
		t.Errorf("astray are %q, want %q", got, want)
	}
}
