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
	scale, performance := unlinked(read(t, "scale.md")), unlinked(read(t, "performance-services.md"))
	opening := measured(t, scale, `\| bare HPKE opening, before \| ([0-9.]+) \|`)
	mixing := measured(t, scale, `\| 1 worker \| ([0-9.]+) \|`) - opening
	accepting := measured(t, performance, `\| accept, on disk \| [^|]*\| \| ([0-9.]+) µs an envelope \|`)
	preparing := measured(t, performance, `preparing, shares opened in lanes \| ([0-9.]+) µs`)
	taking := measured(t, performance, `64 connections at once \| ([0-9.]+) µs`)
	long := measured(t, performance, `A leader's report of 1,024 cells \(([0-9.]+) kB`) * 1e3
	const hops = 2
	of := func(envelopes float64) float64 { // a report, in us: the entry opens it once
		return opening*(envelopes*hops+1) + envelopes*(accepting+mixing*hops)
	}
	says := func(text string) {
		t.Helper()
		if !strings.Contains(scale, text) {
			t.Errorf("scale.md does not say: %s", text)
		}
	}
	says(fmt.Sprintf("R (%.1f (E M + 1) + E (%.1f + %.1f M))", opening, accepting, mixing))
	const many = 768
	says(fmt.Sprintf("M = %d, E = %d: %.0f an envelope, of which %.0f %% are HPKE", hops, many, of(many)/many, 100*opening*(many*hops+1)/of(many)))
	moved := float64(8 + 48*hops) // to the entry: a layer is 48 bytes
	for layers := 1; layers <= hops; layers++ {
		moved += float64(8 + 48*layers) // each leg after it has the layers that are still to come
	}
	const sealed = 48 + 48 // a contribution's header and seal
	says(fmt.Sprintf("M = %d: %.0f an envelope and %d a report", hops, moved, sealed))
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
	row("histogram of 17 envelopes a report", of(17), 17*moved+sealed)
	row("density of 768", of(768), 768*moved+sealed)
	row("sums of 1,024 cells", 2*preparing+taking, long)

	// A day of 10^9 densities, where hops and analyzer open in lanes.
	shuffled := measured(t, unlinked(read(t, "performance.md")), `in lanes: shuffle, X25519 \| [^|]*\| \| \| ([0-9.]+) \|`)
	counted := measured(t, unlinked(read(t, "performance.md")), `in lanes: open and count \| [^|]*\| \| \| ([0-9.]+) \|`)
	lanes := opening*(shuffled*(hops-1)+counted) + opening/many + accepting + mixing*hops // us an envelope
	hours := 1e9 * many * lanes / 1e6 / 3600
	plain := 1e9 * of(many) / 1e6 / 3600
	says(fmt.Sprintf("%.1f (%.2f (M - 1) + %.2f) + %.1f/E + %.1f + %.1f M", opening, shuffled, counted, opening, accepting, mixing))
	says(fmt.Sprintf("%.1f us an envelope: %s core hours in the place of %s, or %s cores", lanes, digits(hours), digits(plain), digits(hours/24)))
	says(fmt.Sprintf("it was %s core hours, and %s TB to the entry", digits(1e9*many*(opening*(hops+1)+accepting+mixing*hops)/1e6/3600), digits(1e9*many*(8+48*(hops+1))/1e12)))
	says(fmt.Sprintf("%s TB to the entry and %s TB in all", digits(1e9*(many*(8+48*hops)+sealed)/1e12), digits(1e9*(many*moved+sealed)/1e12)))
	says(fmt.Sprintf("10^10 histograms in a day are %s cores", digits(1e10*of(17)/1e6/86400)))
}
