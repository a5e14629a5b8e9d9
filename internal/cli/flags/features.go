package flags

import (
	"fmt"
	"os"

	"github.com/confetti-dp/confetti/internal/dp/encode/inputs"
	"github.com/confetti-dp/confetti/internal/learn/model"
)

// Features returns those of a file, as confetti-lab features fit writes them.
func Features(path string) (*inputs.Map, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	m, err := model.ReadFeatures(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return m, nil
}
