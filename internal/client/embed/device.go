package embed

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/confetti-dp/confetti/client"
	"github.com/confetti-dp/confetti/internal/client/words"
	"github.com/confetti-dp/confetti/internal/strictjson"
	"github.com/confetti-dp/confetti/plan"
)

// Device answers one plan. It is safe for concurrent use.
type Device struct {
	client *client.Client
	store  client.Store
	signed plan.Signed

	answering sync.Mutex           // one Report or Answer at a time
	fits      atomic.Pointer[bool] // whether the plan has room for the answer; nil until this device has one
}

// Open checks the plan of the options, and prepares to answer it.
func Open(ctx context.Context, o Options, s client.Store, t client.Transport) (*Device, error) {
	c, err := o.Client(s, t)
	if err != nil {
		return nil, err
	}
	var signed plan.Signed
	switch {
	case o.Plan == "":
		return nil, &Error{BadOptions, errors.New("no plan: give its address or its text")}
	case strings.HasPrefix(o.Plan, "https://"):
		signed, c, err = client.FetchURL(ctx, o.Plan, c)
	default:
		if signed, err = plan.ParseSigned([]byte(o.Plan)); err != nil {
			return nil, &Error{"promise", err}
		}
		c.State, err = client.FetchState(ctx, signed.Plan.Analyzer.URL, signed.Plan, c)
	}
	if err != nil {
		return nil, err
	}
	d := &Device{store: s, signed: signed}
	d.client, err = client.Open(signed, c)
	return d, err
}

// Close gives connections back. What waits stays in the store.
func (d *Device) Close() { d.client.Close() }

// Field is what a plan asks by a name.
type Field struct {
	Name  string `json:"name"`
	Crowd bool   `json:"crowd"` // what is said under it is seen by the network
	List  bool   `json:"list"`
}

// Asked is what a plan asks, and what an answer costs.
type Asked struct {
	Plan      string        `json:"plan"`
	Title     string        `json:"title"`
	Publisher string        `json:"publisher"`
	Opens     time.Time     `json:"opens,omitzero"`
	Closes    time.Time     `json:"closes,omitzero"`
	Charge    client.Charge `json:"charge"`
	Question  plan.Question `json:"question"`
	Fields    []Field       `json:"fields"`
}

// Asked returns what the plan asks.
func (d *Device) Asked() Asked {
	p := d.signed.Plan
	fields := []Field{}
	for _, f := range d.client.Fields() {
		fields = append(fields, Field{Name: f.Name, Crowd: f.Crowd, List: f.List || f.Rest})
	}
	return Asked{p.Name(), p.Title, strings.Join(d.signed.Signers(), " "), p.Times.Opens, p.Times.Closes, d.client.Charge(), p.Question, fields}
}

// Outcome is what became of an answer. Code says of one that waits why, as of an error.
type Outcome struct {
	words.Outcome
	Code string `json:"code,omitempty"`
}

// answers reads what a person says, by name.
func answers(text []byte) (a client.Answers, err error) {
	if err := strictjson.JSON(text, &a); err != nil {
		return nil, &Error{"bad-answers", fmt.Errorf("the answers: %w", err)}
	}
	return a, nil
}

// Report answers by name, and sends the answer if it can be sent now. It takes what the issuer gives before it draws,
// so that a wrong credential costs nobody anything.
func (d *Device) Report(ctx context.Context, text []byte) (Outcome, error) {
	a, err := answers(text)
	if err != nil {
		return Outcome{}, err
	}
	d.answering.Lock()
	defer d.answering.Unlock()
	_, before, err := d.entry()
	if err != nil {
		return Outcome{}, err
	}
	err = d.client.Report(ctx, a)
	if _, now, unreadable := d.entry(); unreadable == nil && now && !before { // it was drawn of these answers
		_, unfit := errors.AsType[*client.OutOfDomainError](err)
		fits := !unfit
		d.fits.Store(&fits)
	}
	return d.became(err)
}

// Answer draws an answer, writes it down and sends nothing: it needs no network, and Deliver does the rest.
func (d *Device) Answer(text []byte) (Outcome, error) {
	a, err := answers(text)
	if err != nil {
		return Outcome{}, err
	}
	d.answering.Lock()
	defer d.answering.Unlock()
	if err := d.client.Answer(a); err != nil {
		return Outcome{}, err
	}
	fits := d.client.Unfit() == nil
	d.fits.Store(&fits)
	e, _, err := d.entry()
	return Outcome{Outcome: words.Outcome{Status: words.Waiting, Parts: len(e.Parts), Said: e.Said, Fits: &fits}}, err
}

// Deliver sends what waits and is due.
func (d *Device) Deliver(ctx context.Context) (Outcome, error) {
	return d.became(d.client.Deliver(ctx))
}

// became returns what the program is told after a report or a delivery.
func (d *Device) became(err error) (Outcome, error) {
	e, _, unreadable := d.entry()
	if unreadable != nil {
		return Outcome{}, errors.Join(err, unreadable)
	}
	outcome, failed := words.Became(err, e, d.fits.Load())
	o := Outcome{Outcome: outcome}
	if failed == nil && o.Status == words.Waiting {
		o.Code = Code(err)
	}
	return o, failed
}

// entry returns the plan's in the ledger; ok is false where the device has not answered.
func (d *Device) entry() (e client.Entry, ok bool, err error) {
	l, err := read(d.store)
	if err != nil {
		return e, false, err
	}
	i := slices.IndexFunc(l.Entries, func(e client.Entry) bool { return e.Plan == d.signed.Plan.Name() })
	if i < 0 {
		return e, false, nil
	}
	return l.Entries[i], true, nil
}

// read reads a ledger as it is now, and makes none where there is none. What it finds in the middle of somebody's
// writing it reads again when that is over.
func read(s client.Store) (*client.Ledger, error) {
	l, err := client.ReadLedger(s)
	if err == nil || Code(err) == "nothing-kept" {
		return l, err
	}
	unlock, err := s.Lock()
	if err != nil {
		return nil, err
	}
	defer unlock()
	return client.ReadLedger(s)
}

// Kept is all that a device keeps of what a person has agreed to, spent and said, as data and in words.
type Kept struct {
	*client.Ledger
	Words string `json:"words"`
}

// Ledger returns what is kept in a store.
func Ledger(s client.Store) (Kept, error) {
	l, err := read(s)
	if err != nil {
		return Kept{}, err
	}
	var b bytes.Buffer
	err = words.Show(&b, l, 0.5)
	return Kept{l, b.String()}, err
}
