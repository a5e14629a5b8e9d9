//go:build !amd64

package x25519

const wide = false

// report says nothing: without lanes there is no fault, and a module for browsers is the smaller.
func report(string) {}

func eight(*[width][32]byte, *[256]byte, *[width][32]byte) {
	panic("x25519: no lanes on this processor: ask Lanes first")
}
