package plan

import (
	"bytes"
	"crypto/ed25519"
	"errors"
	"fmt"
)

// The analyzer signs what a log has of a release, Entry, behind releasing. The signature stands in a
// file beside the release, whose digests the receipts have: two signatures of one text are one release.
const releasing = "confetti/release/v1\n"

// releases checks the key that signs releases: the analyzer has one, and nobody else.
func (p Plan) releases(ps *Problems) {
	if p.Version < 3 {
		ps.Require(p.Analyzer.Releases == "", "analyzer.releases is of version 3: a plan of version %d names nobody who signs its releases", p.Version)
	} else {
		_, ok := parsePublisher(p.Analyzer.Releases)
		ps.Require(ok, "analyzer.releases must be the public key that signs releases, in the form ed25519:base64url (confetti keys new --for releases)")
	}
	for _, parties := range p.Route.Ways() {
		for _, party := range parties {
			ps.Require(party.Releases == "", "the route has a key for releases: these are the analyzer's")
			ps.Require(party.Receipts == "" || party.Receipts != p.Analyzer.Releases, "analyzer.releases signs the receipts of a hop too: each needs a key of its own")
		}
	}
}

// SealedOnce reports whether a contribution is sealed once for the entry, round all its envelopes, as it is since
// version 4. Before, each envelope was sealed for the entry by itself.
func (p Plan) SealedOnce() bool { return p.Version >= 4 }

// Collected reports that nothing new is collected under the plan, since its version is an
// earlier one or a party's key opens for everybody. What is under way goes on, and its releases are read for ever.
func (p Plan) Collected() error {
	if p.Version == Version {
		return p.smallKeys()
	}
	lacks := "seals every envelope for the entry by itself"
	if p.Version < 3 {
		lacks = "names nobody who signs its releases"
	}
	return fmt.Errorf("plan: version %d %s, and nothing new is collected under it: have the author write and sign it anew as version %d (confetti plan new); its releases are still read", p.Version, lacks, Version)
}

// Sign signs the entry of a release, as the analyzer whose key the plan names.
func (e Entry) Sign(key ed25519.PrivateKey) []byte {
	return fmt.Appendf(nil, "%s%s\n", releasing, base64url.EncodeToString(ed25519.Sign(key, append([]byte(releasing), e.Marshal()...))))
}

// Verify reports that a text is not the signature of a release's entry by the key that its
// plan names (Plan.Analyzer.Releases).
func (e Entry) Verify(releases string, text []byte) error {
	key, ok := parsePublisher(releases)
	if !ok {
		return errors.New("plan: it names nobody who signs its releases")
	}
	signature, err := parseReleaseSignature(text)
	if err != nil {
		return err
	}
	if e.Kind != ReleaseEntry || !ed25519.Verify(key, append([]byte(releasing), e.Marshal()...), signature) {
		return errors.New("plan: the analyzer that the plan names has signed another release, or its signature was changed")
	}
	return nil
}

// parseReleaseSignature reads what Entry.Sign writes.
func parseReleaseSignature(text []byte) ([]byte, error) {
	wrong := errors.New("plan: not the signature of a release in its one form")
	line, begins := bytes.CutPrefix(text, []byte(releasing))
	line, ends := bytes.CutSuffix(line, []byte("\n"))
	if !begins || !ends || len(line) != signatureLength {
		return nil, wrong
	}
	signature, err := base64url.DecodeString(string(line))
	if err != nil || base64url.EncodeToString(signature) != string(line) { // a line's end within is ignored
		return nil, wrong
	}
	return signature, nil
}
