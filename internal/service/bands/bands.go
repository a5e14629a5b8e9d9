// Package bands tells a receiver when the newest round of a metric surely left a band that an operator declared.
// Used by cmd/internal/server/roles, for the console.
package bands

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/confetti-dp/confetti/internal/keyfile/partykey"
	"github.com/confetti-dp/confetti/internal/release/numerals"
	"github.com/confetti-dp/confetti/internal/release/trend"
	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/wire/relay"
)

// config is what an operator declares in a file.
type config struct {
	URL   string     `toml:"url"`
	Key   serve.Path `toml:"key"`   // that signs what is sent
	Roots serve.Path `toml:"roots"` // the receiver's authorities; "": the system's
	Bands []band     `toml:"band"`
}

// band is where the share of a value is expected to be.
type band struct {
	Title  string  `toml:"title"` // of the study, and of its seasons
	Metric string  `toml:"metric"`
	Crowd  string  `toml:"crowd"` // "": the plan has one
	Value  string  `toml:"value"`
	Low    float64 `toml:"low"` // shares, from 0 to 1
	High   float64 `toml:"high"`
}

// mostBands bounds a file, and so what is read at a step.
const mostBands = 200

// read reads the file and the key that it names, and refuses what cannot be, by name.
func read(path string) (c config, key relay.SignKey, err error) {
	if err = serve.ReadConfig(path, &c); err != nil {
		return c, key, err
	}
	errs := []error{c.address()}
	if len(c.Bands) == 0 || len(c.Bands) > mostBands {
		errs = append(errs, fmt.Errorf("%d bands: declare 1 to %d, each as [[band]]", len(c.Bands), mostBands))
	}
	for i, b := range c.Bands {
		name := fmt.Sprintf("band %d (%s, %s)", i+1, b.Metric, b.Value)
		if b.Title == "" || b.Metric == "" || b.Value == "" {
			errs = append(errs, fmt.Errorf("%s: name the title of the study, the metric and the value", name))
		}
		if !(b.Low >= 0 && b.Low <= b.High && b.High <= 1) {
			errs = append(errs, fmt.Errorf("%s: its band is %v to %v: give two shares from 0 to 1, the lower one first", name, b.Low, b.High))
		}
	}
	if key, _, err = partykey.ReadSigning(string(c.Key)); err != nil {
		errs = append(errs, fmt.Errorf("key: %w", err))
	}
	if err := errors.Join(errs...); err != nil {
		return c, key, fmt.Errorf("%s: %w", path, err)
	}
	return c, key, nil
}

// address refuses a URL that what is sent could be read or changed on the way to.
func (c config) address() error {
	at, err := url.Parse(c.URL)
	switch {
	case err != nil || at.Host == "":
		return fmt.Errorf("url %q is no address such as https://hooks.example/confetti", c.URL)
	case at.User != nil || at.Fragment != "":
		return errors.New("url has a name, a password or a fragment: leave them out, since what is sent is signed") // and is not printed
	case at.Scheme != "https" && !(at.Scheme == "http" && serve.Local(at.Hostname())):
		return fmt.Errorf("url %q is not over TLS: give https, or http on this machine alone", c.URL)
	}
	return nil
}

// Message is what a receiver gets, as JSON: numbers of a release and what was declared, and nothing else.
type Message struct {
	ID     string     `json:"id"` // the same however often it comes
	At     time.Time  `json:"at"`
	Title  string     `json:"title"`
	Metric string     `json:"metric"`
	Crowd  string     `json:"crowd,omitempty"`
	Value  string     `json:"value"`
	Round  int        `json:"round"`
	Plan   string     `json:"plan"` // of the release that it is of
	Low    float64    `json:"low"`  // the share of those who answered: its interval
	High   float64    `json:"high"`
	Band   [2]float64 `json:"band"`
	Says   string     `json:"says"`
}

// level is the probability with which no round of a year calls of a share that stayed in its band.
const level = 0.95

// judge returns the message of a band that the newest round surely left: the whole interval lies outside.
func (b band) judge(of trend.Told, now time.Time) (m Message, left bool) {
	low, high, ok := of.Round.Far(b.Metric, b.Crowd, b.Value, level)
	if !ok || low <= b.High && high >= b.Low {
		return m, false
	}
	m = Message{At: now.UTC().Truncate(time.Second), Title: b.Title, Metric: b.Metric, Crowd: b.Crowd, Value: b.Value, Round: of.Round.Number, Plan: of.Plan, Low: low, High: high, Band: [2]float64{b.Low, b.High}}
	is := "above"
	if high < b.Low {
		is = "below"
	}
	m.Says = fmt.Sprintf("%s: “%s” is %s %% of those who answered round %d, surely %s the band of %s %%.", m.Metric, m.Value, between(low, high), m.Round, is, between(b.Low, b.High))
	sum := sha256.Sum256(fmt.Appendf(nil, "%q", []any{b, of.Plan}))
	m.ID = hex.EncodeToString(sum[:16])
	return m, true
}

func between(low, high float64) string {
	return numerals.FormatDecimals(100*low, 1) + " to " + numerals.FormatDecimals(100*high, 1)
}

// domain begins what is signed.
const domain = "confetti/band/v1\n"

// signatureHeader has the signature: Ed25519 over domain and body, as a key's text is written.
const signatureHeader = "Confetti-Signature"
