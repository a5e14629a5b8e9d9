package latent

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/central"
	"github.com/confetti-dp/confetti/internal/dp/latent"
	"github.com/confetti-dp/confetti/internal/nn"
	"github.com/confetti-dp/confetti/internal/storage/atomicfile"
	"github.com/confetti-dp/confetti/internal/strictjson"
)

// Likelihoods of a record, which say how the numbers of a decoder's network are read: as a coin's logit, as the logit
// of a number from 0 to 1 that was kept off the ends, or as they are.
const (
	Bernoulli = "bernoulli"
	Logits    = "logit"
	Normal    = "normal"
)

// mostSteps bounds what a promise takes to be computed again.
const mostSteps = 1_000_000

// OffEnds keeps numbers of Logits so far from 0 and from 1.
const OffEnds = 0.05

// Decoder takes the codes of one encoder back to columns of records (LTN, Table 1).
type Decoder struct {
	Net        *nn.Model
	Encoder    string   // name of the encoder, as plans name a state
	Columns    []string // of a record
	Likelihood string
	Trained    latent.Trained // what its own records were promised; those of the encoder have another promise
	Noise      Noise          // of ClaimPrivate
}

// Noise says how a decoder was trained by DP-Adam, so that anybody computes its promise again.
type Noise struct {
	Sampling   float64 `json:"sampling"`         // probability that a record takes part in a step
	Multiplier float64 `json:"noise_multiplier"` // deviation of the noise over Clip
	Clip       float64 `json:"clip"`             // length that a record's gradient is clipped to
	Steps      int     `json:"steps"`
	Method     string  `json:"method"` // by which epsilon was computed
	Source     string  `json:"source"` // who proved it
}

// Event returns what the accountant is told. A record takes part in each step by a coin of its own, or counts for nothing in
// its place.
func (n Noise) Event() account.Event {
	return account.Repeat{Event: central.SubsampledGaussian{Sampling: n.Sampling, NoiseMultiplier: n.Multiplier}, Rounds: n.Steps}
}

type decoderForm struct {
	Version    int            `json:"confetti_latent_decoder"`
	Encoder    string         `json:"encoder"`
	Columns    []string       `json:"columns"`
	Likelihood string         `json:"likelihood"`
	Trained    latent.Trained `json:"trained"`
	Noise      *Noise         `json:"noise,omitempty"`
	Net        []byte         `json:"net"`
}

var errDecoder = errors.New("latent: not a decoder in its one form")

// Marshal returns the decoder's one form.
func (d *Decoder) Marshal() ([]byte, error) {
	net, err := d.Net.MarshalBinary()
	if err != nil {
		return nil, err
	}
	f := decoderForm{Version: 1, Encoder: d.Encoder, Columns: d.Columns, Likelihood: d.Likelihood, Trained: d.Trained, Net: net}
	if d.Noise != (Noise{}) {
		f.Noise = &d.Noise
	}
	return json.Marshal(f)
}

// ReadDecoder reads the file of a decoder; none without a name.
func ReadDecoder(file string) (*Decoder, error) {
	if file == "" {
		return nil, nil
	}
	text, err := atomicfile.Read(file)
	if err != nil {
		return nil, err
	}
	d, err := parseDecoder(text)
	if err != nil {
		err = fmt.Errorf("%s: %w", file, err)
	}
	return d, err
}

// parseDecoder reads a decoder in its one form. It refuses one that promises more than its noise keeps.
func parseDecoder(text []byte) (*Decoder, error) {
	var f decoderForm
	if strictjson.JSON(text, &f) != nil || f.Version != 1 {
		return nil, errDecoder
	}
	d := &Decoder{Net: new(nn.Model), Encoder: f.Encoder, Columns: f.Columns, Likelihood: f.Likelihood, Trained: f.Trained}
	if f.Noise != nil {
		d.Noise = *f.Noise
	}
	if err := d.Net.UnmarshalBinary(f.Net); err != nil {
		return nil, fmt.Errorf("latent: the decoder's network: %w", err)
	}
	if err := d.Check(); err != nil {
		return nil, err
	}
	if again, err := d.Marshal(); err != nil || !bytes.Equal(again, text) {
		return nil, errDecoder
	}
	return d, nil
}

// Check refuses a decoder that promises more than its noise keeps, or by another theorem: it computes the promise again.
func (d *Decoder) Check() error {
	if !d.Net.Plain() || d.Net.Outputs() != len(d.Columns) || slices.Contains(d.Columns, "") {
		return fmt.Errorf("latent: a decoder to %d columns: it has dense layers and rectifiers alone, and a name for each number that it gives", len(d.Columns))
	}
	if l := d.Likelihood; l != Bernoulli && l != Logits && l != Normal {
		return fmt.Errorf("latent: a decoder of likelihood %q: it is %s, %s or %s", l, Bernoulli, Logits, Normal)
	}
	if err := d.Trained.Check(); err != nil {
		return err
	}
	if private := d.Trained.Claim == latent.ClaimPrivate; private != (d.Noise != (Noise{})) || private && !(d.Noise.Clip > 0 && d.Noise.Steps > 0 && d.Noise.Steps <= mostSteps) {
		return fmt.Errorf("latent: a decoder whose records were promised %q: %q has the noise that keeps it, and others have none", d.Trained.Claim, latent.ClaimPrivate)
	} else if !private {
		return nil
	}
	g, err := account.Epsilon(d.Noise.Event(), d.Trained.Delta)
	if err != nil {
		return fmt.Errorf("latent: the decoder's noise: %w", err)
	}
	if d.Trained.Adjacency != latent.ZeroingOut || d.Noise.Method != g.Method || d.Noise.Source != g.Source {
		return fmt.Errorf("latent: a decoder's promise is of adjacency %q, by %s (%s), and the file says another: take it from whoever trained it", latent.ZeroingOut, g.Method, g.Source)
	}
	if !(g.Epsilon <= d.Trained.Epsilon*(1+1e-9)) { // machines round otherwise
		return fmt.Errorf("latent: the decoder promises epsilon %.4g, and its noise keeps %.4g at delta %g: take it from whoever trained it", d.Trained.Epsilon, g.Epsilon, d.Trained.Delta)
	}
	return nil
}

// Promise writes what the decoder's own records were promised.
func (d *Decoder) Promise() string {
	t := d.Trained
	if t.Claim != latent.ClaimPrivate {
		return fmt.Sprintf("%s, of %d records", t.Claim, t.Records)
	}
	g := account.Verdict(&t.Epsilon, t.Delta, account.Adjacency(t.Adjacency))
	return fmt.Sprintf("%s of each of %d private records, by %s", g, t.Private, d.Noise.Method)
}

// Records returns the records that codes stand for, a row each.
func (d *Decoder) Records(codes blas32.General) blas32.General {
	n := d.Net.Outputs()
	out, pass := blas32.General{Rows: codes.Rows, Cols: n, Stride: n, Data: make([]float32, 0, codes.Rows*n)}, nn.NewPass(d.Net)
	for i := range codes.Rows {
		out.Data = append(out.Data, pass.Forward(codes.Data[i*codes.Stride:][:codes.Cols], 1)...)
	}
	if d.Likelihood == Normal {
		return out
	}
	for i, z := range out.Data {
		p := 1 / (1 + math.Exp(-float64(z)))
		if d.Likelihood == Logits {
			p = min(1, max(0, (p-OffEnds)/(1-2*OffEnds)))
		}
		out.Data[i] = float32(p)
	}
	return out
}
