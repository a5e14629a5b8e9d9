//go:build !race

package costlimit

const slower = 1
