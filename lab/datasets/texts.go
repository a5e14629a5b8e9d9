package datasets

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/confetti-dp/confetti/internal/dataset"
	"github.com/confetti-dp/confetti/internal/table"
)

// Written are texts with the class of each.
type Written struct {
	Texts []string
	Y     []int
}

// Texts is a data set of texts. Those of Public belong to nobody who answers.
type Texts struct {
	Classes             []string
	Public, Train, Test Written
	Checksum            string // of the files that they were read from
}

// textNames returns the data sets that LoadTexts knows.
func textNames() []string {
	return []string{"agnews", "agnews_lsa256", "dbpedia14", "sst2", "sst2_glue"}
}

// gluePublic is how many phrases at the head of sst2_glue are public.
const gluePublic = 10_000

// newsPublic is how many rows at the head of the news of agnews_lsa256 are public; of dbpedia14 as many.
const newsPublic = 12_406

// LoadTexts reads the texts that a data set of the data folder was made of.
func LoadTexts(dir, name string) (*Texts, error) {
	t := &Texts{}
	var err error
	switch name {
	case "agnews", "sst2":
		if t.Classes, err = dataset.Lines(filepath.Join(dir, name, "classes.txt")); err == nil {
			err = plainFile(filepath.Join(dir, name, "texts.tsv.gz"), t.readParts)
		}
	case "agnews_lsa256":
		if t.Classes, err = dataset.Lines(filepath.Join(dir, name, "classes.txt")); err == nil {
			err = t.readNews(filepath.Join(dir, "agnews_csv"))
		}
	case "dbpedia14":
		if t.Classes, err = dataset.Lines(filepath.Join(dir, name, "classes.txt")); err == nil {
			err = t.readNews(filepath.Join(dir, name))
		}
	case "sst2_glue":
		t.Classes = []string{"negative", "positive"}
		err = t.readGLUE(filepath.Join(dir, name))
	default:
		err = fmt.Errorf("data set %q has no texts: choose one of %s", name, strings.Join(textNames(), ", "))
	}
	if err != nil {
		return nil, err
	}
	from := name
	if name == "agnews_lsa256" {
		from = "agnews_csv"
	}
	if t.Checksum, err = dataset.Checksum(filepath.Join(dir, from)); err != nil {
		return nil, err
	}
	if len(t.Public.Texts) == 0 || len(t.Train.Texts) == 0 || len(t.Test.Texts) == 0 {
		return nil, fmt.Errorf("data set %s: public, training and test texts are needed: there are %d, %d and %d", name, len(t.Public.Texts), len(t.Train.Texts), len(t.Test.Texts))
	}
	return t, nil
}

// plainFile gives a gzipped file's text to a reader of it.
func plainFile(path string, read func(io.Reader) error) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("%w; name the folder of data sets with --data or CONFETTI_DATA", err)
	}
	defer f.Close()
	text, err := table.Text(f)
	if err == nil {
		err = read(text)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// readParts reads lines of a part (public, train, test), a class and a text, between tabs.
func (t *Texts) readParts(r io.Reader) error {
	all, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	parts := map[string]*Written{"public": &t.Public, "train": &t.Train, "test": &t.Test}
	for i, line := range strings.Split(strings.TrimRight(string(all), "\n"), "\n") {
		fields := strings.SplitN(line, "\t", 3)
		part := parts[fields[0]]
		if len(fields) != 3 || part == nil {
			return fmt.Errorf("line %d is not a part (public, train or test), a class and a text", i+1)
		}
		if err := part.add(fields[1], 0, fields[2], len(t.Classes)); err != nil {
			return fmt.Errorf("line %d: %w", i+1, err)
		}
	}
	return nil
}

// add takes a text whose class is written as a number from first.
func (w *Written) add(class string, first int, text string, classes int) error {
	y, err := strconv.Atoi(class)
	if y -= first; err != nil || y < 0 || y >= classes {
		return fmt.Errorf("its class is none of %d to %d", first, first+classes-1)
	}
	w.Texts, w.Y = append(w.Texts, text), append(w.Y, y)
	return nil
}

// readNews reads classes from 1, titles and descriptions.
func (t *Texts) readNews(dir string) error {
	var train Written
	for name, to := range map[string]*Written{"train.csv.gz": &train, "test.csv.gz": &t.Test} {
		if err := plainFile(filepath.Join(dir, name), func(r io.Reader) error { return to.readNews(r, len(t.Classes)) }); err != nil {
			return err
		}
	}
	public := min(newsPublic, len(train.Texts))
	t.Public = Written{train.Texts[:public], train.Y[:public]}
	t.Train = Written{train.Texts[public:], train.Y[public:]}
	return nil
}

func (w *Written) readNews(r io.Reader, classes int) error {
	in := csv.NewReader(r)
	in.FieldsPerRecord = -1
	for line := 1; ; line++ {
		fields, err := in.Read()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return table.PlainError(err)
		case len(fields) < 3:
			return fmt.Errorf("record %d is not a class, a title and a description", line)
		}
		if err := w.add(fields[0], 1, fields[1]+" "+fields[2], classes); err != nil && line > 1 { // the first may name the columns
			return fmt.Errorf("record %d: %w", line, err)
		}
	}
}

// readGLUE reads a line that names the columns and then texts, each with a class after a tab. What others know as the
// validation set is tested on: the classes of the test set are not published.
func (t *Texts) readGLUE(dir string) error {
	var train Written
	for name, to := range map[string]*Written{"train.tsv.gz": &train, "dev.tsv.gz": &t.Test} {
		err := plainFile(filepath.Join(dir, name), func(r io.Reader) error {
			all, err := io.ReadAll(r)
			if err != nil {
				return err
			}
			for i, line := range strings.Split(strings.TrimRight(string(all), "\n"), "\n") {
				text, class, found := strings.Cut(line, "\t")
				if i == 0 {
					continue
				}
				if !found {
					return fmt.Errorf("line %d is not a text, a tab and a class", i+1)
				}
				if err := to.add(class, 0, text, len(t.Classes)); err != nil {
					return fmt.Errorf("line %d: %w", i+1, err)
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	public := min(gluePublic, len(train.Texts))
	t.Public = Written{train.Texts[:public], train.Y[:public]}
	t.Train = Written{train.Texts[public:], train.Y[public:]}
	return nil
}
