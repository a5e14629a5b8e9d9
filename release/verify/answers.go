package verify

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"reflect"

	"github.com/confetti-dp/confetti/internal/release/sheets"
	"github.com/confetti-dp/confetti/release"
)

// answers compares what the release says of the answer with what follows from its table of counts. The program
// that made it is to say the same. Another one may say more, or with sharper intervals: where it does, the estimates
// of headlines are compared, by their names.
func (c *checks) answers(respondents []int) {
	const what = "answers"
	if c.Answers == nil || len(c.release.Crowds) != c.signed.Plan.Crowds() {
		c.left(what, "that what the release says of the answer follows from its table: no program here reads it")
		return
	}
	headline, sections, counts, follows, err := c.Answers(c.signed.Plan, c.state(), c.Files[sheets.CountsFile], respondents)
	switch {
	case err == nil && !follows:
		c.left(what, "what the release says of the answer is the analyzer's own statement: no table of the release has all that it follows from")
		return
	case c.Files[sheets.CountsFile] == nil:
		err = fmt.Errorf("%s is not here, from which it follows", sheets.CountsFile)
	case err != nil:
	case c.release.Cells != 0:
		err = errors.New("the release says that its table was cut short, and all cells of its plan have room in it")
	default:
		err = errors.Join(
			differs("headline", reflect.ValueOf(c.release.Headline), reflect.ValueOf(headline)),
			differs("sections", reflect.ValueOf(c.release.Sections), reflect.ValueOf(sections)),
			c.recounted(counts))
		if software := c.release.Provenance.Software; err != nil && software != c.Version {
			c.left("intervals", fmt.Sprintf("not compared: this program has others, and is %q, where the release was made by %q", c.Version, software))
			err = sameHeadline(c.release.Headline, headline)
		}
	}
	c.found(what, err, "what follows from %s and the number of respondents", sheets.CountsFile)
}

// mostState bounds a state from which a release follows: the rounds so far of a study that counts events.
const mostState = 8 << 20

// state returns the public state that the plan names; nil where it names none, or another one, or one that is longer.
func (c *checks) state() []byte {
	if c.signed.Plan.State == "" || c.State == nil {
		return nil
	}
	var b shortened
	if c.State(&b, c.signed.Plan.State) != nil || b.cut {
		return nil
	}
	return b.Bytes()
}

// shortened keeps the beginning of what is written.
type shortened struct {
	bytes.Buffer
	cut bool
}

func (b *shortened) Write(p []byte) (int, error) {
	if b.cut = b.cut || b.Len()+len(p) > mostState; b.cut {
		return len(p), nil
	}
	return b.Buffer.Write(p)
}

// recounted compares the table of counts, whose intervals follow from its estimates.
func (c *checks) recounted(again []byte) error {
	const most = 1 << 20
	have, err := sheets.ReadCounts(bytes.NewReader(c.Files[sheets.CountsFile]), most)
	if err != nil {
		return err
	}
	want, err := sheets.ReadCounts(bytes.NewReader(again), most)
	if err != nil {
		return err
	}
	return differs(sheets.CountsFile, reflect.ValueOf(have), reflect.ValueOf(want))
}

// sameHeadline compares the estimates of headlines by their names.
func sameHeadline(have, want []release.Metric) error {
	for _, m := range have {
		for _, n := range want {
			if m.Name != n.Name {
				continue
			}
			for _, pair := range [][2]float64{{m.Value, n.Value}, {m.StdErr, n.StdErr}} {
				if !alike(pair[0], pair[1]) {
					return fmt.Errorf("the release states %s as %.6g, and from its table follows %.6g", m.Name, pair[0], pair[1])
				}
			}
		}
	}
	return nil
}

// alike reports whether two machines may have computed these numbers.
func alike(a, b float64) bool { return math.Abs(a-b) <= (1-lower)*math.Max(1, math.Abs(b)) }

// differs returns where a value of a release differs from what follows.
func differs(path string, have, want reflect.Value) error {
	other := fmt.Errorf("the release says something else in %s than follows from its table", path)
	switch have.Kind() {
	case reflect.Float64:
		if !alike(have.Float(), want.Float()) {
			return fmt.Errorf("the release has %.6g in %s, and from its table follows %.6g", have.Float(), path, want.Float())
		}
	case reflect.Pointer:
		if have.IsNil() != want.IsNil() {
			return other
		}
		if !have.IsNil() {
			return differs(path, have.Elem(), want.Elem())
		}
	case reflect.Slice:
		if have.Len() != want.Len() {
			return other
		}
		for i := range have.Len() {
			if err := differs(fmt.Sprintf("%s[%d]", path, i), have.Index(i), want.Index(i)); err != nil {
				return err
			}
		}
	case reflect.Struct:
		for i := range have.NumField() {
			if have.Type().Field(i).Tag.Get("json") == "-" {
				continue // a word, which is not stored
			}
			if err := differs(path+"."+have.Type().Field(i).Name, have.Field(i), want.Field(i)); err != nil {
				return err
			}
		}
	case reflect.String, reflect.Int, reflect.Bool:
		if !have.Equal(want) {
			return other
		}
	default:
		return errors.New("a release has no " + have.Kind().String())
	}
	return nil
}
