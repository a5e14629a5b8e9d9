package papers

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// numbered says how runs follow from a seed where each draws from the pair.
const numbered = "run r, from 0 on, draws from the seed and r together"

// head says what a page was made of: runs, seeds, sizes and time.
func (p Paper) head(cells Cells) string {
	runs, seeds := map[int]int{}, map[int]int{}
	timed, seconds, least, most := 0, 0.0, 0, 0
	for _, m := range cells {
		runs[m.Cell.Runs]++
		seeds[int(m.Cell.Seed)]++
		if n := m.Result.Respondents; n > 0 {
			least, most = cmp.Or(min(least, n), n), max(most, n)
		}
		if m.Result.Seconds > 0 {
			timed, seconds = timed+1, seconds+m.Result.Seconds
		}
	}
	time := fmt.Sprintf("%.0f minutes by the clock, one cell after the other, on two cores that others used too.", seconds/60)
	if timed < len(cells) {
		time = fmt.Sprintf("%d cells have a time: ", timed) + time
	}
	return strings.TrimSpace(fmt.Sprintf("**Runs, seeds, sizes, time.** %s cells: %s. Seeds: %s; %s. A cell has %s to %s respondents, [by data set](#where-the-numbers-are-from). %s %s",
		count(len(cells)), tallied(runs, "of %d runs"), tallied(seeds, "from seed %d on"), p.counted, count(least), count(most), time, p.timed))
}

// tallied lists how many there are of each number, most first.
func tallied(of map[int]int, words string) string {
	var parts []string
	if len(of) == 1 {
		for n := range of {
			return "all " + fmt.Sprintf(words, n)
		}
	}
	for _, n := range slices.SortedFunc(maps.Keys(of), func(a, b int) int { return cmp.Or(of[b]-of[a], a-b) }) {
		part := fmt.Sprintf(words, n)
		if words == "of %d runs" && n == 1 {
			part = "of one run"
		}
		parts = append(parts, count(of[n])+" "+part)
	}
	return strings.Join(parts, ", ")
}

// origin lists the data: how many respondents cells have, and the checksum of the files.
func origin(cells Cells) string {
	sizes, sums := map[string][]int{}, map[string]string{}
	for _, m := range cells {
		if n := m.Result.Respondents; !slices.Contains(sizes[m.Cell.Dataset], n) {
			sizes[m.Cell.Dataset] = append(sizes[m.Cell.Dataset], n)
		}
		sums[m.Cell.Dataset] = "SHA-256 " + m.Result.Data
		if m.Result.Data == "" {
			sums[m.Cell.Dataset] = "made up"
		}
	}
	text := "\n## Where the numbers are from\n"
	for _, set := range slices.Sorted(maps.Keys(sizes)) {
		slices.Sort(sizes[set])
		var all []string
		for _, n := range sizes[set] {
			all = append(all, count(n))
		}
		text += fmt.Sprintf("\n- %s: %s respondents; %s\n", set, strings.Join(all, " or "), sums[set])
	}
	return text
}
