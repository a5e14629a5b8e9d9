// Package glossary says what the words of the documentation mean, and finds where a text uses them. Used by
// cmd/confetti/internal/explain, internal/release/page and tests of docs.
package glossary

import (
	_ "embed"
	"regexp"
	"strings"
)

// page is a copy of docs/words.md, which lies outside what a package can embed.
//
//go:embed words.md
var page string

// Word is one, and what it means: a sentence, and an example.
type Word struct{ Name, Means string }

// Words returns all, in order.
func Words() (all []Word) {
	for _, section := range strings.Split(page, "\n## ")[1:] {
		name, text, _ := strings.Cut(section, "\n")
		all = append(all, Word{name, strings.NewReplacer("`", "", "*", "").Replace(strings.TrimSpace(text))})
	}
	return all
}

// narrower are words that have another meaning in everyday English: where a use is of ours.
var narrower = map[string]string{
	"arm":      `\b(?:the|an|each|every|one|of|two|several) (arms?)\b`,
	"entry":    `(?:the|an?|each|every) (entry) (?:hop|sees|knows)`,
	"event":    `privacy (events?)|(?:accountant|mechanism)'s (event)|(?:the|an|each|every|one|its) (event) of`,
	"instance": `(?:each|every|one|the|per|an?|two|several) (instances?)\b`,
	"kind":     `\b(kinds? of question)`,
	"lift":     `\b(?:the|a|its|each|of) (lifts?)\b`,
	"log":      `\b(?:the|a|public|one) (log)\b`,
	"plan":     `\b(?:the|a|each|every|one|its|this|signed|of|whose) (plans?)\b`,
	"label":    `\b(?:the|each|its|of|private|public) (labels?)\b`,
	"promise":  `\b(?:the|a|its|plan's|of|each|local|same) (promises?)\b`,
	"release":  `\b(?:a|the|each|every|whose|of|one) (releases?)\b`,
	"report":   `\b(?:the|a|each|every|one|its|whole|of|device's) (reports?)\b`,
	"room":     `(?:DESIGN's|the tree's) (rooms?)\b`,
	"round":    `\b(?:a|the|each|every|one|several|first|next|last|of|its|all) (rounds?)\b`,
	"state":    `\bpublic (states?)\b`,
	"study":    `\b(?:the|a|each|every|one|its|of) (stud(?:y|ies))\b`,
	"trial":    `\b(?:the|a|one|each) (trials?)\b`,
	"twin":     `\b(?:the|a|broken|its) (twins?)\b`,
	"token":    `single-use (tokens?)\b`,
}

// Use matches where a word is used, its first group that matches.
func Use(name string) *regexp.Regexp {
	pattern := narrower[name]
	if pattern == "" {
		pattern = `(?i)\b(` + strings.ReplaceAll(name, " ", `[ \n]`) + `s?)\b`
	}
	return regexp.MustCompile(pattern)
}
