package docs_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// rows are the lines of a page's tables, by their first cell.
func rows(text, first string) (all [][]string) {
	for line := range strings.Lines(text) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		if strings.HasPrefix(cells[0], first) && len(cells) > 2 {
			all = append(all, cells)
		}
	}
	return all
}

// What a page says first of a mechanism is what its own table measured.
func TestTheFirstTableOfLabelsIsMeasured(t *testing.T) {
	text := read(t, "labels-paper.md")
	for first, below := range map[string]string{"ClusterRR (Algorithm 1": "ClusterRR, sound", "DP-SGD, last": "DP-SGD, delta", "UniformRR (Corollary": "UniformRR (local", "the same reports": "RR, likelihood", "LP-2ST (Ghazi": "LP-2ST (local"} {
		top, measured := rows(text, first), rows(text, below)
		if len(top) != 1 || len(measured) < 2 {
			t.Fatalf("%s: %d and %d rows", first, len(top), len(measured))
		}
		number := regexp.MustCompile(`^[0-9.]+`)
		want := fmt.Sprintf("%s / %s", number.FindString(measured[0][2]), number.FindString(measured[0][4]))
		if top[0][2] != want {
			t.Errorf("%s stands with %s first, and with %s below", first, top[0][2], want)
		}
	}
}
