package plan

import (
	"bytes"
	"crypto/ed25519"
	"fmt"
	"slices"
	"strings"
)

// maxSignatures bounds the signatures of a plan.
const maxSignatures = 8

// What is signed travels as a JSON object in which the signatures come first:
//
//	{"publisher":"KEY","signature":"SIGNATURE","plan":{...}}
//	{"signatures":[{"publisher":"KEY","signature":"SIGNATURE"},{...}],"plan":{...}}
//
// The first is the form of one signature, the second of several, in the order of
// their keys. Keys and signatures have one length, so that a stranger's text is
// compared at known places and never searched.
const (
	oneBegins    = `{"publisher":`
	severalBegin = `{"signatures":[`
	entryForm    = `{"publisher":"%s","signature":"%s"}`
)

var (
	keyLength       = len(Publisher(make([]byte, ed25519.PublicKeySize)))
	signatureLength = base64url.EncodedLen(ed25519.SignatureSize)

	// entryLength is that of one signature with its braces.
	entryLength = len(fmt.Sprintf(entryForm, "", "")) + keyLength + signatureLength

	// MaxHeadBytes bounds the length of what stands before a plan.
	MaxHeadBytes = len(severalBegin) + maxSignatures*(entryLength+1) + len(`,"plan":`)
)

// appendHead writes what stands before the named member.
func appendHead(b []byte, all []Signature, member string) []byte {
	entry := func(b []byte, s Signature) []byte {
		return fmt.Appendf(b, entryForm, s.Publisher, base64url.EncodeToString(s.Signature))
	}
	if len(all) == 1 {
		b = entry(b, all[0])
		b = b[:len(b)-1]
	} else {
		b = append(b, severalBegin...)
		for i, s := range all {
			if i > 0 {
				b = append(b, ',')
			}
			b = entry(b, s)
		}
		b = append(b, ']')
	}
	return fmt.Appendf(b, `,"%s":`, member)
}

// readHead reads at most so many signatures and returns what stands after the name of
// the member. name is what the whole text is, for errors.
func readHead(text []byte, member, name string, most int) (all []Signature, rest []byte, err error) {
	wrong := fmt.Errorf("plan: not a %s, which is a JSON object of signatures and %s in its one form", name, member)
	// Whoever writes it otherwise is told where: by hand, or an earlier program.
	departs := func(all []Signature) error {
		want := appendHead(nil, all, member)
		return fmt.Errorf("%w: %s: have the publisher write it anew", wrong, difference(text[:min(len(text), len(want))], want))
	}
	body, several := bytes.CutPrefix(text, []byte(severalBegin))
	if !several {
		if len(text) < entryLength {
			return nil, nil, wrong
		}
		one, ok := readEntry(append(slices.Clip(text[:entryLength-1]), '}'))
		if !ok {
			return nil, nil, wrong
		}
		rest, ok := bytes.CutPrefix(text[entryLength-1:], []byte(`,"`+member+`":`))
		if !ok {
			return nil, nil, departs([]Signature{one})
		}
		return []Signature{one}, rest, nil
	}
	for {
		if len(body) <= entryLength {
			return nil, nil, wrong
		}
		one, ok := readEntry(body[:entryLength])
		if !ok {
			return nil, nil, wrong
		}
		if len(all) > 0 && strings.Compare(all[len(all)-1].Publisher, one.Publisher) >= 0 {
			return nil, nil, fmt.Errorf("%w: a publisher signs once, and signatures stand in the order of their publishers", wrong)
		}
		if all = append(all, one); len(all) > most {
			return nil, nil, fmt.Errorf("%w: more than %d signatures", wrong, most)
		}
		next := body[entryLength]
		body = body[entryLength+1:]
		if next == ',' {
			continue
		}
		rest, ok := bytes.CutPrefix(body, []byte(`,"`+member+`":`))
		if next != ']' || !ok {
			return nil, nil, departs(all)
		}
		if len(all) == 1 {
			return nil, nil, fmt.Errorf("%w: one signature is not written as a list", wrong)
		}
		return all, rest, nil
	}
}

// readEntry reads one signature with its braces, which has one length.
func readEntry(text []byte) (s Signature, ok bool) {
	const before, between = `{"publisher":"`, `","signature":"`
	key := text[len(before) : len(before)+keyLength]
	encoded := text[len(before)+keyLength+len(between):]
	signature, err := base64url.AppendDecode(nil, encoded[:signatureLength])
	if err != nil {
		return Signature{}, false
	}
	s = Signature{string(key), signature}
	if _, ok := parsePublisher(s.Publisher); !ok {
		return Signature{}, false
	}
	return s, bytes.Equal(text, fmt.Appendf(nil, entryForm, s.Publisher, base64url.EncodeToString(s.Signature)))
}
