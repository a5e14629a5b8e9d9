//go:build libconfetti

package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/confetti-dp/confetti/client"
	"github.com/confetti-dp/confetti/client/metrics"
	"github.com/confetti-dp/confetti/internal/client/embed"
	"github.com/confetti-dp/confetti/internal/strictjson"
	"github.com/confetti-dp/confetti/plan"
)

// app counts what a registry lists.
type app struct {
	*metrics.App
	store client.Store
	stop  func() error
}

var apps table[*app]

func openMetrics(path, text string) (any, error) {
	var o struct {
		embed.Options
		Roots      string `json:"roots"`
		Registry   string `json:"registry"`
		Background bool   `json:"background"`
	}
	f, err := place(path)
	if err == nil {
		err = embed.Read([]byte(text), &o)
	}
	if err == nil && o.Plan != "" {
		err = &embed.Error{As: embed.BadOptions, Err: errors.New("a plan is of a device: metrics are asked by their registry")}
	}
	if err != nil {
		return nil, err
	}
	t, err := trusting(o.Roots)
	if err != nil {
		return nil, err
	}
	c, err := o.Client(f, t)
	if err != nil {
		return nil, err
	}
	a := &app{App: &metrics.App{Registry: []byte(o.Registry), Publishers: o.Publishers}, store: f}
	if o.Background {
		a.stop, err = a.Start(c)
	} else {
		err, a.stop = a.Open(c), a.Close
	}
	if err != nil {
		return nil, as(embed.Registry, err)
	}
	return map[string]uint64{"metrics": apps.put(a)}, nil
}

// as gives an error a code that has none.
func as(code string, err error) error {
	if err == nil || embed.Code(err) != embed.Failed {
		return err
	}
	return &embed.Error{As: code, Err: err}
}

func (a *app) news() (any, error) {
	all, err := a.New()
	if all == nil {
		all = []string{}
	}
	return map[string][]string{"new": all}, err
}

// record counts a value of JSON. A number that is whole is one of a counter.
func (a *app) record(name, value string) (any, error) {
	var v any
	if err := strictjson.JSON([]byte(value), &v); err != nil {
		// What the decoder says may have the value in it.
		return nil, as(embed.WrongType, fmt.Errorf("metrics: %s: this is no number or text of JSON", plan.Quoted(name)))
	}
	if n, is := v.(float64); is && n == math.Trunc(n) && math.Abs(n) <= 1<<53 {
		v = int(n)
	}
	return done{}, as(embed.WrongType, a.Record(name, v))
}

func (a *app) arm(name string) (any, error) {
	arm, err := a.Arm(name)
	return map[string]string{"arm": arm}, as(embed.WrongType, err)
}

// step answers what is due. What failed is tried again at the next, and is no error.
func (a *app) step(ctx context.Context) (any, error) {
	next, err := a.Step(ctx)
	if err != nil && next.IsZero() {
		return nil, err
	}
	told := struct {
		Next time.Time `json:"next"`
		Why  string    `json:"why,omitempty"`
		Code string    `json:"code,omitempty"`
	}{Next: next}
	if err != nil {
		told.Why, told.Code = err.Error(), embed.Code(err)
	}
	return told, nil
}

// show returns the seasons as the device has them.
func (a *app) show() (any, error) { return embed.Show(a.App, a.store) }
