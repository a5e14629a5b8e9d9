package client

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/confetti-dp/confetti/plan"
)

// Off is the environment variable that, set to anything, keeps every client in
// the process from answering and sending. It can only forbid.
const Off = "CONFETTI_OFF"

// The reasons for which a client refuses before it looks at a value.
var (
	ErrNotOptedIn = errors.New("client: refused: the respondent has not opted in")
	ErrOff        = errors.New("client: refused: collection is switched off on this device")
	ErrAnswered   = errors.New("client: refused: this plan was answered before, and one answer of a respondent counts")
	ErrNotOpen    = errors.New("client: refused: the collection has not opened yet")
	ErrClosed     = errors.New("client: refused: the collection is over")
)

// Policy is what the administrator of a device allows, whatever its user agreed
// to and a program asks for. The zero Policy allows everything; a policy never
// opts anybody in.
type Policy struct {
	Off        bool
	Publishers struct{ Allow, Deny []string } // public keys; an empty Allow lets all but Deny pass
	Operators  struct{ Deny []string }        // names: nothing goes through an instance that one of them has a hop in
	Caps       *Caps                          // beside the program's own: both must hold
}

// maxPolicy bounds a policy file, in bytes.
const maxPolicy = 1 << 20

// ReadPolicy reads a policy file: strict JSON, in which every key may be left out:
//
//	{
//	  "off": false,
//	  "publishers": {"allow": ["ed25519:..."], "deny": []},
//	  "operators": {"deny": ["North"]},
//	  "caps": {"plan": {"epsilon": 4, "delta": 1e-5, "local": 12}, "window": {"epsilon": 8}, "period": "720h"}
//	}
//
// A file that is missing or wrong is an error: who meant to forbid something
// must not be taken to have allowed it.
func ReadPolicy(path string) (Policy, error) {
	file, err := os.Open(path)
	if err != nil {
		return Policy{}, fmt.Errorf("client: the policy: %w", err)
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxPolicy+1))
	if err != nil {
		return Policy{}, fmt.Errorf("client: the policy: %w", err)
	}
	p, err := parsePolicy(text)
	if err != nil {
		return Policy{}, fmt.Errorf("client: the policy in %s: %w", path, err)
	}
	return p, nil
}

func parsePolicy(text []byte) (Policy, error) {
	if len(text) > maxPolicy {
		return Policy{}, fmt.Errorf("more than %d bytes", maxPolicy)
	}
	var form struct {
		Off        bool `json:"off"`
		Publishers struct {
			Allow []string `json:"allow"`
			Deny  []string `json:"deny"`
		} `json:"publishers"`
		Operators struct {
			Deny []string `json:"deny"`
		} `json:"operators"`
		Caps *struct {
			Plan   Cap    `json:"plan"`
			Window Cap    `json:"window"`
			Period string `json:"period"`
		} `json:"caps"`
	}
	if err := uniqueKeys(json.NewDecoder(bytes.NewReader(text))); err != nil {
		return Policy{}, err
	}
	if err := strict(text, &form); err != nil {
		return Policy{}, err
	}
	var p Policy
	p.Off = form.Off
	p.Publishers.Allow, p.Publishers.Deny = form.Publishers.Allow, form.Publishers.Deny
	p.Operators.Deny = form.Operators.Deny
	if form.Caps != nil {
		p.Caps = &Caps{Plan: form.Caps.Plan, Window: form.Caps.Window}
		if form.Caps.Period != "" {
			var err error
			if p.Caps.Period, err = time.ParseDuration(form.Caps.Period); err != nil {
				return Policy{}, errors.New(`caps.period is not a duration such as "720h"`)
			}
		}
		if err := p.Caps.validate(); err != nil {
			return Policy{}, err
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

// validate refuses caps that would not do what they seem to.
func (c Caps) validate() error {
	for _, x := range []float64{c.Plan.Epsilon, c.Plan.Delta, c.Plan.Local, c.Window.Epsilon, c.Window.Delta, c.Window.Local} {
		if !(x >= 0) {
			return errors.New("a cap is negative")
		}
	}
	if c.Window != (Cap{}) && c.Period <= 0 {
		return errors.New("a cap on a window needs the window's period")
	}
	return nil
}

// permits says why the administrator does not allow a plan of the publisher, and
// which instances are left.
func (p Policy) permits(signed plan.Signed) (instances []int, err error) {
	if p.Off {
		return nil, ErrOff
	}
	denied := func(key string) bool { return slices.Contains(p.Publishers.Deny, key) }
	allowed := func(key string) bool { return slices.Contains(p.Publishers.Allow, key) }
	if signers := signed.Signers(); slices.ContainsFunc(signers, denied) || len(p.Publishers.Allow) > 0 && !slices.ContainsFunc(signers, allowed) {
		return nil, fmt.Errorf("client: refused: the device's policy does not allow plans of %s", strings.Join(signers, " and "))
	}
	ways := signed.Plan.Route.Ways()
	for i, parties := range ways {
		if !slices.ContainsFunc(parties, func(h plan.Party) bool { return slices.Contains(p.Operators.Deny, h.Operator) }) {
			instances = append(instances, i)
		}
	}
	if len(instances) == 0 || signed.Plan.Route.Spreads() && len(instances) < len(ways) {
		return nil, errors.New("client: refused: the device's policy denies an operator that every report of this plan goes through")
	}
	return instances, nil
}

// Consent records that the respondent opts in or out. A device starts opted out.
// Opting out drops everything that has not left the device; what was spent stays
// in the ledger.
func Consent(dir string, in bool) error {
	f, err := openFolder(dir)
	if err != nil {
		return err
	}
	unlock, err := f.lock()
	if err != nil {
		return err
	}
	defer unlock()
	return f.consent(in, time.Now())
}

func (f folder) consent(in bool, now time.Time) error {
	if err := f.makeLedger(); err != nil {
		return err
	}
	l, err := f.readLedger()
	if err != nil {
		return err
	}
	if in != l.OptedIn || l.Since.IsZero() {
		if err := f.append(l, record{Kind: kindConsent, At: now, OptedIn: in}); err != nil {
			return err
		}
	}
	if in {
		return nil
	}
	for _, e := range l.Entries {
		for _, p := range e.Parts {
			if p.State == Waiting {
				if err := f.drop(l, now, e.Plan, p.Instance, "the respondent opted out"); err != nil {
					return err
				}
			}
		}
	}
	_, err = f.sweep(l, now)
	return err
}
