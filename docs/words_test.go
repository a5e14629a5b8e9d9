package docs_test

import (
	"flag"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/internal/release/glossary"
)

var update = flag.Bool("update", false, "link the first use of each word")

// words are those of words.md, in order, with what stands below each.
func words(t *testing.T) (names []string, meaning map[string]string) {
	t.Helper()
	meaning = map[string]string{}
	for _, section := range strings.Split(read(t, "words.md"), "\n## ")[1:] {
		name, text, _ := strings.Cut(section, "\n")
		names, meaning[name] = append(names, name), strings.TrimSpace(text)
	}
	return names, meaning
}

// A word stands in words.md once, in order, with one sentence and an example.
func TestWordsStandOnce(t *testing.T) {
	names, meaning := words(t)
	form := regexp.MustCompile(`^[A-Z][^.\n]+(?:[0-9]\.[0-9][^.\n]+)*\. Example: [^\n]+\.$`)
	for name, text := range meaning {
		sentence, _, _ := strings.Cut(text, ". Example: ")
		if !form.MatchString(text) || len(strings.Fields(sentence)) > 30 {
			t.Errorf("%s: one sentence of up to 30 words, and an example: %q", name, text)
		}
	}
	if !slices.IsSorted(names) || len(meaning) != len(names) || len(names) < 40 {
		t.Errorf("%d words, %d of them different ones, not in order or twice: %v", len(names), len(meaning), names)
	}
}

// proseOnly matches what of a page is no prose of its own: blocks, headings, tables, code, links, pictures and
// addresses.
var proseOnly = regexp.MustCompile("(?ms)^```.*?^```|^#[^\n]*$|^\\|[^\n]*$|^    [^\n]*$|`[^`\n]*`|!?\\[[^\\]]*\\]\\([^)]*\\)|<[^>\n]*>|https?://\\S+|\\*\\*[^*\n]*\\*\\*")

// linkedWords returns a page with the first use of each word linked to where it is explained, the longest first.
func linkedWords(text, to string, names []string, uses map[string]*regexp.Regexp) string {
	hide := func(s string) string { return strings.Repeat("\x00", len(s)) }
	prose := proseOnly.ReplaceAllStringFunc(text, hide)
	for _, name := range names {
		target := "](" + to + "#" + strings.ReplaceAll(name, " ", "-") + ")"
		m := uses[name].FindStringSubmatchIndex(prose)
		if m == nil || strings.Contains(text, target) {
			continue
		}
		at, end := m[2], m[3]
		for i := 2; at < 0; i += 2 {
			at, end = m[i+2], m[i+3]
		}
		linked := "[" + text[at:end] + target
		text, prose = text[:at]+linked+text[end:], prose[:at]+hide(linked)+prose[end:]
	}
	return text
}

// unlinked returns a page without the links that linkedWords makes.
func unlinked(text string) string {
	return regexp.MustCompile(`\[([^\]]*)\]\([a-z./]*words\.md#[^)]*\)`).ReplaceAllString(text, "$1")
}

// Whoever meets a word for the first time on a page can look it up there.
func TestTheFirstUseOfAWordIsLinked(t *testing.T) {
	names, _ := words(t)
	slices.SortStableFunc(names, func(a, b string) int { return len(b) - len(a) })
	uses := map[string]*regexp.Regexp{}
	for _, name := range names {
		uses[name] = glossary.Use(name)
	}
	all := append(pages(t), "../README.md")
	for _, page := range all {
		if page == "words.md" || strings.HasPrefix(page, "results/") { // these are written by a program
			continue
		}
		to := strings.Repeat("../", strings.Count(page, "/")) + "words.md"
		if strings.HasPrefix(page, "../") {
			to = "docs/words.md"
		}
		text := read(t, page)
		switch linked := linkedWords(text, to, names, uses); {
		case linked == text:
		case *update:
			if err := os.WriteFile(page, []byte(linked), 0o644); err != nil {
				t.Fatal(err)
			}
		default:
			t.Errorf("%s: a word's first use is not linked: go test ./docs -run FirstUse -args -update", page)
		}
	}
	for text, want := range map[string]string{
		"# A crowd\n\n`crowd` and [a crowd](x.md), crowds of a crowd\n":                              "# A crowd\n\n`crowd` and [a crowd](x.md), [crowds](words.md#crowd) of a crowd\n",
		"It has a budget\nand a ledger of budgets.\n":                                                "It has a [budget](words.md#budget)\nand a [ledger of budgets](words.md#ledger-of-budgets).\n",
		"We state it, rounded; it is an entry of a table.\n\n| a crowd |\n":                          "We state it, rounded; it is an entry of a table.\n\n| a crowd |\n",
		"The public state of each round.\n\n```sh\nno crowd\n```\nA [hop](words.md#hop) is a hop.\n": "The public [state](words.md#state) of each [round](words.md#round).\n\n```sh\nno crowd\n```\nA [hop](words.md#hop) is a hop.\n",
	} {
		if got := linkedWords(text, "words.md", names, uses); got != want {
			t.Errorf("%q is linked as %q, want %q", text, got, want)
		}
	}
}
