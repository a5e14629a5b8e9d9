package ltn

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"

	"gonum.org/v1/gonum/blas/blas32"

	device "github.com/confetti-dp/confetti/internal/dp/latent"
	learn "github.com/confetti-dp/confetti/internal/learn/latent"
	"github.com/confetti-dp/confetti/internal/nn"
	"github.com/confetti-dp/confetti/internal/question/latent"
	"github.com/confetti-dp/confetti/internal/storage/atomicfile"
	"github.com/confetti-dp/confetti/lab/experiments"
	"github.com/confetti-dp/confetti/lab/train/encoder"
	"github.com/confetti-dp/confetti/lab/train/featuremap"
)

// codeDim is how many numbers of a record are told, but where it is told as it is.
const codeDim = 8

// ofLoans are the epochs of an encoder of columns, of which there are few.
const ofLoans = 40

// encoding is an encoder, and what takes its codes back to records: nothing of principal directions
// and of records as they are.
type encoding struct {
	*device.Encoder
	back       *encoder.Trained
	likelihood string
	promised   device.Trained // what the records were promised that a second stage trained the decoder on; else empty
}

// records returns those that noisy codes stand for.
func (e *encoding) records(how device.Mechanism, reports []latent.Report) (blas32.General, error) {
	m, ok := how.(device.Readable)
	if !ok || e.back == nil {
		return blas32.General{}, errors.New("ltn: these reports stand for no records")
	}
	out := blas32.General{Rows: len(reports), Cols: e.Inputs(), Stride: e.Inputs()}
	for _, r := range reports {
		code, err := m.Read(r.Vector)
		if err != nil {
			return out, err
		}
		out.Data = append(out.Data, e.back.Reconstruct(e.likelihood, code)...)
	}
	return out, nil
}

// decoder returns the way back in the form that analysts have it.
func (e *encoding) decoder() *learn.Decoder {
	return &learn.Decoder{Net: e.back.Decoder, Likelihood: e.likelihood}
}

// encoder returns that of the cell's file, or made of public records and kept there. Cells of one bench share
// what was made.
func (t *task) encoder(public blas32.General) (*encoding, error) {
	method := map[string]string{"vlm": "vae", experiments.PrivUnit: "vae", "pca": "pca", "direct": "direct"}[t.Mechanism]
	trained := device.Trained{Method: method, Of: fmt.Sprintf("%s, the public part of seed %d", t.set.Name, t.Seed), Records: public.Rows, Claim: device.ClaimPublic}
	key := fmt.Sprint(trained, public.Cols, t.Dim, t.Length, t.Noise, t.Learned, t.Central, t.PaperStages)
	if e := t.made[key]; e != nil {
		return e, nil
	}
	if t.Encoder != "" {
		text, err := atomicfile.Read(t.Encoder)
		switch {
		case err == nil:
			e, err := device.ParseEncoder(text)
			if err == nil && e.Trained != trained {
				err = errors.New("is of another method, data set or seed")
			}
			if err != nil {
				return nil, fmt.Errorf("%s: %w", t.Encoder, err)
			}
			return &encoding{Encoder: e}, nil
		case !errors.Is(err, os.ErrNotExist):
			return nil, err
		}
	}
	if t.Central > 0 {
		e, err := t.inTwoStages(public, trained)
		if err == nil {
			t.made[key] = e
		}
		return e, err
	}
	r := t.stream(forEncoder)
	made, length, e, err := t.network(r, method, public)
	if err != nil {
		return nil, err
	}
	if e.Encoder, err = encoder.New(r, made, length, public, trained, featuremap.Progress(t.tell)); err != nil {
		return nil, err
	}
	t.made[key] = e
	if t.Encoder == "" {
		return e, nil
	}
	text, err := e.Marshal()
	if err != nil {
		return nil, err
	}
	return e, atomicfile.Replace(t.Encoder, text, 0o644)
}

