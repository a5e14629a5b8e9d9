//go:build js && wasm

package main

import (
	"context"
	"encoding/json"
	"syscall/js"

	"github.com/confetti-dp/confetti/client"
	"github.com/confetti-dp/confetti/internal/client/embed"
)

// device answers one plan in a page.
type device struct {
	*embed.Device
	store store
}

// open checks a plan, and prepares to answer it.
func open(s store, text string) (any, error) {
	var o embed.Options
	if err := embed.Read([]byte(text), &o); err != nil {
		return nil, err
	}
	opened, err := embed.Open(context.Background(), o, s, fetch{})
	if err != nil {
		return nil, err
	}
	d := &device{opened, s}
	return functions(map[string]func(string) (any, error){"charge": d.charge, "report": d.report, "deliver": d.deliver, "ledger": d.ledger, "optOut": d.optOut}), nil
}

// functions returns what JavaScript calls: each takes one text of JSON and answers with a promise of one.
func functions(all map[string]func(string) (any, error)) map[string]any {
	called := map[string]any{}
	for name, f := range all {
		called[name] = js.FuncOf(func(_ js.Value, args []js.Value) any {
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
	return called
}

func (d *device) charge(string) (any, error) { return d.Asked(), nil }

func (d *device) report(text string) (any, error) {
	var asked struct {
		Answers json.RawMessage `json:"answers"`
		Consent bool            `json:"consent"`
	}
	if err := embed.Read([]byte(text), &asked); err != nil {
		return nil, err
	}
	if asked.Consent {
		if err := client.Consent(d.store, true); err != nil {
			return nil, err
		}
	}
	return d.Report(context.Background(), asked.Answers)
}

func (d *device) deliver(string) (any, error) { return d.Deliver(context.Background()) }

func (d *device) ledger(string) (any, error) { return embed.Ledger(d.store) }

func (d *device) optOut(string) (any, error) { return nil, client.Consent(d.store, false) }
