package lsa

import (
	"slices"
	"strings"
	"testing"
)

func TestSplit(t *testing.T) {
	got := Split("Oil's up 3.5%: a New-York WIN, naïve! " + strings.Repeat("x", 65))
	if want := []string{"oil", "up", "new", "york", "win", "naïve"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestSingular(t *testing.T) {
	for word, want := range map[string]string{"prices": "price", "companies": "company", "oils": "oil", "glass": "glass", "virus": "virus", "bees": "bee", "shoes": "shoe", "movies": "movy", "oil": "oil", "s": ""} {
		if got := singular(word); got != want {
			t.Errorf("%q becomes %q, want %q", word, got, want)
		}
	}
}
