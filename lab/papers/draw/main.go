// Command draw makes the pages of docs/results, their list and their figures again from kept cells, and with -pdf FOLDER all
// figures of a page as a PDF. Used by those who measure a cell anew, from the lab's root: go run ./papers/draw
package main

import (
	"flag"
	"log"

	"github.com/confetti-dp/confetti/lab/papers"
)

func main() {
	log.SetFlags(0)
	print := flag.String("pdf", "", "write all figures of a page as a PDF to this folder")
	flag.Parse()
	const folder = "../docs/results"
	for _, p := range papers.All() {
		if err := p.Write(folder, *print); err != nil {
			log.Fatalf("%s: %v", p.Name, err)
		}
	}
	if err := papers.WriteList(folder); err != nil {
		log.Fatal(err)
	}
}
