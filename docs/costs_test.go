package docs_test

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// measured is the number that a pattern finds on a page.
func measured(t *testing.T, page, pattern string) float64 {
	t.Helper()
	all := regexp.MustCompile(pattern).FindAllStringSubmatch(page, -1)
	if len(all) != 1 {
		t.Fatalf("%s stands %d times on its page", pattern, len(all))
	}
	v, err := strconv.ParseFloat(all[0][1], 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// digits writes a number with two of them.
func digits(v float64) string {
	size := math.Pow(10, math.Floor(math.Log10(v))-1)
	v = math.Round(v/size) * size
	text := strconv.FormatFloat(v, 'f', max(0, int(1-math.Floor(math.Log10(v)))), 64)
	for n := len(text) - 3; n > 0 && v >= 1000; n -= 3 {
		text = text[:n] + "," + text[n:]
	}
	return text
}

// The table of what a collection costs follows from its formulas, and these from what was
// measured, on the pages that say so.
func TestWhatACollectionCosts(t *testing.T) {
	scale, performance := unlinked(read(t, "scale.md")), unlinked(read(t, "performance.md"))
	opening := measured(t, scale, `\| bare HPKE opening, before \| ([0-9.]+) \|`)
	mixing := measured(t, scale, `\| 1 worker \| ([0-9.]+) \|`) - opening
	accepting := measured(t, performance, `\| accept, on disk \| [^|]*\| \| ([0-9.]+) µs an envelope \|`)
	preparing := measured(t, performance, `opening the share by HPKE \| ([0-9.]+) µs`)
	taking := measured(t, performance, `64 connections at once \| ([0-9.]+) µs`)
	long := measured(t, performance, `A leader's report of 1,024 cells \(([0-9.]+) kB`) * 1e3
	const hops = 2
	envelope := opening*(hops+1) + accepting + mixing*hops
	says := func(text string) {
		t.Helper()
		if !strings.Contains(scale, text) {
			t.Errorf("scale.md does not say: %s", text)
		}
	}
	says(fmt.Sprintf("R E (%.1f (M + 1) + %.1f + %.1f M)", opening, accepting, mixing))
	says(fmt.Sprintf("M = %d: %.0f an envelope, of which %.0f %% are HPKE", hops, envelope, 100*opening*(hops+1)/envelope))
	moved := 0.0 // a layer is 48 bytes, and each leg has those of all that are still to come
	for layers := 1; layers <= hops+1; layers++ {
		moved += float64(8 + 48*layers)
	}
	says(fmt.Sprintf("M = %d: %.0f an envelope", hops, moved))
	says(fmt.Sprintf("%.1f us and %.0f kB a report at the leader", preparing+taking, long/1e3))
	says(fmt.Sprintf("preparing, %.0f us, at the helper", preparing))
	hour, gigabyte := measured(t, scale, `With ([0-9.]+) euro a core hour`), measured(t, scale, `and ([0-9.]+) euro a GB`)

	row := func(name string, us, bytes float64) {
		text := "| " + name
		for i, reports := range []float64{1e6, 1e8, 1e10} {
			hours, total := reports*us/1e6/3600, reports*bytes
			unit, words, euro := "GB", "h", ""
			if i == 0 && strings.HasPrefix(name, "histogram") { // where the table begins
				words, euro = "core hours", " euro"
			}
			amount := total / 1e9
			for _, larger := range []string{"TB", "PB"} {
				if amount >= 1000 {
					amount, unit = amount/1000, larger
				}
			}
			text += fmt.Sprintf(" | %s %s, %s %s: %s%s", digits(hours), words, digits(amount), unit, digits(hours*hour+total/1e9*gigabyte), euro)
		}
		says(text + " |")
	}
	row("histogram of 17 envelopes a report", 17*envelope, 17*moved)
	row("density of 768", 768*envelope, 768*moved)
	row("sums of 1,024 cells", 2*preparing+taking, long)
	says(fmt.Sprintf("10^10 histograms in a day are %s cores", digits(1e10*17*envelope/1e6/86400)))
}
