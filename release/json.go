package release

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/strictjson"
)

// JSONFile and PageFile are the names of a release's files.
const (
	JSONFile = "release.json"
	PageFile = "release.html"
)

// schema is the version of the JSON form. It grows when a key changes meaning or
// goes away; a reader refuses any version but its own.
const schema = 3

// maxJSON bounds what Read will take into memory; a release of a thousand classes is a few MB.
const maxJSON = 64 << 20

// document is the form on disk. Keys whose absence would read as the better claim
// (data of people, epsilon 0) shadow the plain ones as pointers, so that it shows.
type document struct {
	Schema     int         `json:"schema"`
	Synthetic  *bool       `json:"synthetic"`
	Guarantees []guarantee `json:"guarantees"`
	Release
}

// guarantee has the numbers of a statement: who the observer is, how it was proved and what it means
// follow from these and from the plan.
type guarantee struct {
	Observer  string            `json:"observer"`
	Epsilon   *epsilon          `json:"epsilon"`
	Delta     *float64          `json:"delta"`
	Adjacency account.Adjacency `json:"adjacency"`
	Trust     account.Trust     `json:"trust"`
	Users     int               `json:"users"`
	Rounds    int               `json:"rounds"`
	Bound     account.Bound     `json:"bound"`
}

// epsilon may be infinite, which JSON does not have.
type epsilon float64

const unbounded = `"infinity"`

func (x epsilon) MarshalJSON() ([]byte, error) {
	if math.IsInf(float64(x), 1) {
		return []byte(unbounded), nil
	}
	return json.Marshal(float64(x))
}

func (x *epsilon) UnmarshalJSON(data []byte) error {
	if string(data) == unbounded {
		*x = epsilon(math.Inf(1))
		return nil
	}
	return json.Unmarshal(data, (*float64)(x))
}

// stored returns what is stored of a statement.
func stored(s account.Statement) guarantee {
	g := s.Guarantee
	return guarantee{s.Observer, (*epsilon)(&g.Epsilon), &g.Delta, g.Adjacency, g.Trust, g.Users, g.Rounds, g.Bound}
}

// statement returns a statement without its words.
func (g guarantee) statement() (s account.Statement, err error) {
	if g.Epsilon == nil || g.Delta == nil {
		return s, errors.New("a guarantee lacks its epsilon or its delta")
	}
	return account.Statement{Observer: g.Observer, Guarantee: account.Guarantee{
		Epsilon: float64(*g.Epsilon), Delta: *g.Delta, Adjacency: g.Adjacency, Trust: g.Trust, Users: g.Users, Rounds: g.Rounds, Bound: g.Bound,
	}}, nil
}

// WriteJSON writes the numbers of a release, indented, with stable keys. It refuses those that
// do not pass Validate.
func (r Release) WriteJSON(w io.Writer) error {
	if err := r.validate(false); err != nil {
		return err
	}
	r.Created = r.Created.UTC()
	d := document{Schema: schema, Synthetic: &r.Synthetic, Release: r}
	for _, s := range r.Guarantees {
		d.Guarantees = append(d.Guarantees, stored(s))
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	if err := e.Encode(d); err != nil {
		return fmt.Errorf("writing the release as JSON: %w", err)
	}
	return nil
}

var (
	errLarge  = fmt.Errorf("reading the release: larger than %d MB, so it is not one of ours", maxJSON>>20)
	errUnsaid = errors.New("reading the release: it does not say whether it is synthetic")
)

// otherwise says why a text is no release: a newer file is called newer, and not malformed.
func otherwise(data []byte, bad error) error {
	var version struct {
		Schema int `json:"schema"`
	}
	if err := json.Unmarshal(data, &version); err != nil {
		return fmt.Errorf("reading the release: not a JSON release: %w", err)
	}
	if version.Schema != schema {
		return fmt.Errorf("reading the release: schema %d, but this version reads schema %d: its page has what it says, or use the confetti that wrote it", version.Schema, schema)
	}
	return fmt.Errorf("reading the release: %w", bad)
}

// Head reads of what WriteJSON wrote its plan, time, source and headline, and with detail its sections. It takes the rest for
// JSON and looks at none of it: whoever shows that, or its guarantees, calls Read.
func Head(text []byte, detail bool) (Release, error) {
	if len(text) > maxJSON {
		return Release{}, errLarge
	}
	var h struct {
		Schema    int       `json:"schema"`
		Plan      string    `json:"plan"`
		Created   time.Time `json:"created"`
		Synthetic *bool     `json:"synthetic"`
		Source    Source    `json:"source"`
		Headline  []Metric  `json:"headline"`
	}
	if bad := json.Unmarshal(text, &h); bad != nil || h.Schema != schema {
		return Release{}, otherwise(text, bad)
	}
	if h.Synthetic == nil {
		return Release{}, errUnsaid
	}
	r := Release{Plan: h.Plan, Created: h.Created, Synthetic: *h.Synthetic, Source: h.Source, Headline: h.Headline}
	if detail {
		var d struct {
			Sections []Section `json:"sections"`
		}
		if err := json.Unmarshal(text, &d); err != nil {
			return Release{}, otherwise(text, err)
		}
		r.Sections = d.Sections
	}
	if err := found(func(v *validator) { v.head(r) }); err != nil {
		return Release{}, fmt.Errorf("reading the release: %w", err)
	}
	return r, nil
}

// Read reads what WriteJSON wrote, and no words. Unknown keys, another schema, text after the
// document and numbers that do not pass Validate are errors.
func Read(r io.Reader) (Release, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxJSON+1))
	if err != nil {
		return Release{}, fmt.Errorf("reading the release: %w", err)
	}
	if len(data) > maxJSON {
		return Release{}, errLarge
	}
	var d document
	if bad := strictjson.JSON(data, &d); bad != nil || d.Schema != schema {
		return Release{}, otherwise(data, bad)
	}
	if d.Synthetic == nil {
		return Release{}, errUnsaid
	}
	d.Release.Synthetic = *d.Synthetic
	for _, g := range d.Guarantees {
		s, err := g.statement()
		if err != nil {
			return Release{}, fmt.Errorf("reading the release: %w", err)
		}
		d.Release.Guarantees = append(d.Release.Guarantees, s)
	}
	if err := d.Release.validate(false); err != nil {
		return Release{}, fmt.Errorf("reading the release: %w", err)
	}
	return d.Release, nil
}
