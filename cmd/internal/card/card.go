// Package card reads and writes party cards: what others need to name a party in a plan and to reach it, signed by
// the party's own key. Used by cmd/internal/server/party, which makes cards, and by
// cmd/confetti/internal/plan/draft, which takes parties from them.
package card

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/internal/keyfile/keytext"
	"github.com/confetti-dp/confetti/internal/strictjson"
	"github.com/confetti-dp/confetti/internal/wire/relay"
	"github.com/confetti-dp/confetti/plan"
)

const (
	format  = "confetti-card/v1"
	signing = "confetti/card/v1\n" // goes before what is signed
	pairing = "confetti/pair/v1\n" // goes before what is sealed to a helper

	// maxBytes bounds the text of a card.
	maxBytes = 64 << 10
)

var base64url = base64.RawURLEncoding.Strict()

// The roles that a card may name.
const (
	Shuffler  = "shuffler"
	Leader    = "leader"
	Helper    = "helper"
	Analyzer  = "analyzer"
	Issuer    = "issuer"
	Publisher = "publisher"
)

// roles lists what a card may name.
var roles = []string{Shuffler, Leader, Helper, Analyzer, Issuer, Publisher}

// Card is what a party says of itself.
type Card struct {
	Name    string `json:"name"`
	Role    string `json:"role"`
	URL     string `json:"url,omitempty"` // where its service listens; a publisher has none
	Contact string `json:"contact"`
	// Opens is the public key that opens envelopes and shares, of all but an issuer and a publisher.
	Opens string `json:"opens,omitempty"`
	// Signs is the Ed25519 public key of the card, and of what the party signs otherwise: receipts
	// of a hop or an aggregator, releases of an analyzer, plans of a publisher.
	Signs  string   `json:"signs"`
	Tokens []string `json:"tokens,omitempty"` // an issuer's public keys of tokens: one for each hop that demands them
	// Certificate is the one that the service shows, in DER. Who trusts it trusts this service and
	// no other. Without it the service's authority is one that systems know.
	Certificate []byte `json:"certificate,omitempty"`
	Pair        *Pair  `json:"pair,omitempty"` // of a leader
	// Relay is who hides devices' addresses from the party, of one to whom devices send something.
	Relay *plan.Relay `json:"relay,omitempty"`
	File  string      `json:"-"` // where Read has it from
}

// Pair is the secret of two aggregators as their leader gives it to the helper.
type Pair struct {
	Helper string `json:"helper"` // the public key that opens it
	Key    []byte `json:"key"`    // of this one message: HPKE's enc
	Secret []byte `json:"secret"`
}

// signed is a card as it travels.
type signed struct {
	Format    string `json:"format"`
	Card      Card   `json:"card"`
	Signature string `json:"signature"`
}

func canonical(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic("card: " + err.Error()) // strings and bytes always encode
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// message returns what the signature is of.
func (c Card) message() []byte { return append([]byte(signing), canonical(c)...) }

// Sign returns the text of a valid card, signed by the key that it names.
func (c Card) Sign(key relay.SignKey) ([]byte, error) {
	if c.Signs = key.Public().String(); c.Signs == "" {
		return nil, errors.New("card: there is no key to sign it with")
	}
	if err := c.validate(); err != nil {
		return nil, err
	}
	text := append(canonical(signed{format, c, base64url.EncodeToString(key.Sign(c.message()))}), '\n')
	if len(text) > maxBytes {
		return nil, fmt.Errorf("card: longer than %d bytes", maxBytes)
	}
	return text, nil
}

// Read reads a card from a file, and checks it. Errors begin with the path.
func Read(path string) (Card, error) {
	f, err := os.Open(path)
	if err != nil {
		return Card{}, fmt.Errorf("card: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxBytes+1))
	if err != nil {
		return Card{}, fmt.Errorf("card: %w", err)
	}
	c, err := parse(text)
	if err != nil {
		return Card{}, fmt.Errorf("%s: %w", path, err)
	}
	c.File = path
	return c, nil
}

// parse reads what Sign wrote: the signature, the form, and what a card may say. It does not know
// whose the card is: that is for people, who compare the ID with its sender.
func parse(text []byte) (Card, error) {
	if len(text) > maxBytes {
		return Card{}, fmt.Errorf("card: longer than %d bytes: this is no party card", maxBytes)
	}
	var s signed
	if err := strictjson.JSON(text, &s); err != nil {
		return Card{}, fmt.Errorf("card: not a party card: %w: ask for it anew (confetti party card)", err)
	}
	if s.Format != format {
		return Card{}, fmt.Errorf("card: not a party card: the format is not %q", format)
	}
	if s.Signature == "" {
		return Card{}, errors.New("card: nobody has signed it: ask for it anew (confetti party card)")
	}
	key, err := relay.ParseVerifyKey(s.Card.Signs)
	if err != nil {
		return Card{}, fmt.Errorf("card: signs: %w", err)
	}
	signature, err := base64url.DecodeString(s.Signature)
	if err != nil || len(signature) != ed25519.SignatureSize || !key.Verify(s.Card.message(), signature) {
		return Card{}, errors.New("card: the signature is not of this card by its own key: it was changed on its way: ask for it anew (confetti party card)")
	}
	if err := s.Card.validate(); err != nil {
		return Card{}, err
	}
	if !bytes.Equal(append(canonical(s), '\n'), text) {
		return Card{}, errors.New("card: not in its one form: ask for it anew (confetti party card)")
	}
	return s.Card, nil
}

// ID returns the short name of the party's signing key, which people compare.
func (c Card) ID() string { return keytext.ID(c.Signs) }

// SealPair gives a leader's card the secret that it shares with the helper of another card.
func (c *Card) SealPair(helper Card, secret []byte) error {
	if helper.Role != Helper {
		return fmt.Errorf("%s is the card of a %s, and not of a helper", helper.File, helper.Role)
	}
	key, err := envelope.ParsePublicKey(helper.Opens)
	if err != nil {
		return err
	}
	enc, sealed, err := key.SealBase([]byte(pairing), []byte(helper.Opens), secret)
	if err == nil {
		c.Pair = &Pair{helper.Opens, enc, sealed}
	}
	return err
}

// OpenPair returns the secret that a leader's card has for whose key it was sealed to; ok is false
// where that is none of the keys.
func (c Card) OpenPair(keys map[string]envelope.PrivateKey) (secret []byte, ok bool, err error) {
	if c.Pair == nil {
		return nil, false, nil
	}
	key, ours := keys[c.Pair.Helper]
	if !ours {
		return nil, false, nil
	}
	if secret, err = key.OpenBase([]byte(pairing), []byte(c.Pair.Helper), c.Pair.Key, c.Pair.Secret); err != nil {
		return nil, true, fmt.Errorf("%s: the secret of the pair does not open: have the leader write its card anew", c.File)
	}
	return secret, true, nil
}

// Of returns the cards of a role, in their order.
func Of(cards []Card, role string) []Card {
	return slices.DeleteFunc(slices.Clone(cards), func(c Card) bool { return c.Role != role })
}
