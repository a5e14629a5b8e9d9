package card

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/internal/token"
	"github.com/confetti-dp/confetti/internal/wire/relay"
)

// Limits of what a card says, in bytes but for the tokens.
const (
	maxName        = 100
	maxContact     = 300
	maxURL         = 300
	maxTokens      = 64
	maxCertificate = 8 << 10
	maxPair        = 4 << 10
)

// validate refuses a card that says too much, too little, or something that its role has not.
func (c Card) validate() error {
	if !slices.Contains(roles, c.Role) {
		return fmt.Errorf("card: role is %q: it is one of %s", c.Role, strings.Join(roles, ", "))
	}
	if err := errors.Join(
		line("name", c.Name, maxName), line("contact", c.Contact, maxContact),
		c.validateKeys(), c.validateTokens(), c.validateAddress(), c.validateCertificate(), c.validatePair(), c.validateRelay(),
	); err != nil {
		return fmt.Errorf("card: %w", err)
	}
	return nil
}

// line refuses a text that is not one line which people can read as it is.
func line(what, text string, most int) error {
	if len(text) == 0 || len(text) > most {
		return fmt.Errorf("%s has %d bytes: give 1 to %d", what, len(text), most)
	}
	hidden := func(r rune) bool { return !unicode.IsPrint(r) }
	if !utf8.ValidString(text) || strings.ContainsFunc(text, hidden) || strings.TrimSpace(text) != text {
		return fmt.Errorf("%s is not one line of text without control characters, and without spaces around it", what)
	}
	return nil
}

// opens reports whether the role has a key that opens.
func (c Card) opens() bool { return c.Role != Issuer && c.Role != Publisher }

func (c Card) validateKeys() error {
	if _, err := relay.ParseVerifyKey(c.Signs); err != nil {
		return fmt.Errorf("signs: %w", err)
	}
	if !c.opens() {
		if c.Opens != "" {
			return fmt.Errorf("opens: %s opens nothing: leave it out", withArticle(c.Role))
		}
		return nil
	}
	if _, err := envelope.ParsePublicKey(c.Opens); err != nil {
		return fmt.Errorf("opens: %w", err)
	}
	return nil
}

func (c Card) validateTokens() error {
	if c.Role != Issuer {
		if len(c.Tokens) > 0 {
			return errors.New("tokens: the keys of tokens are an issuer's: leave them out")
		}
		return nil
	}
	if len(c.Tokens) == 0 || len(c.Tokens) > maxTokens {
		return fmt.Errorf("tokens: an issuer has 1 to %d keys of tokens, one for each hop of a plan, and this one %d", maxTokens, len(c.Tokens))
	}
	for i, text := range c.Tokens {
		if _, err := token.ParsePublicKey(text); err != nil {
			return fmt.Errorf("tokens: %w", err)
		}
		if slices.Contains(c.Tokens[:i], text) {
			return errors.New("tokens: one key stands there twice: each hop needs its own")
		}
	}
	return nil
}

func (c Card) validateAddress() error {
	if c.Role == Publisher {
		if c.URL != "" || len(c.Certificate) > 0 {
			return errors.New("url: a publisher runs no service: leave address and certificate out")
		}
		return nil
	}
	u, err := url.Parse(c.URL)
	if err != nil || len(c.URL) > maxURL || u.Scheme != "https" || u.Hostname() == "" || u.User != nil || u.Path != "" || strings.ContainsAny(c.URL, "?#") || c.URL != "https://"+u.Host {
		return errors.New("url is not https://host or https://host:port and nothing more")
	}
	return nil
}

// validateCertificate refuses one that could vouch for somebody else: whoever trusts the card
// would let this party stand in the place of others.
func (c Card) validateCertificate() error {
	if len(c.Certificate) == 0 {
		return nil
	}
	if len(c.Certificate) > maxCertificate {
		return fmt.Errorf("certificate has more than %d bytes", maxCertificate)
	}
	leaf, err := x509.ParseCertificate(c.Certificate)
	if err != nil {
		return errors.New("certificate is none")
	}
	if leaf.IsCA {
		return errors.New("certificate is of an authority, which could vouch for other parties too: name the service's own (confetti party certificate)")
	}
	u, err := url.Parse(c.URL)
	if err != nil || leaf.VerifyHostname(u.Hostname()) != nil {
		return fmt.Errorf("certificate is not for the host of %q", c.URL)
	}
	names := slices.Clone(leaf.DNSNames)
	for _, ip := range leaf.IPAddresses {
		names = append(names, ip.String())
	}
	for _, name := range names {
		if !strings.EqualFold(name, u.Hostname()) {
			return fmt.Errorf("certificate is for %q too, and the card for %q alone: make one of its own (confetti party certificate)", name, u.Hostname())
		}
	}
	return nil
}

func (c Card) validatePair() error {
	if c.Pair == nil {
		return nil
	}
	if c.Role != Leader {
		return errors.New("pair: the secret of two aggregators comes from the leader: leave it out")
	}
	if _, err := envelope.ParsePublicKey(c.Pair.Helper); err != nil {
		return fmt.Errorf("pair: %w", err)
	}
	if len(c.Pair.Key) > maxPair || len(c.Pair.Secret) > maxPair {
		return fmt.Errorf("pair has more than %d bytes", maxPair)
	}
	return nil
}

// visited reports whether devices send the role something.
func visited(role string) bool { return role == Shuffler || role == Leader || role == Issuer }

func (c Card) validateRelay() error {
	if c.Relay == nil {
		return nil
	}
	if !visited(c.Role) {
		return fmt.Errorf("relay: no device sends %s anything: leave it out", withArticle(c.Role))
	}
	if err := errors.Join(line("relay.operator", c.Relay.Operator, maxName), line("relay.url", c.Relay.URL, maxURL)); err != nil {
		return err
	}
	key, err := envelope.ParsePublicKey(c.Relay.Key)
	if err != nil {
		return fmt.Errorf("relay.key: %w", err)
	}
	if err := c.Relay.Of(c.party(), string(key.Suite())); err != nil {
		return fmt.Errorf("relay: %w", err)
	}
	return nil
}

// Fingerprint returns the SHA-256 of the certificate in hex; empty without one.
func (c Card) Fingerprint() string {
	if len(c.Certificate) == 0 {
		return ""
	}
	sum := sha256.Sum256(c.Certificate)
	return hex.EncodeToString(sum[:])
}

// withArticle returns a role as it stands in a sentence.
func withArticle(role string) string {
	if strings.ContainsRune("aeiou", rune(role[0])) {
		return "an " + role
	}
	return "a " + role
}
