// Package explain implements confetti explain: what a word of the documentation means. Used by cmd/confetti, for
// everybody.
package explain

import (
	"strings"

	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/internal/release/glossary"
	"github.com/confetti-dp/confetti/internal/sanitize"
	"github.com/confetti-dp/confetti/internal/sanitize/meant"
)

// Command prints what a word means.
type Command struct {
	Term []string `arg:"" optional:"" help:"A word, such as crowd or ledger of budgets; none: all of them."`
	terminal.Form
}

func (Command) Help() string { return "Example:\n  confetti explain epsilon\n  confetti explain" }

// Run prints one sentence and an example, or the list of words.
func (c Command) Run(std terminal.Streams) error {
	var names []string
	meaning := map[string]string{}
	for _, w := range glossary.Words() {
		names, meaning[w.Name] = append(names, w.Name), w.Means
	}
	if len(c.Term) == 0 {
		return c.Print(std, map[string]any{"words": names}, "%s\n", strings.Join(names, "\n"))
	}
	term := strings.ToLower(strings.Join(c.Term, " "))
	text, known := meaning[term]
	if one, plural := strings.CutSuffix(term, "s"); !known && plural {
		text, known = meaning[one]
	}
	if !known {
		return terminal.Usagef("there is no word %q here%s: confetti explain lists all", sanitize.Text(term), meant.DidYouMean(term, names))
	}
	return c.Print(std, map[string]any{"word": term, "means": text}, "%s\n", text)
}
