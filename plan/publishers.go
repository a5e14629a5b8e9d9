package plan

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Publishers says whose plans a party takes. Every party, a device as much as a
// service, decides by it and by nothing else.
//
// When a signature was made nobody can know, so what counts are a plan's times: a key
// vouches for the plans that close before its end. A plan that stands does not fall
// because time passes. It falls when the key is taken out, or revoked as of a date
// before the plan closes.
type Publishers struct {
	Keys []PublisherKey
	// Least is how many of them must have signed a plan; 0 is 1. Whoever has stolen
	// fewer keys can have no plan taken. The plan may ask for more.
	Least int
	// Log is where a plan must stand before it is taken. It is asked when a plan comes.
	Log Log
}

// PublisherKey is one publisher's public key and how long it is good.
type PublisherKey struct {
	Key     string    // ed25519:base64url
	Ends    time.Time // the last moment at which a plan of this key may close; zero: it has no end
	Revoked time.Time // likewise, because the key was lost or stolen then; zero: it was not
}

// Trust returns publishers of these public keys, without an end, any of whom is enough.
func Trust(keys ...string) Publishers {
	var p Publishers
	for _, k := range keys {
		p.Keys = append(p.Keys, PublisherKey{Key: k})
	}
	return p
}

// Find returns the key with that text.
func (p Publishers) Find(key string) (PublisherKey, bool) {
	i := slices.IndexFunc(p.Keys, func(k PublisherKey) bool { return k.Key == key })
	if i < 0 {
		return PublisherKey{}, false
	}
	return p.Keys[i], true
}

// Know reports that too few of the signers are among the publishers. It is what can be
// asked before anything of a plan is read.
func (p Publishers) Know(signers []string) error {
	return p.enough(signers, p.Least, func(PublisherKey) string { return "" })
}

// Stands reports that too few of those who signed the plan are among the publishers
// with keys that are good for it, or fewer than the plan asks for. It does not look at
// the signatures themselves: see Signed.Verify.
func (p Publishers) Stands(s Signed) error {
	closes := s.vouched()
	return p.enough(s.Signers(), max(p.Least, s.Plan.Signatures), func(k PublisherKey) string {
		for _, until := range []struct {
			at   time.Time
			what string
		}{{k.Revoked, "revoked as of"}, {k.Ends, "good until"}} {
			switch {
			case until.at.IsZero():
			case closes.IsZero():
				return fmt.Sprintf("whose key is %s %s, and the plan does not say when it closes", until.what, until.at.UTC().Format(time.RFC3339))
			case closes.After(until.at):
				return fmt.Sprintf("whose key is %s %s, and the plan closes at %s", until.what, until.at.UTC().Format(time.RFC3339), closes.UTC().Format(time.RFC3339))
			}
		}
		return ""
	})
}

// Admit says what Stands says, of a plan that comes now and was not here before: a key that has
// ended or was revoked vouches for nothing new, and nothing new is collected under an
// earlier version.
func (p Publishers) Admit(s Signed, now time.Time) error {
	if err := cmp.Or(p.Stands(s), s.Plan.Collected()); err != nil {
		return err
	}
	return p.enough(s.Signers(), max(p.Least, s.Plan.Signatures), func(k PublisherKey) string {
		for _, until := range []time.Time{k.Revoked, k.Ends} {
			if !until.IsZero() && !now.Before(until) {
				return "whose key vouches for nothing new since " + until.UTC().Format(time.RFC3339)
			}
		}
		return ""
	})
}

// enough reports that fewer than least of the signers are different keys of the
// publishers of whom wrong has nothing to say.
func (p Publishers) enough(signers []string, least int, wrong func(PublisherKey) string) error {
	var good, bad []string
	for _, s := range signers {
		why := "whom nobody here trusts: name its key among the trusted publishers if it should be"
		if k, known := p.Find(s); known {
			why = wrong(k)
		}
		switch {
		case why != "":
			bad = append(bad, fmt.Sprintf("signed by %s, %s", s, why))
		case !slices.Contains(good, s):
			good = append(good, s)
		}
	}
	least = cmp.Or(least, 1)
	if len(good) >= least {
		return nil
	}
	if least > 1 {
		bad = append([]string{fmt.Sprintf("it needs the signatures of %d publishers who are trusted here, and has %d", least, len(good))}, bad...)
	}
	return untrusted("plan: " + strings.Join(bad, "; "))
}

// ErrUntrusted is what errors are that say that too few trusted publishers have signed.
var ErrUntrusted = errors.New("plan: too few trusted publishers have signed it")

// untrusted says who is not trusted, and why.
type untrusted string

// Error says it.
func (u untrusted) Error() string { return string(u) }

// Is reports that it is ErrUntrusted.
func (u untrusted) Is(target error) bool { return target == ErrUntrusted }

// A file of publishers has a first line
//
//	confetti-publishers/v1
//
// then, where more than one signature is needed, how many,
//
//	signatures 2
//
// and a line for each key, with an end and a date of revocation if it has them:
//
//	ed25519:KEY
//	ed25519:KEY ends 2027-06-01T00:00:00Z
//	ed25519:KEY ends 2027-06-01T00:00:00Z revoked 2026-11-22T00:00:00Z
//
// Where plans must stand in a public log (see Log) there are a line for the log, then one for
// each of its witnesses, and one for how many of those are needed, unless all are:
//
//	log NAME+HASH+KEY
//	witness NAME+HASH+KEY
//	witnesses 2
//
// Words are set apart by one space, times are RFC 3339 in UTC and whole seconds.
// Lines that are empty or begin with # are passed over.
const (
	publishersFormat = "confetti-publishers/v1"

	// maxPublishersBytes bounds the text of a file of publishers, maxPublishers the
	// keys in it.
	maxPublishersBytes = 64 << 10
	maxPublishers      = 256
)

