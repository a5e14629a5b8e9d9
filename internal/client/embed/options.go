// Package embed runs a device by texts of JSON, for programs that are not in Go: its options, what it asks and what
// became of an answer, with a code for each error. Used by cmd/confetti-web and cmd/libconfetti.
package embed

import (
	"errors"
	"fmt"
	"time"

	"github.com/confetti-dp/confetti/client"
	"github.com/confetti-dp/confetti/internal/strictjson"
	"github.com/confetti-dp/confetti/plan"
)

// Options opens a device in any language. Its program adds where it keeps and how it sends.
type Options struct {
	Plan       string           `json:"plan"` // an address, or the text of a signed plan
	Publishers []string         `json:"publishers"`
	Bearer     string           `json:"bearer"`
	Delay      *float64         `json:"delay"` // seconds; 0: none
	Wait       float64          `json:"wait"`  // seconds
	Program    string           `json:"program"`
	Operators  client.Operators `json:"operators"`
	Caps       *struct {
		Plan   client.Cap `json:"plan"`
		Window client.Cap `json:"window"`
		Days   float64    `json:"days"`
	} `json:"caps"`
}

// Read reads a text of JSON into what into points to. A member that it does not have is an error: one that was
// misspelt would do nothing.
func Read(text []byte, into any) error {
	if err := strictjson.JSON(text, into); err != nil {
		return &Error{BadOptions, fmt.Errorf("the options: %w", err)}
	}
	return nil
}

// Client returns the options as a device takes them.
func (o Options) Client(s client.Store, t client.Transport) (client.Options, error) {
	c := client.Options{Publishers: plan.Trust(o.Publishers...), Store: s, Transport: t, Bearer: o.Bearer, Wait: seconds(o.Wait), Program: o.Program, Operators: o.Operators}
	if len(o.Publishers) == 0 {
		return c, &Error{BadOptions, errors.New("no publisher is trusted: give the keys of those whose plans this app answers")}
	}
	if o.Delay != nil {
		if c.Delay = seconds(*o.Delay); c.Delay == 0 {
			c.Delay = client.NoDelay
		} else if c.Delay < 0 {
			return c, &Error{BadOptions, errors.New("delay is negative: give seconds, and 0 for none")}
		}
	}
	if o.Caps != nil {
		c.Caps = client.Caps{Plan: o.Caps.Plan, Window: o.Caps.Window, Period: seconds(o.Caps.Days * 24 * 3600)}
	}
	return c, nil
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
