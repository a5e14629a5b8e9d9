package cluster

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/internal/dp/encode/gradients"
	"github.com/confetti-dp/confetti/internal/nn"
	"github.com/confetti-dp/confetti/internal/strictjson"
)

// Encoder finds clusters that no centres describe, such as those of a graph: by a network that
// was trained on the public inputs' own clusters. What plans name is the hash of its form.
type Encoder struct {
	Width, Height int       // as in State
	Net           *nn.Model // from features to a score of each cluster
	Sizes         []int     // as in State
}

// encoderForm is an encoder in JSON; the network is its bytes in base64.
type encoderForm struct {
	Version int    `json:"confetti_encoder"`
	Image   *size  `json:"image,omitempty"`
	Sizes   []int  `json:"sizes"`
	Net     []byte `json:"net"`
}

// Marshal returns the encoder's one form.
func (e *Encoder) Marshal() ([]byte, error) {
	net, err := e.Net.MarshalBinary()
	if err != nil {
		return nil, err
	}
	f := encoderForm{Version: version, Sizes: e.Sizes, Net: net}
	if e.Width != 0 {
		f.Image = &size{e.Width, e.Height}
	}
	return json.Marshal(f)
}

// parseEncoder reads an encoder in its one form.
func parseEncoder(text []byte) (*Encoder, error) {
	var f encoderForm
	if strictjson.JSON(text, &f) != nil || f.Version != version {
		return nil, errEncoder
	}
	e := &Encoder{Sizes: f.Sizes, Net: new(nn.Model)}
	if err := e.Net.UnmarshalBinary(f.Net); err != nil {
		return nil, fmt.Errorf("cluster: the encoder's network: %w", err)
	}
	if f.Image != nil {
		e.Width, e.Height = f.Image.Width, f.Image.Height
	}
	if err := e.Check(); err != nil {
		return nil, err
	}
	if again, err := e.Marshal(); err != nil || !bytes.Equal(again, text) {
		return nil, errEncoder
	}
	return e, nil
}

var errEncoder = fmt.Errorf("cluster: not an encoder in its one form")

// Check says what is wrong with an encoder.
func (e *Encoder) Check() error {
	if !e.Net.Plain() {
		return errors.New("cluster: an encoder has dense layers and rectifiers alone")
	}
	if e.Net.Outputs() != len(e.Sizes) || len(e.Sizes) > Most {
		return fmt.Errorf("cluster: an encoder of %d clusters, and %d sizes: at most %d", e.Net.Outputs(), len(e.Sizes), Most)
	}
	for i, n := range e.Sizes {
		if n < 0 {
			return fmt.Errorf("cluster: cluster %d has %d public inputs", i+1, n)
		}
	}
	if e.Width == 0 && e.Height == 0 {
		return nil
	}
	if err := gradients.CheckSize(e.Width, e.Height); err != nil {
		return err
	}
	if n := gradients.Len(e.Width, e.Height); n != e.Net.Inputs() {
		return fmt.Errorf("cluster: an encoder of %d numbers for images of %d features", e.Net.Inputs(), n)
	}
	return nil
}

// Len returns the number of clusters.
func (e *Encoder) Len() int { return len(e.Sizes) }

// Features returns how many numbers an input has.
func (e *Encoder) Features() int { return e.Net.Inputs() }

// Nearest returns the cluster of finite features, as many as the network takes: of the largest score.
// The last digits of scores depend on the machine, and of two that are equal but for these it may
// say either.
func (e *Encoder) Nearest(features []float32) int {
	return e.All(blas32.General{Rows: 1, Cols: len(features), Stride: len(features), Data: features})[0]
}

// All returns the clusters of rows of features.
func (e *Encoder) All(x blas32.General) []int {
	return nn.Classify(e.Net, func(i int) []float32 { return x.Data[i*x.Stride:][:x.Cols] }, x.Rows)
}