// ReadPublishers reads a file of publishers. Errors begin with the path.
func ReadPublishers(path string) (Publishers, error) {
	f, err := os.Open(path)
	if err != nil {
		return Publishers{}, fmt.Errorf("plan: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxPublishersBytes+1))
	if err != nil {
		return Publishers{}, fmt.Errorf("plan: %w", err)
	}
	p, err := ParsePublishers(text)
	if err != nil {
		return Publishers{}, fmt.Errorf("%s: %w", path, err)
	}
	return p, nil
}

// ParsePublishers reads the text of such a file, strictly.
func ParsePublishers(text []byte) (Publishers, error) {
	if len(text) > maxPublishersBytes {
		return Publishers{}, fmt.Errorf("plan: publishers: more than %d bytes", maxPublishersBytes)
	}
	var p Publishers
	line, signatures := 0, false
	for row := range bytes.Lines(text) {
		line++
		one := strings.TrimSuffix(strings.TrimSuffix(string(row), "\n"), "\r")
		fault := func(format string, a ...any) (Publishers, error) {
			return Publishers{}, fmt.Errorf("plan: publishers: line %d %s", line, fmt.Sprintf(format, a...))
		}
		switch {
		case line == 1 && one != publishersFormat:
			return fault("is not %q", publishersFormat)
		case line == 1 || one == "" || one[0] == '#':
			continue
		}
		if number, is := strings.CutPrefix(one, "signatures "); is {
			n, err := strconv.Atoi(number)
			if err != nil || n < 1 || n > maxSignatures || strconv.Itoa(n) != number {
				return fault("does not say how many signatures are needed, 1 to %d", maxSignatures)
			}
			if signatures || len(p.Keys) > 0 {
				return fault("says how many signatures are needed, which is said once and before the keys")
			}
			p.Least, signatures = n, true
			continue
		}
		if ours, err := p.Log.line(one); err != nil {
			return fault("%v", err)
		} else if ours {
			continue
		}
		k, err := parsePublisherKey(one)
		if err != nil {
			return fault("%v", err)
		}
		if _, twice := p.Find(k.Key); twice {
			return fault("has the key of an earlier one")
		}
		if p.Keys = append(p.Keys, k); len(p.Keys) > maxPublishers {
			return fault("is one key too many: %d fit", maxPublishers)
		}
	}
	switch {
	case line == 0:
		return Publishers{}, fmt.Errorf("plan: publishers: empty: the first line is %q", publishersFormat)
	case p.Log.Least > len(p.Log.Witnesses), p.Log.Key == "" && len(p.Log.Witnesses) > 0:
		return Publishers{}, fmt.Errorf("plan: publishers: %d witnesses of the log %q, and %d are needed", len(p.Log.Witnesses), p.Log.Key, p.Log.Cosigned())
	case len(p.Keys) < max(p.Least, 1):
		return Publishers{}, fmt.Errorf("plan: publishers: %d keys, and %d signatures are needed: nobody's plan could be taken", len(p.Keys), max(p.Least, 1))
	}
	return p, nil
}

func parsePublisherKey(line string) (PublisherKey, error) {
	words := strings.Split(line, " ")
	k := PublisherKey{Key: words[0]}
	if _, ok := parsePublisher(k.Key); !ok {
		return k, errors.New("does not begin with a public key in the form ed25519:base64url")
	}
	words = words[1:]
	for _, date := range []struct {
		word string
		at   *time.Time
	}{{"ends", &k.Ends}, {"revoked", &k.Revoked}} {
		if len(words) < 2 || words[0] != date.word {
			continue
		}
		at, err := parseSecond(words[1])
		if err != nil {
			return k, fmt.Errorf("has after %q %v", date.word, err)
		}
		*date.at, words = at, words[2:]
	}
	if len(words) > 0 {
		return k, errors.New(`goes on after the key with more than "ends TIME" and "revoked TIME", in this order and one space apart`)
	}
	return k, nil
}

// parseSecond reads a time of whole seconds in UTC in its one form.
func parseSecond(text string) (time.Time, error) {
	at, err := time.Parse(time.RFC3339, text)
	if err != nil || at.IsZero() || at.UTC().Format(time.RFC3339) != text {
		return time.Time{}, errors.New("no time such as 2027-06-01T00:00:00Z")
	}
	return at.UTC(), nil
}

// String returns the key's line in a file of publishers.
func (k PublisherKey) String() string {
	line := k.Key
	if !k.Ends.IsZero() {
		line += " ends " + k.Ends.UTC().Format(time.RFC3339)
	}
	if !k.Revoked.IsZero() {
		line += " revoked " + k.Revoked.UTC().Format(time.RFC3339)
	}
	return line
}

// Marshal writes a file of publishers.
func (p Publishers) Marshal() []byte {
	b := []byte(publishersFormat + "\n")
	if p.Least > 0 {
		b = fmt.Appendf(b, "signatures %d\n", p.Least)
	}
	b = p.Log.appendLines(b)
	for _, k := range p.Keys {
		b = fmt.Appendln(b, k)
	}
	return b
}
