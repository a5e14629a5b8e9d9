package release

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"

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

// Read reads what WriteJSON wrote, and no words. Unknown keys, another schema, text after the
// document and numbers that do not pass Validate are errors.
func Read(r io.Reader) (Release, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxJSON+1))
	if err != nil {
		return Release{}, fmt.Errorf("reading the release: %w", err)
	}
	if len(data) > maxJSON {
		return Release{}, fmt.Errorf("reading the release: larger than %d MB, so it is not one of ours", maxJSON>>20)
	}
	// The version comes first, so that a newer file is called newer and not malformed.
	var version struct {
		Schema int `json:"schema"`
	}
	if err := json.Unmarshal(data, &version); err != nil {
		return Release{}, fmt.Errorf("reading the release: not a JSON release: %w", err)
	}
	if version.Schema != schema {
		return Release{}, fmt.Errorf("reading the release: schema %d, but this version reads schema %d: its page has what it says, or use the confetti that wrote it", version.Schema, schema)
	}
	var d document
	if err := strictjson.JSON(data, &d); err != nil {
		return Release{}, fmt.Errorf("reading the release: %w", err)
	}
	if d.Synthetic == nil {
		return Release{}, errors.New("reading the release: it does not say whether it is synthetic")
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
