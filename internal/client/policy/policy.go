// Package policy reads the file in which a device's administrator says what it may answer. Used by
// cmd/confetti/internal/device.
package policy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/confetti-dp/confetti/client"
	"github.com/confetti-dp/confetti/internal/strictjson"
)

// File is client.Options.Policy of a file, which is read each time (Read).
func File(path string) func() (client.Policy, error) {
	return func() (client.Policy, error) { return Read(path) }
}

// maxBytes bounds a policy file, in bytes.
const maxBytes = 1 << 20

// Read reads a policy file: strict JSON, in which every key may be left out:
//
//	{
//	  "off": false,
//	  "publishers": {"allow": ["ed25519:..."], "deny": []},
//	  "operators": {"deny": ["North"], "trust": ["South", "East"], "prefer": ["South"]},
//	  "caps": {"plan": {"epsilon": 4, "delta": 1e-5, "local": 12}, "window": {"epsilon": 8}, "period": "720h"}
//	}
//
// A file that is missing or wrong is an error: who meant to forbid something
// must not be taken to have allowed it.
func Read(path string) (client.Policy, error) {
	file, err := os.Open(path)
	if err != nil {
		return client.Policy{}, fmt.Errorf("policy: the file: %w", err)
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxBytes+1))
	if err != nil {
		return client.Policy{}, fmt.Errorf("policy: the file: %w", err)
	}
	p, err := parse(text)
	if err != nil {
		return client.Policy{}, fmt.Errorf("policy: the file in %s: %w", path, err)
	}
	return p, nil
}

func parse(text []byte) (client.Policy, error) {
	if len(text) > maxBytes {
		return client.Policy{}, fmt.Errorf("more than %d bytes", maxBytes)
	}
	var form struct {
		Off        bool `json:"off"`
		Publishers struct {
			Allow []string `json:"allow"`
			Deny  []string `json:"deny"`
		} `json:"publishers"`
		Operators client.Operators `json:"operators"`
		Caps      *struct {
			Plan   client.Cap `json:"plan"`
			Window client.Cap `json:"window"`
			Period string     `json:"period"`
		} `json:"caps"`
	}
	if err := uniqueKeys(json.NewDecoder(bytes.NewReader(text))); err != nil {
		return client.Policy{}, err
	}
	if err := strictjson.JSON(text, &form); err != nil {
		return client.Policy{}, err
	}
	var p client.Policy
	p.Off = form.Off
	p.Publishers.Allow, p.Publishers.Deny = form.Publishers.Allow, form.Publishers.Deny
	p.Operators = form.Operators
	if form.Caps != nil {
		p.Caps = &client.Caps{Plan: form.Caps.Plan, Window: form.Caps.Window}
		if form.Caps.Period != "" {
			var err error
			if p.Caps.Period, err = time.ParseDuration(form.Caps.Period); err != nil {
				return client.Policy{}, errors.New(`caps.period is not a duration such as "720h"`)
			}
		}
		if err := p.Caps.Validate(); err != nil {
			return client.Policy{}, err
		}
	}
	return p, nil
}

// uniqueKeys refuses an object that names a key twice, in whatever case: the
// second would silently take the first one's place.
func uniqueKeys(d *json.Decoder) error {
	t, err := d.Token()
	if err != nil {
		return err
	}
	open, nested := t.(json.Delim)
	if !nested {
		return nil
	}
	seen := map[string]bool{}
	for d.More() {
		if open == '{' {
			t, err := d.Token()
			if err != nil {
				return err
			}
			key := strings.ToLower(t.(string)) // of an object, or the decoder would have failed
			if seen[key] {
				return fmt.Errorf("the key %q stands twice in one object", key)
			}
			seen[key] = true
		}
		if err := uniqueKeys(d); err != nil {
			return err
		}
	}
	_, err = d.Token()
	return err
}
