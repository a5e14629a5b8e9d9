package flags

import (
	"slices"
	"strings"

	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/internal/sanitize/meant"
)

// renamed are words that flags took before, with what plans and pages call the same.
var renamed = map[string]string{
	"onehot": "one-hot", "asymmetric": "one-hot-asymmetric", "cms": "count-mean", "cs": "count",
	"local-hashing": "local-hash",
}

// Word refuses a flag's word that is none of those it takes.
func Word(flag, word string, of []string) error {
	if slices.Contains(of, word) {
		return nil
	}
	if now := renamed[word]; slices.Contains(of, now) {
		return terminal.Usagef("--%s %s is called %s, as in a plan: write --%s %s", flag, word, now, flag, now)
	}
	return terminal.Usagef("--%s is %q: give one of %s%s", flag, word, strings.Join(of, ", "), meant.DidYouMean(word, of))
}
