//go:build js && wasm

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall/js"
	"time"

	"github.com/confetti-dp/confetti/client"
	"github.com/confetti-dp/confetti/internal/client/words"
	"github.com/confetti-dp/confetti/internal/strictjson"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/question"
)

// options are OpenOptions of web/client/index.js.
type options struct {
	Plan       string   `json:"plan"` // an address, or the text of a signed plan
	Publishers []string `json:"publishers"`
	Bearer     string   `json:"bearer"`
	Delay      *float64 `json:"delay"` // seconds; 0: none
	Wait       float64  `json:"wait"`  // seconds
	Program    string   `json:"program"`
	Caps       *struct {
		Plan   client.Cap `json:"plan"`
		Window client.Cap `json:"window"`
		Days   float64    `json:"days"`
	} `json:"caps"`
}

func (o options) client(s store) (client.Options, error) {
	c := client.Options{Publishers: plan.Trust(o.Publishers...), Store: s, Transport: fetch{}, Bearer: o.Bearer, Wait: seconds(o.Wait), Program: o.Program}
	if len(o.Publishers) == 0 {
		return c, errors.New("no publisher is trusted: give the keys of those whose plans this page answers")
	}
	if o.Delay != nil {
		if c.Delay = seconds(*o.Delay); c.Delay == 0 {
			c.Delay = client.NoDelay
		}
	}
	if o.Caps != nil {
		c.Caps = client.Caps{Plan: o.Caps.Plan, Window: o.Caps.Window, Period: seconds(o.Caps.Days * 24 * 3600)}
	}
	return c, nil
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// device is a client, and what JavaScript calls on it: each function takes one text of JSON
// and answers with a promise of one.
type device struct {
	client *client.Client
	store  store
	signed plan.Signed
	fits   *bool // whether the plan has room for the answer; nil until this device has one
}

// open checks a plan, and prepares to answer it.
func open(s store, text string) (any, error) {
	var o options
	if err := strictjson.JSON([]byte(text), &o); err != nil {
		return nil, fmt.Errorf("the options: %w", err)
	}
	c, err := o.client(s)
	if err != nil {
		return nil, err
	}
	ctx := context.Background()
	var signed plan.Signed
	if strings.HasPrefix(o.Plan, "https://") {
		signed, c, err = client.FetchURL(ctx, o.Plan, c)
	} else if signed, err = plan.ParseSigned([]byte(o.Plan)); err == nil {
		c.State, err = client.FetchState(ctx, signed.Plan.Analyzer.URL, signed.Plan, c)
	}
	if err != nil {
		return nil, err
	}
	d := &device{store: s, signed: signed}
	if d.client, err = client.Open(signed, c); err != nil {
		return nil, err
	}
	functions := map[string]any{}
	for name, f := range map[string]func(string) (any, error){"charge": d.charge, "report": d.report, "deliver": d.deliver, "ledger": d.ledger, "optOut": d.optOut} {
		functions[name] = js.FuncOf(func(_ js.Value, args []js.Value) any {
			return promise(func() (any, error) {
				result, err := f(args[0].String())
				if err != nil {
					return nil, err
				}
				b, err := json.Marshal(result)
				return string(b), err
			})
		})
	}
	return functions, nil
}

// field is what the plan asks by a name.
type field struct {
	Name  string `json:"name"`
	Crowd bool   `json:"crowd"` // what is said under it is seen by the network
	List  bool   `json:"list"`
}

// charge returns what an answer costs, and what is asked.
func (d *device) charge(string) (any, error) {
	p := d.signed.Plan
	var fields []field
	for _, f := range d.client.Fields() {
		fields = append(fields, field{Name: f.Name, Crowd: f.Crowd, List: f.List || f.Rest})
	}
	return struct {
		Plan      string        `json:"plan"`
		Title     string        `json:"title"`
		Publisher string        `json:"publisher"`
		Opens     time.Time     `json:"opens,omitzero"`
		Closes    time.Time     `json:"closes,omitzero"`
		Charge    client.Charge `json:"charge"`
		Question  plan.Question `json:"question"`
		Fields    []field       `json:"fields"`
	}{p.Name(), p.Title, strings.Join(d.signed.Signers(), " "), p.Times.Opens, p.Times.Closes, d.client.Charge(), p.Question, fields}, nil
}

// entry returns the plan's in the ledger; ok is false where the device has not answered.
func (d *device) entry() (e client.Entry, ok bool, err error) {
	l, err := d.read()
	if err != nil {
		return e, false, err
	}
	i := slices.IndexFunc(l.Entries, func(e client.Entry) bool { return e.Plan == d.signed.Plan.Name() })
	if i < 0 {
		return e, false, nil
	}
	return l.Entries[i], true, nil
}

// read reads the ledger as it is now.
func (d *device) read() (*client.Ledger, error) {
	unlock, err := d.store.Lock()
	if err != nil {
		return nil, err
	}
	defer unlock()
	return client.ReadLedger(d.store)
}

// became returns what the page is told after a report or a delivery.
func (d *device) became(err error) (any, error) {
	e, _, unreadable := d.entry()
	if unreadable != nil {
		return nil, errors.Join(err, unreadable)
	}
	outcome, failed := words.Became(err, e, d.fits)
	if failed != nil || outcome.State != words.Waiting {
		return outcome, failed
	}
	return struct {
		words.Outcome
		Code string `json:"code"`
	}{outcome, code(err)}, nil
}

func (d *device) report(text string) (any, error) {
	var asked struct {
		Answers client.Answers `json:"answers"`
		Consent bool           `json:"consent"`
	}
	if err := strictjson.JSON([]byte(text), &asked); err != nil {
		return nil, fmt.Errorf("the answers: %w", err)
	}
	if asked.Consent {
		if err := client.Consent(d.store, true); err != nil {
			return nil, err
		}
	}
	_, before, err := d.entry()
	if err != nil {
		return nil, err
	}
	err = d.client.Report(context.Background(), asked.Answers)
	if _, now, unreadable := d.entry(); unreadable == nil && now && !before { // it was drawn of these answers
		_, unfit := errors.AsType[*question.OutOfDomainError](err)
		fits := !unfit
		d.fits = &fits
	}
	return d.became(err)
}

func (d *device) deliver(string) (any, error) {
	return d.became(d.client.Deliver(context.Background()))
}

// ledger returns all that the device keeps of what it has agreed to, spent and said, as data and
// in words.
func (d *device) ledger(string) (any, error) {
	l, err := d.read()
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := words.Show(&b, l, 0.5); err != nil {
		return nil, err
	}
	return struct {
		*client.Ledger
		Words string `json:"words"`
	}{l, b.String()}, nil
}

func (d *device) optOut(string) (any, error) { return nil, client.Consent(d.store, false) }
