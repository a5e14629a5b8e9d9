package plan

import (
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"
	"pgregory.net/rapid"

	"github.com/confetti-dp/confetti/internal/sanitize"
	"github.com/confetti-dp/confetti/plan"
)

// What is escaped says the same, and every character of it shows.
func TestEscapedTextSaysTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		hidden := rapid.SampledFrom([]rune("\x1b\x07\r\n\u009b\u202e\u2066\u00ad\U000e0001'\"\\#=a é世"))
		said := rapid.MapOf(rapid.StringOf(hidden), rapid.SliceOf(rapid.StringOf(hidden))).Draw(t, "said")
		text, err := toml.Marshal(said)
		if err != nil {
			t.Skip(err)
		}
		shown := escapeTOML(text)
		for _, r := range string(shown) {
			if sanitize.Hidden(r) && r != '\n' {
				t.Fatalf("%q", shown)
			}
		}
		var before, after map[string][]string
		if err := toml.Unmarshal(text, &before); err != nil {
			t.Skip(err)
		}
		if err := toml.Unmarshal(shown, &after); err != nil {
			t.Fatalf("%v: %q of %q", err, shown, text)
		}
		if len(before) != len(after) {
			t.Fatalf("%q of %q", shown, text)
		}
		for k, list := range before {
			if len(after[k]) != len(list) {
				t.Fatalf("%q of %q", shown, text)
			}
			for i := range list {
				if after[k][i] != list[i] {
					t.Fatalf("%q of %q", shown, text)
				}
			}
		}
	})
}

// A terminal shows the canonical form of a plan with escapes; a file has every byte.
func TestCanonicalTextOnATerminal(t *testing.T) {
	p := plan.Plan{Title: "a\x1b]0;owned\x07\r\u009b\u202e\u2066"}
	if text := string(canonicalText(p, true)); strings.ContainsAny(text, "\x1b\x07\r\u009b\u202e\u2066") || !strings.Contains(text, "owned") {
		t.Errorf("%q", text)
	}
	if text := string(canonicalText(p, false)); text != string(p.Canonical())+"\n" {
		t.Errorf("%q", text)
	}
}
