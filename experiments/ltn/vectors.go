package ltn

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"

	"gonum.org/v1/gonum/blas/blas32"

	device "github.com/confetti-dp/confetti/dp/latent"
	"github.com/confetti-dp/confetti/experiments"
	"github.com/confetti-dp/confetti/internal/dataset"
	"github.com/confetti-dp/confetti/internal/durable"
	"github.com/confetti-dp/confetti/internal/nn"
	"github.com/confetti-dp/confetti/internal/replay"
	"github.com/confetti-dp/confetti/learn/fit"
	"github.com/confetti-dp/confetti/learn/labels"
	learn "github.com/confetti-dp/confetti/learn/latent"
	"github.com/confetti-dp/confetti/learn/net"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/question"
	"github.com/confetti-dp/confetti/question/latent"
	"github.com/confetti-dp/confetti/question/law"
)

// codeDim is how many numbers of a record are told, but where it is told as it is.
const codeDim = 8

// vectors learns classes from a noisy vector and a class of each respondent.
func (t *task) vectors() (Result, error) {
	public, asked := t.split()
	res := Result{Cell: t.Cell, Respondents: len(asked), Public: len(public)}
	e, err := t.encoder(dataset.Rows(t.set.Train.X, public))
	if err != nil {
		return res, err
	}
	values, y := make(law.Values, len(asked)), make([]int, len(asked))
	for k, i := range asked {
		y[k] = t.set.Train.Y[i]
		values[k] = t.record(i, 0, y[k])
	}
	m, p, err := t.askVectors(e, values)
	if err != nil {
		return res, err
	}
	v := m.Vectors
	told := make([]int, len(v.Reports))
	for i, r := range v.Reports {
		told[i] = r.Class
	}
	classes := len(t.set.Classes)
	weights := learn.Weights(len(told), e.Sizes, likely(e, v.How.Vector, v.Reports))
	c, err := learn.ByPrototypes(t.stream(forNet), e.Prototypes, weights, told, v.How.Class.Epsilon, classes, fit.Progress(t.tell))
	if err != nil {
		return res, err
	}
	codes := learn.Codes(e, t.set.Test.X)
	res.AccuracyClean = right(c.Classes(codes), t.set.Test.Y)
	if res.AccuracyLatent, err = t.private(e, v.How, c); err != nil {
		return res, err
	}
	if res.AccuracyPaper, err = t.paper(e, v, told, codes); err != nil {
		return res, err
	}
	own := learn.Codes(e, dataset.Rows(t.set.Train.X, asked))
	scale := labels.NewScale(own)
	known, err := labels.Known(t.stream(forNet), scale.Examples(own), y, classes, fit.Progress(t.tell))
	if err != nil {
		return res, err
	}
	res.AccuracyNoPrivacy = net.Accuracy(known, scale.Examples(codes), t.set.Test.Y)
	return t.finish(res, p, classes), nil
}

// askVectors puts a plan of vectors to respondents.
func (t *task) askVectors(e *device.Encoder, who law.Values) (*latent.Model, plan.Plan, error) {
	state, err := e.Marshal()
	if err != nil {
		return nil, plan.Plan{}, err
	}
	z := &plan.Latents{Mechanism: plan.LatentLaplace, Dim: e.Dim(), Length: e.Length}
	if t.Mechanism == privUnit {
		z.Mechanism, z.Length = plan.LatentCap, 0
	}
	p := experiments.Draft(plan.Question{Kind: "latent", Latent: &plan.Latent{
		Features: e.Inputs(), Classes: t.set.Classes, Report: plan.LatentVector, Vector: z,
	}}, plan.Budget{LocalEpsilon: t.Epsilon, Delta: delta, Adjacency: "replacement"}, len(who))
	return t.put(p, state, who)
}

// likely is the logarithm of the probability of a report of each prototype.
func likely(e *device.Encoder, how device.Mechanism, reports []latent.Report) func(report, prototype int) float64 {
	x, of := e.Prototypes, make([]func([]byte) float64, e.Prototypes.Rows)
	for j := range of {
		of[j] = how.LogProb(x.Data[j*x.Stride:][:x.Cols])
	}
	return func(i, j int) float64 { return of[j](reports[i].Vector) }
}

// private is the accuracy on test records of which a device tells the vector alone, at the whole
// epsilon.
func (t *task) private(e *device.Encoder, how device.Report, c *learn.Classifier) (float64, error) {
	alone := how.Vector
	switch m := alone.(type) {
	case device.Laplace:
		m.Epsilon = t.Epsilon
		alone = m
	case device.Cap:
		alone = device.BestCap(m.Dim, t.Epsilon)
	}
	r, reports := t.stream(forTest), make([]latent.Report, t.set.Test.Len())
	for i := range reports {
		reports[i].Vector = alone.Randomize(r, e.Encode(t.set.Test.X.Data[i*t.set.Test.X.Stride:][:t.set.Test.X.Cols]))
	}
	weights := learn.Weights(len(reports), e.Sizes, likely(e, alone, reports))
	return right(c.OfReports(e.Prototypes, weights), t.set.Test.Y), nil
}

