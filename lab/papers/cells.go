package papers

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/confetti-dp/confetti/internal/storage/atomicfile"
	"github.com/confetti-dp/confetti/lab/experiments"
)

// cellsFile holds what a page was made of, beside it.
func (p Paper) cellsFile(folder string) string { return filepath.Join(folder, p.Name+".jsonl.gz") }

// Keep writes the cells that a page is made of beside it, without plans, each once.
func (p Paper) Keep(folder string, cells Cells) error {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return err
	}
	lines, once := json.NewEncoder(z), map[string]bool{}
	for _, m := range cells {
		if m.Result == nil || once[m.Cell.Key()] {
			continue
		}
		once[m.Cell.Key()] = true
		without := *m.Result
		without.Plan, m.Result = nil, &without
		if err := lines.Encode(m); err != nil {
			return err
		}
	}
	if err := z.Close(); err != nil {
		return err
	}
	return atomicfile.Replace(p.cellsFile(folder), b.Bytes(), 0o644)
}

// Kept returns the cells beside a page; none where there is no such file.
func (p Paper) Kept(folder string) (Cells, error) {
	f, err := os.Open(p.cellsFile(folder))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, err
	}
	var cells Cells
	for lines := json.NewDecoder(z); lines.More(); {
		var m experiments.Measured
		if err := lines.Decode(&m); err != nil {
			return nil, fmt.Errorf("%s: cell %d: %w", p.cellsFile(folder), len(cells)+1, err)
		}
		cells = append(cells, m)
	}
	return cells, nil
}
