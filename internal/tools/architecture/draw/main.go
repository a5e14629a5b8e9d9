// Command draw writes the picture of the rooms to docs/packages.svg. Used by developers after a change of imports,
// as go run ./internal/tools/architecture/draw
package main

import (
	"log"
	"os"

	"github.com/confetti-dp/confetti/internal/tools/architecture"
)

func main() {
	log.SetFlags(0)
	found, err := architecture.Read(os.DirFS("."))
	if err != nil {
		log.Fatal(err)
	}
	picture, err := architecture.Draw(found, architecture.Programs...)
	if err == nil {
		err = os.WriteFile("docs/packages.svg", picture, 0o644)
	}
	if err != nil {
		log.Fatal(err)
	}
}