// paper is the accuracy of LTN's own learner from the same reports: a network on the noisy vectors,
// by how likely the told class is for each true one. A cap's reports are no vectors.
func (t *task) paper(e *device.Encoder, v *latent.Vectors, told []int, codes blas32.General) (*float64, error) {
	m, ok := v.How.Vector.(device.Laplace)
	if !ok {
		return nil, nil
	}
	noisy := blas32.General{Rows: len(told), Cols: e.Dim(), Stride: e.Dim()}
	for _, r := range v.Reports {
		x, err := m.Read(r.Vector)
		if err != nil {
			return nil, err
		}
		noisy.Data = append(noisy.Data, x...)
	}
	scale := labels.NewScale(noisy) // of what was told
	learned, err := labels.Through(t.stream(forNet), scale.Examples(noisy), told, v.How.Class.Epsilon, len(t.set.Classes), fit.Progress(t.tell))
	if err != nil {
		return nil, err
	}
	accuracy := net.Accuracy(learned, scale.Examples(codes), t.set.Test.Y)
	return &accuracy, nil
}

func right(said, want []int) float64 {
	n := 0
	for i, y := range said {
		if y == want[i] {
			n++
		}
	}
	return float64(n) / float64(max(1, len(want)))
}

// encoder is that of the cell's file, or made of public records and kept there.
func (t *task) encoder(public blas32.General) (*device.Encoder, error) {
	method := map[string]string{"vlm": "vae", privUnit: "vae", "pca": "pca", "direct": "direct"}[t.Mechanism]
	trained := device.Trained{Method: method, Of: fmt.Sprintf("%s, the public part of seed %d", t.set.Name, t.Seed), Records: public.Rows, Claim: device.ClaimPublic}
	if t.Encoder != "" {
		text, err := os.ReadFile(t.Encoder)
		switch {
		case err == nil:
			e, err := device.ParseEncoder(text)
			if err == nil && e.Trained != trained {
				err = errors.New("is of another method, data set or seed")
			}
			if err != nil {
				return nil, fmt.Errorf("%s: %w", t.Encoder, err)
			}
			return e, nil
		case !errors.Is(err, os.ErrNotExist):
			return nil, err
		}
	}
	r := t.stream(forEncoder)
	made, length, err := t.network(r, method, public)
	if err != nil {
		return nil, err
	}
	e, err := learn.Encoder(r, made, length, public, trained, fit.Progress(t.tell))
	if err != nil || t.Encoder == "" {
		return e, err
	}
	text, err := e.Marshal()
	if err != nil {
		return nil, err
	}
	return e, durable.Replace(t.Encoder, text, 0o644)
}

// network is the encoder's network, and the ball that its vectors are in.
func (t *task) network(r *rand.Rand, method string, public blas32.General) (*nn.Model, float64, error) {
	switch method {
	case "pca":
		return learn.PCA(public, codeDim)
	case "direct": // pixels less a half: all of them are in this ball
		n := public.Cols
		same := &nn.Model{Layers: []nn.Layer{nn.Dense{In: n, Out: n}}, Params: make([]float32, n*n+n)}
		for i := range n {
			same.Params[i*n+i], same.Params[n*n+i] = 1, -0.5
		}
		return same, float64(n) / 2, nil
	}
	v := learn.Paper()
	m, err := v.Fit(r, public, fit.Progress(t.tell))
	if err != nil {
		return nil, 0, err
	}
	return m.Encoder, v.Length, nil
}

// put puts a designed plan with its state to respondents, each report drawn by law, and gives what
// the analyzer learns.
func (t *task) put(p plan.Plan, state []byte, who law.Values) (*latent.Model, plan.Plan, error) {
	p.State = plan.StateName(state)
	p, _, err := experiments.Designed(p)
	if err != nil {
		return nil, p, err
	}
	proto, err := protocol.WithState(p, state)
	if err != nil {
		return nil, p, err
	}
	crowds, err := law.Draw(proto, who, func(part ...uint64) *rand.Rand {
		return replay.New(t.Seed, append([]uint64{forReports}, part...)...)
	}, func(done int) { t.tell("reports", done, who.Respondents()) })
	if _, err := question.Fits(err); err != nil {
		return nil, p, err
	}
	m, err := proto.Learn(crowds)
	if err != nil {
		return nil, p, err
	}
	return m.(*latent.Model), p, nil
}
