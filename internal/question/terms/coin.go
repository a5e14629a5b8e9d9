package terms

import (
	"math"
	"strconv"
	"strings"

	"github.com/confetti-dp/confetti/internal/sanitize"
)

// Nothing is said where chance left out all that a device holds, and put nothing in its place.
const Nothing = "nothing, as happens by chance"

// Listed is how many words a sentence lists.
const Listed = 12

// List returns words of a plan's for a sentence, none of which commands a terminal.
func List(words ...string) string {
	if len(words) > Listed {
		return List(words[:Listed]...) + " and more"
	}
	return sanitize.Text(strings.Join(words, ", "))
}

// Coin says which share of the words, or bits, that devices say is not what their people hold: "one such
// word in five is the coin's". The share is rounded down.
func Coin(share float64, word string) string {
	const tolerance = 1e-9 // of the share's own rounding
	switch {
	case !(share >= 1e-6):
		return "not one such " + word + " in a million is the coin's"
	case share < 0.5:
		return "one such " + word + " in " + count(int(math.Ceil(1/share*(1-tolerance)))) + " is the coin's"
	}
	return count(min(9, int(10*share*(1+tolerance)))) + " such " + word + "s in ten are the coin's"
}

// Count returns so many of a noun, such as bits, by a word where a small number has one.
func Count(n int, of string) string { return many(count(n), n, of) }

// Numbered returns so many of a noun by digits.
func Numbered(n int, of string) string { return many(strconv.Itoa(n), n, of) }

func many(said string, n int, of string) string {
	if n != 1 {
		of += "s"
	}
	return said + " " + of
}

var numerals = []string{"no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"}

func count(n int) string {
	if n < len(numerals) {
		return numerals[n]
	}
	return strconv.Itoa(n)
}
