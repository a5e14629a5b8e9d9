package latent

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"sync"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/internal/floats"
	"github.com/confetti-dp/confetti/internal/nn"
	"github.com/confetti-dp/confetti/internal/strictjson"
)

// Encoder turns a record into few numbers by a network that was trained before anybody was asked.
// What plans name is the hash of its form. It is safe for concurrent use.
type Encoder struct {
	Net    *nn.Model
	Length float64 // of the ball that vectors are pulled back to, in the sum of magnitudes
	// Prototypes, a row each, stand for public records, and Sizes are how many each stands for:
	// devices have no use for them, and whoever reads reports asks how likely these are for each.
	Prototypes blas32.General
	Sizes      []int
	Trained    Trained
	passes     sync.Pool // *nn.Pass
}

// Trained says how an encoder was made, and of which records.
type Trained struct {
	Method  string `json:"method"`  // "vae", "pca"
	Of      string `json:"of"`      // what the records were, in words
	Records int    `json:"records"` // how many
	// Claim is what the records were promised: one of ClaimPublic, ClaimPrivate and ClaimNone.
	Claim string `json:"claim"`
	// Epsilon and Delta are those of ClaimPrivate under Adjacency, and Private is how many records have
	// it: the others are public. All are zero of other claims.
	Epsilon float64 `json:"epsilon,omitempty"`
	Delta   float64 `json:"delta,omitempty"`
	Private int     `json:"private,omitempty"`
	// Adjacency is ZeroingOut of a promise; encoders that were made before it was written down have none.
	Adjacency string `json:"adjacency,omitempty"`
}

// ZeroingOut is of a promise to a record that counts for nothing in its place. How many records there are is
// public.
const ZeroingOut = "zeroing-out"

const (
	// ClaimPublic is of records that nothing was promised to.
	ClaimPublic = "public"
	// ClaimPrivate is of an encoder of which a second stage was trained with noise on private records,
	// and the first one on public records alone.
	ClaimPrivate = "differentially private"
	// ClaimNone is of LTN's two stages as they are printed: both have seen the same private records, and
	// nothing is proved of what the first one leaves in the half that stays as it is.
	ClaimNone = "none proved"
)

// Check refuses a claim that its numbers contradict.
func (t Trained) Check() error {
	number := t.Epsilon > 0 && t.Epsilon <= math.MaxFloat64 && t.Delta > 0 && t.Delta < 1 && t.Private > 0 && t.Private <= t.Records
	switch t.Claim {
	case ClaimPublic, ClaimNone:
		if t.Epsilon == 0 && t.Delta == 0 && t.Private == 0 && t.Adjacency == "" {
			return nil
		}
	case ClaimPrivate:
		if number && (t.Adjacency == "" || t.Adjacency == ZeroingOut) {
			return nil
		}
	default:
		return fmt.Errorf("latent: an encoder whose records were promised %q: it must be %q, %q or %q", t.Claim, ClaimPublic, ClaimPrivate, ClaimNone)
	}
	return fmt.Errorf("latent: an encoder whose records were promised %q, with epsilon %v, delta %v, %d records and adjacency %q: a promise has the first three and adjacency %q, and others none", t.Claim, t.Epsilon, t.Delta, t.Private, t.Adjacency, ZeroingOut)
}

// encoderForm is an encoder in JSON; numbers are bytes in base64.
type encoderForm struct {
	Version    int            `json:"confetti_latent"`
	Length     float64        `json:"length"`
	Trained    Trained        `json:"trained"`
	Sizes      []int          `json:"sizes"`
	Prototypes floats.Singles `json:"prototypes"`
	Net        []byte         `json:"net"`
}

const version = 1

var errEncoder = errors.New("latent: not an encoder in its one form")

// Marshal returns the encoder's one form.
func (e *Encoder) Marshal() ([]byte, error) {
	net, err := e.Net.MarshalBinary()
	if err != nil {
		return nil, err
	}
	f := encoderForm{Version: version, Length: e.Length, Trained: e.Trained, Sizes: e.Sizes, Net: net}
	for i := range e.Prototypes.Rows {
		f.Prototypes = append(f.Prototypes, e.Prototypes.Data[i*e.Prototypes.Stride:][:e.Prototypes.Cols]...)
	}
	return json.Marshal(f)
}

// ParseEncoder reads an encoder in its one form.
func ParseEncoder(text []byte) (*Encoder, error) {
	var f encoderForm
	if strictjson.JSON(text, &f) != nil || f.Version != version {
		return nil, errEncoder
	}
	e := &Encoder{Net: new(nn.Model), Length: f.Length, Sizes: f.Sizes, Trained: f.Trained}
	if err := e.Net.UnmarshalBinary(f.Net); err != nil {
		return nil, fmt.Errorf("latent: the encoder's network: %w", err)
	}
	n := e.Net.Outputs()
	if n < 1 || len(f.Prototypes) != n*len(f.Sizes) {
		return nil, errEncoder
	}
	e.Prototypes = blas32.General{Rows: len(f.Sizes), Cols: n, Stride: n, Data: f.Prototypes}
	if err := e.Check(); err != nil {
		return nil, err
	}
	if again, err := e.Marshal(); err != nil || !bytes.Equal(again, text) {
		return nil, errEncoder
	}
	return e, nil
}

// Check says what is wrong with an encoder.
func (e *Encoder) Check() error {
	if !e.Net.Plain() { // others may take far more memory than their bytes
		return errors.New("latent: an encoder has dense layers and rectifiers alone")
	}
	if e.Net.Outputs() > MaxDim || !(e.Length > 0 && e.Length <= 1e9) || len(e.Sizes) < 2 || len(e.Sizes) > 1<<14 {
		return fmt.Errorf("latent: an encoder to %d numbers, in a ball of length %v, with %d prototypes: give at most %d numbers, a length, and 2 to %d prototypes", e.Net.Outputs(), e.Length, len(e.Sizes), MaxDim, 1<<14)
	}
	for i, n := range e.Sizes {
		if n < 0 {
			return fmt.Errorf("latent: prototype %d stands for %d records", i+1, n)
		}
	}
	for _, v := range e.Prototypes.Data {
		if v-v != 0 {
			return errors.New("latent: a number of a prototype is not finite")
		}
	}
	return e.Trained.Check()
}

// Inputs returns how many numbers a record has.
func (e *Encoder) Inputs() int { return e.Net.Inputs() }

// Dim returns the length of a vector.
func (e *Encoder) Dim() int { return e.Net.Outputs() }

// Encode returns the vector of a record of Inputs numbers.
func (e *Encoder) Encode(record []float32) []float32 {
	pass, _ := e.passes.Get().(*nn.Pass)
	if pass == nil {
		pass = nn.NewPass(e.Net)
	}
	defer e.passes.Put(pass)
	return append([]float32(nil), pass.Forward(record, 1)...)
}
