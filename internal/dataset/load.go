package dataset

import (
	"bufio"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/confetti-dp/confetti/internal/table"
)

// Names lists the data sets that Load knows by name.
func Names() []string {
	return []string{"agnews", "agnews_lsa256", "cifar10_subset", "fashion-mnist", "mnist", "sst2"}
}

// Load reads a public data set from the data folder dir.
//
// Text sets are matrices of unit-length features (train_x.npy, train_y.npy,
// test_x.npy, test_y.npy) with the names of the classes (classes.txt) and a
// vocabulary in the same space (vocab.txt, vocab_x.npy). Image sets are
// gzipped IDX files, or gzipped JPEGs; each image is scaled to unit length.
// Any other folder is read as a text set. Load returns fs.ErrNotExist for a set
// without a folder.
func Load(dir, name string) (*Set, error) {
	known := slices.Contains(Names(), name)
	if dir == "" && known {
		return nil, fmt.Errorf("no data folder: name it with --data or CONFETTI_DATA")
	}
	dir = filepath.Join(dir, name)
	switch info, err := os.Stat(dir); {
	case err == nil && info.IsDir():
	case known:
		return nil, absent(fmt.Sprintf("data set %s is not there: no folder %s; name the folder that holds %s with --data or CONFETTI_DATA", name, dir, name))
	default:
		return nil, absent(fmt.Sprintf("data set %q is unknown, and no folder %s: choose one of %s", name, dir, strings.Join(Names(), ", ")))
	}
	load := loadText
	switch {
	case strings.HasSuffix(name, "mnist"):
		load = loadImages
	case strings.HasPrefix(name, "cifar"):
		load = loadJPEGs
	}
	s, err := load(dir)
	if err != nil {
		return nil, fmt.Errorf("data set %s: %w", name, err)
	}
	s.Name = name
	if s.Checksum, err = Checksum(dir); err != nil {
		return nil, fmt.Errorf("data set %s: %w", name, err)
	}
	if err := s.Train.check(len(s.Classes)); err != nil {
		return nil, fmt.Errorf("data set %s: training part: %w", name, err)
	}
	if err := s.Test.check(len(s.Classes)); err != nil {
		return nil, fmt.Errorf("data set %s: test part: %w", name, err)
	}
	if s.Train.X.Cols != s.Test.X.Cols || len(s.Words) > 0 && s.WordX.Cols != s.Train.X.Cols {
		return nil, fmt.Errorf("data set %s: training rows, test rows and words do not have the same number of features", name)
	}
	return s, nil
}

// absent tells a user that a set has no folder.
type absent string

func (a absent) Error() string { return string(a) }

// Is matches fs.ErrNotExist.
func (a absent) Is(target error) bool { return target == fs.ErrNotExist }

func loadText(dir string) (s *Set, err error) {
	s = &Set{}
	in := func(name string) string { return filepath.Join(dir, name) }
	if s.Classes, err = Lines(in("classes.txt")); err != nil {
		return nil, err
	}
	if filepath.Base(dir) == "sst2" { // its file numbers them
		s.Classes = []string{"negative", "positive"}
	}
	if s.Train.X, err = table.ReadMatrix(in("train_x.npy")); err != nil {
		return nil, err
	}
	if s.Train.Y, err = table.ReadLabels(in("train_y.npy")); err != nil {
		return nil, err
	}
	if s.Test.X, err = table.ReadMatrix(in("test_x.npy")); err != nil {
		return nil, err
	}
	if s.Test.Y, err = table.ReadLabels(in("test_y.npy")); err != nil {
		return nil, err
	}
	if s.Words, err = Lines(in("vocab.txt")); err != nil {
		return nil, err
	}
	if s.WordX, err = table.ReadMatrix(in("vocab_x.npy")); err != nil {
		return nil, err
	}
	if len(s.Words) != s.WordX.Rows {
		return nil, fmt.Errorf("%d words but %d word vectors", len(s.Words), s.WordX.Rows)
	}
	return s, nil
}

func loadImages(dir string) (s *Set, err error) {
	s = &Set{Classes: strings.Fields("0 1 2 3 4 5 6 7 8 9")}
	if filepath.Base(dir) == "fashion-mnist" {
		s.Classes = []string{"t-shirt", "trouser", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag", "ankle boot"}
	}
	in := func(name string) string { return filepath.Join(dir, name) }
	if s.Train.X, err = readImages(in("train-images-idx3-ubyte.gz")); err != nil {
		return nil, err
	}
	if s.Train.Y, err = readImageLabels(in("train-labels-idx1-ubyte.gz")); err != nil {
		return nil, err
	}
	if s.Test.X, err = readImages(in("t10k-images-idx3-ubyte.gz")); err != nil {
		return nil, err
	}
	s.Test.Y, err = readImageLabels(in("t10k-labels-idx1-ubyte.gz"))
	return s, err
}

// Lines reads a list of names, one a line.
func Lines(path string) ([]string, error) {
	f, err := table.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var lines []string
	for in := bufio.NewScanner(f); ; {
		if !in.Scan() {
			if err := in.Err(); err != nil {
				return nil, fmt.Errorf("%s: %w", path, err)
			}
			break
		}
		if s := strings.TrimSpace(in.Text()); s != "" {
			lines = append(lines, s)
		}
	}
	if len(lines) == 0 {
		return nil, fmt.Errorf("%s is empty", path)
	}
	return lines, nil
}
