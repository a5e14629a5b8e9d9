package histogram

import (
	"errors"
	"fmt"

	"github.com/confetti-dp/confetti/internal/dp/encode"
	"github.com/confetti-dp/confetti/plan"
)

// cells are what the answers to an attribute fall into (internal/dp/encode).
type cells interface {
	Size() int
	Name(cell int) string
}

// attribute is one thing that a histogram asks.
type attribute struct {
	name  string
	cells cells
	kind  string
	items int  // cells that a respondent holds at most
	all   bool // every respondent counts for exactly one cell; where one may count for none, and in sets, not
	// encode is the cells that an answer holds. An error says why it fits none, but for
	// wrongType, which is a fault of the program.
	encode func(answer any) ([]uint32, error)
	clip   func(answer any) []uint32 // those of the nearest answer that fits; nil where there never is one
}

// wrongType is the error of an answer that no value of the question has.
type wrongType struct {
	takes string
	got   any
}

// Error names types only.
func (e wrongType) Error() string { return fmt.Sprintf("takes %s, not %T", e.takes, e.got) }

// errNoAnswer is why nil does not fit.
var errNoAnswer = errors.New("there is no answer")

// takes makes the encoder of an attribute that answers with one type.
func takes[V any](kind string, encode func(V) ([]uint32, error)) func(any) ([]uint32, error) {
	return func(answer any) ([]uint32, error) {
		v, ok := answer.(V)
		switch {
		case answer == nil:
			return nil, errNoAnswer
		case !ok:
			return nil, wrongType{kind, answer}
		}
		return encode(v)
	}
}

// either makes the encoder of one that answers by name or by number.
func either[N, M any](kind string, names func(N) ([]uint32, error), numbers func(M) ([]uint32, error)) func(any) ([]uint32, error) {
	byName := takes(kind, names)
	return func(answer any) ([]uint32, error) {
		if number, ok := answer.(M); ok {
			return numbers(number)
		}
		return byName(answer)
	}
}

func newAttribute(a plan.Attribute) (attribute, error) {
	out := attribute{name: a.Name, kind: a.Kind, items: a.Items(), all: a.Kind != "set" && a.Total()}
	var err error
	switch a.Kind {
	case "categories":
		var c *encode.Categories
		if c, err = categories(a); err == nil {
			out.cells, out.encode = c, either("a string or an int", c.Encode, c.EncodeNumber)
		}
	case "set":
		var c *encode.Categories
		var s *encode.Set
		if c, err = categories(a); err == nil {
			s, err = encode.NewSet(c, a.Most)
		}
		if err == nil {
			out.cells, out.encode = s, either("a []string or a []int", s.Encode, s.EncodeNumbers)
			out.clip = func(answer any) []uint32 {
				switch items := answer.(type) {
				case []string:
					return s.Clip(items)
				case []int:
					return s.ClipNumbers(items)
				}
				return nil
			}
		}
	case "buckets":
		var b *encode.Buckets
		if b, err = encode.NewBuckets(encode.Axis{Low: a.Low, High: a.High, Cells: a.Cells}, a.Others); err == nil {
			out.cells, out.encode = b, takes("a float64", b.Encode)
		}
	case "grid":
		var g *encode.Grid
		if g, err = encode.NewGrid(encode.Axis(*a.X), encode.Axis(*a.Y), a.Others); err == nil {
			out.cells, out.encode = g, takes("an encode.Point", g.Encode)
		}
	case "mean":
		out.cells, out.encode = ends(a), inSteps(a)
	case "open":
		out.cells, out.encode = listed(a.Values), takes("a string", func(string) ([]uint32, error) { return nil, nil }) // counted apart: see Open
	default:
		err = fmt.Errorf("no code for the kind %q", a.Kind)
	}
	if err != nil {
		return out, fmt.Errorf("histogram: attribute %q: %w", a.Name, err)
	}
	if encode, last := out.encode, uint32(out.cells.Size()-1); a.Others && a.Kind != "set" {
		out.encode = func(answer any) ([]uint32, error) {
			if answer == nil {
				return []uint32{last}, nil // no answer is another one
			}
			return encode(answer)
		}
	}
	return out, nil
}

func categories(a plan.Attribute) (*encode.Categories, error) {
	if a.Size > 0 {
		return encode.NumberedCategories(a.Size, a.Others)
	}
	return encode.NewCategories(a.Values, a.Others)
}
