module example.org/editor

go 1.26.0

require github.com/confetti-dp/confetti v0.0.0

require (
	filippo.io/edwards25519 v1.2.0 // indirect
	github.com/transparency-dev/formats v0.0.0-20251017110053-404c0d5b696c // indirect
	golang.org/x/crypto v0.58.0 // indirect
	golang.org/x/mod v0.42.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
	gonum.org/v1/gonum v0.17.0 // indirect
)

replace github.com/confetti-dp/confetti => ../../..
