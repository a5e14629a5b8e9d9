// Package meant finds the word that somebody is likely to have meant by another one. Used by commands, internal/table and
// internal/plan/author.
package meant

import (
	"fmt"
	"strings"
)

// longest bounds the words that are compared: a table may name anything.
const longest = 64

// nearest finds the word that somebody is likely to have meant: of three letters or more, of which
// one is another one, or two of those that have more than three. "" where none is so near, or two are.
func nearest(word string, of []string) (near string) {
	n := len([]rune(word))
	if n < 3 || n > longest {
		return ""
	}
	least := min(2, n-2) + 1
	for _, one := range of {
		if len(one) > 2*longest {
			continue
		}
		d := distance(strings.ToLower(word), strings.ToLower(one))
		if d < least {
			near, least = one, d
		} else if d == least && one != near {
			near = ""
		}
	}
	return near
}

// DidYouMean asks for the nearest word in brackets, to stand behind the one that is not there.
func DidYouMean(word string, of []string) string {
	if near := nearest(word, of); near != "" {
		return fmt.Sprintf(" (did you mean %q?)", near)
	}
	return ""
}

// distance counts the letters that are added, left out, changed or exchanged with the next between
// two words.
func distance(a, b string) int {
	x, y := []rune(a), []rune(b)
	rows := make([][]int, len(x)+1) // [i][j]: of the first i letters and the first j
	for i := range rows {
		rows[i] = make([]int, len(y)+1)
		for j := range rows[i] {
			switch {
			case i == 0 || j == 0:
				rows[i][j] = i + j
			case x[i-1] == y[j-1]:
				rows[i][j] = rows[i-1][j-1]
			default:
				rows[i][j] = 1 + min(rows[i-1][j-1], rows[i-1][j], rows[i][j-1])
			}
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				rows[i][j] = min(rows[i][j], 1+rows[i-2][j-2])
			}
		}
	}
	return rows[len(x)][len(y)]
}
