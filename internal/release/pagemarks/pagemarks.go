// Package pagemarks names what a page of a release has for whoever verifies it. Used by internal/release/page, which
// writes it, and by release/verify.
package pagemarks

// The text before and behind the program that drew a page, in its first line, and the name of the metadata that has the
// SHA-256 of the JSON.
const (
	PageBegins = "<!-- drawn by "
	PageBegan  = " -->"
	DigestName = "confetti-release-sha256"
)
