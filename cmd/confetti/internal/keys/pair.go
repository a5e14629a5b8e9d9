package keys

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/internal/rng"
	"github.com/confetti-dp/confetti/party/aggregator"
)

type keysPair struct {
	File string `arg:"" help:"Where to write the secret (mode 0600), in a folder that is made (mode 0700) if it is not there." type:"path"`
	terminal.Form
}

func (keysPair) Help() string {
	return `The leader and the helper of a plan check proofs with one secret, and the helper
knows the leader by it. A device that knew it could prove what it liked. Give both
the same file, over a way that nobody else reads, before a plan opens.

Example:
  confetti keys pair pair.secret`
}

func (c keysPair) Run(std terminal.Streams) error {
	var seed [aggregator.PairBytes]byte
	rng.Reader(rng.New()).Read(seed[:])
	if err := os.MkdirAll(filepath.Dir(c.File), 0o700); err != nil {
		return err
	}
	if err := terminal.Uninterrupted(func() error { return aggregator.CreatePair(c.File, seed) }); errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%w: two aggregators that lose their secret lose what was sent to them: choose another name", err)
	} else if err != nil {
		return err
	}
	return c.Print(std, struct {
		File string `json:"file"`
	}{c.File}, "%s is for the leader and the helper, and for nobody else\n", c.File)
}
