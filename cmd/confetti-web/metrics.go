//go:build js && wasm

package main

import (
	"context"
	"encoding/json"

	"github.com/confetti-dp/confetti/client/metrics"
	"github.com/confetti-dp/confetti/internal/client/embed"
)

// count opens an app whose calls metrics.js writes down.
func count(s store, text string) (any, error) {
	var o struct {
		embed.Options
		Registry string `json:"registry"`
	}
	if err := embed.Read([]byte(text), &o); err != nil {
		return nil, err
	}
	with, err := o.Client(s, fetch{})
	if err != nil {
		return nil, err
	}
	app := &metrics.App{Registry: []byte(o.Registry), Publishers: o.Publishers, Aside: true}
	if err := app.Open(with); err != nil {
		return nil, err
	}
	return functions(map[string]func(string) (any, error){
		"visit": func(string) (any, error) {
			_, err := app.Step(context.Background())
			return nil, err
		},
		"consent": func(text string) (any, error) {
			var said struct {
				Agreed bool     `json:"agreed"`
				First  []string `json:"first"` // experiments that showed their first arm before
			}
			if err := embed.Read([]byte(text), &said); err != nil {
				return nil, err
			}
			for _, name := range said.First {
				_, _ = app.Arm(name)
			}
			return nil, app.Consent(said.Agreed)
		},
		"fresh": func(string) (any, error) { return app.New() },
		"record": func(text string) (any, error) {
			var call struct {
				Name  string          `json:"name"`
				Value json.RawMessage `json:"value"`
			}
			if err := embed.Read([]byte(text), &call); err != nil {
				return nil, err
			}
			return nil, app.Record(call.Name, value(call.Value))
		},
		"show": func(string) (any, error) { return embed.Show(app, s) },
	}), nil
}

// value returns what JavaScript gave, with whole numbers as such.
func value(text json.RawMessage) (v any) {
	var n int
	if json.Unmarshal(text, &n) == nil {
		return n
	}
	if json.Unmarshal(text, &v) != nil {
		return nil
	}
	return v
}
