// Package once refuses a flag that takes one value and is given several: the last one would win, and ask another
// question. Used by cmd/internal/commands, cmd/internal/daemon and lab/cmd/confetti-lab.
package once

import (
	"fmt"

	"github.com/alecthomas/kong"
)

// Given returns the option of a parser that refuses such flags, of all commands.
func Given() kong.Option { return kong.WithBeforeReset(check) }

func check(parsed *kong.Context) error {
	given := map[*kong.Flag]int{}
	for _, p := range parsed.Path {
		if p.Flag == nil || p.Resolved || p.Flag.IsCumulative() || p.Flag.IsCounter() {
			continue
		}
		if given[p.Flag]++; given[p.Flag] > 1 {
			return fmt.Errorf("--%s is given more than once, and takes one value: give it once", p.Flag.Name)
		}
	}
	return nil
}
