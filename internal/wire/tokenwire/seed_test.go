package tokenwire

import "flag"

// Property tests draw the same cases in every run: a failure is a bug or a
// changed test, never bad luck. Fresh cases: go test -rapid.seed=0.
func init() { flag.Set("rapid.seed", "1") }