// network returns the encoder's network, the ball that its vectors are in, and the way back.
func (t *task) network(r *rand.Rand, method string, public blas32.General) (*nn.Model, float64, *encoding, error) {
	switch method {
	case "pca":
		m, length, err := encoder.PCA(public, min(cmp.Or(t.Dim, codeDim), public.Cols))
		return m, length, &encoding{}, err
	case "direct":
		return asItIs(public, t.side > 0), float64(public.Cols) / 2, &encoding{}, nil
	}
	v := t.settings()
	m, err := v.Fit(r, public, featuremap.Progress(t.tell))
	if err != nil {
		return nil, 0, nil, err
	}
	return m.Encoder, v.Length, &encoding{back: m, likelihood: v.Likelihood}, nil
}

// settings returns those of a variational encoder.
func (t *task) settings() encoder.VAE {
	v := encoder.Paper()
	if t.Noise > 0 {
		v.Dim, v.Length, v.Epsilon, v.Learned = t.Dim, t.Length, t.Noise, t.Learned
	}
	if t.side == 0 {
		v.Hidden, v.Likelihood, v.Epochs = []int{500, 500}, encoder.Normal, ofLoans
	}
	return v
}

// deltaMade is that of the private records that an encoder, or clusters, are made of: LTN's.
const deltaMade = 1e-5

// inTwoStages makes an encoder of public records and then, by DP-Adam, of others that are private: half of them
// each. Where rows are joined their holder encodes them, and what others see is made by the decoder: the second stage is
// of that (LTN, Table 1). Prototypes are public ones. As LTN prints it both stages see all records, and nothing is proved.
func (t *task) inTwoStages(x blas32.General, trained device.Trained) (*encoding, error) {
	r := t.stream(forSecond)
	public, private := x, x
	if !t.PaperStages {
		public, private = encoder.Parted(x, x.Rows/2)
		if t.side == 0 { // numbers of pictures are from 0 to 1
			private = encoder.RangeOf(public).Clamp(private)
		}
	}
	v := t.settings()
	first, err := t.firstStage(v, public)
	if err != nil {
		return nil, err
	}
	second := encoder.Second{Batch: min(1024, private.Rows), Epochs: 5, Rate: 5e-4, Epsilon: t.Central, Delta: deltaMade, Decoder: t.Application == experiments.Joining}
	promised := trained
	m, err := second.Train(v, t.stream(forNoise), r, first, private, !t.PaperStages, &promised, featuremap.Progress(t.tell))
	if err != nil {
		return nil, err
	}
	made := &encoding{back: m, likelihood: v.Likelihood}
	if second.Decoder {
		trained.Records, made.promised = public.Rows, promised
	} else {
		trained = promised
	}
	made.Encoder, err = encoder.New(r, m.Encoder, v.Length, public, trained, featuremap.Progress(t.tell))
	return made, err
}

// firstStage returns an autoencoder of public records, or of those that LTN takes for its first stage. It is made once
// for all that is promised to the records of a second one.
func (t *task) firstStage(v encoder.VAE, x blas32.General) (*encoder.Trained, error) {
	key := fmt.Sprint(t.set.Name, t.Seed, x.Rows, v)
	if m := t.first[key]; m != nil {
		return m, nil
	}
	m, err := v.Fit(t.stream(forEncoder), x, featuremap.Progress(t.tell))
	if err == nil {
		t.first[key] = m
	}
	return m, err
}

// asItIs brings each number to between minus and plus a half: of pixels from 0 to 1, and else from the
// least to the largest of public records, as LTN's appendix E.2 does.
func asItIs(public blas32.General, pixels bool) *nn.Model {
	n := public.Cols
	same := &nn.Model{Layers: []nn.Layer{nn.Dense{In: n, Out: n}}, Params: make([]float32, n*n+n)}
	for j := range n {
		low, high := float32(0), float32(1)
		if !pixels {
			column := make([]float32, public.Rows)
			for i := range column {
				column[i] = public.Data[i*public.Stride+j]
			}
			low, high = slices.Min(column), slices.Max(column)
		}
		if high > low {
			same.Params[j*n+j], same.Params[n*n+j] = 1/(high-low), -(low+high)/2/(high-low)
		}
	}
	return same
}
