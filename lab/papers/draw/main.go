// Command draw makes the pages of docs/results and their figures again, from the cells that are kept beside
// them. It is run from the lab: go run ./papers/draw
package main

import (
	"log"

	"github.com/confetti-dp/confetti/lab/papers"
)

func main() {
	log.SetFlags(0)
	const folder = "../docs/results"
	for _, p := range papers.All() {
		cells, err := p.Kept(folder)
		if len(cells) == 0 {
			log.Fatalf("%s: %s has no cells (%v)", p.Name, folder, err)
		}
		if err == nil {
			err = p.Write(folder, cells)
		}
		if err != nil {
			log.Fatalf("%s: %v", p.Name, err)
		}
	}
}
