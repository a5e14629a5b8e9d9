package chaos

import "slices"

// shrink makes a failing schedule shorter as long as it still fails: by leaving
// out runs of events, half of them first and single ones in the end, until none
// can be spared (ddmin of Zeller and Hildebrandt, complements only). What is left
// need not be the shortest there is.
func shrink(s schedule, fails func(schedule) bool) (small schedule, tries int) {
	for size := max(1, len(s.events)/2); ; {
		shorter := false
		for at := 0; at < len(s.events); {
			c := s
			c.events = slices.Concat(s.events[:at], s.events[min(at+size, len(s.events)):])
			tries++
			if fails(c) {
				s, shorter = c, true
			} else {
				at += size
			}
		}
		switch {
		case size > 1:
			size /= 2
		case !shorter:
			return s, tries
		}
	}
}
