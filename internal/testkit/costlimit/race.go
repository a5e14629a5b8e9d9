//go:build race

package costlimit

// slower is how many times the processor time of a build with the race detector is.
const slower = 10
