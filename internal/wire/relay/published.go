package relay

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/confetti-dp/confetti/internal/strictjson"
	"github.com/confetti-dp/confetti/plan"
)

// Receipts are published with a release, for whoever wants to check how its batches
// came to the analyzer. They hold numbers of respondents and envelopes and hashes of
// sealed batches, all of which the analyzer has seen, and nothing that anybody said.
type Receipts struct {
	Format  string            `json:"format"`  // ReceiptsFormat
	Plan    string            `json:"plan"`    // hash in hex
	Files   map[string]string `json:"files"`   // SHA-256 in hex of the release in each format, by the end of its name: "json", "html"
	Batches []BatchReceipts   `json:"batches"` // counted, by instance and crowd
}

// BatchReceipts are those of a batch. What the analyzer adds is its word alone.
type BatchReceipts struct {
	Instance int      `json:"instance"` // counted from 0, as crowds
	Crowd    int      `json:"crowd"`
	SHA256   string   `json:"sha256"`   // of the batch, as the analyzer got it, in hex
	Whole    int      `json:"whole"`    // contributions' worth of envelopes that opened
	Dropped  int      `json:"dropped"`  // envelopes that did not, or came twice
	Receipts [][]byte `json:"receipts"` // of each hop, the entry's first: SignedReceipt.Bytes, in base64
}

const (
	// ReceiptsFormat names the form and its version.
	ReceiptsFormat = "confetti-receipts/v1"
	// ReceiptsFile is their file's name, beside a release.
	ReceiptsFile = "receipts.json"
	// MaxReceiptsBytes bounds that file where a log reads it.
	MaxReceiptsBytes = 16 << 20
	// EvidenceFile has, beside a release, the evidence that a public log has its receipts.
	EvidenceFile = "evidence.txt"
	// SignatureFile has, beside a release, its analyzer's signature of what a log has of it.
	SignatureFile = "signature.txt"
	// MaxSignatureBytes bounds that file.
	MaxSignatureBytes = 256
	// WithdrawalFile has, beside a release, the publisher's withdrawal of its plan, where there is one.
	WithdrawalFile = "withdrawal.json"
)

// FileDigest returns what Files has of a text.
func FileDigest(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// Marshal writes the receipts as JSON.
func (r Receipts) Marshal() ([]byte, error) {
	text, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return nil, fmt.Errorf("wire: %w", err)
	}
	return append(text, '\n'), nil
}

// ReleaseOf returns what a log has of the release of a plan with these receipts, and what its
// analyzer signs.
func ReleaseOf(name [32]byte, receipts []byte) plan.Entry {
	return plan.Entry{Kind: plan.ReleaseEntry, Plan: name, Digest: sha256.Sum256(receipts)}
}

// SplitSignedRelease sets the signature of a release apart from the receipts behind it.
func SplitSignedRelease(body []byte) (signature, receipts []byte) {
	at := bytes.IndexByte(body, '{')
	if at < 0 {
		return body, nil
	}
	return body[:at], body[at:]
}

// MaxLogEntriesBytes bounds what a log says of a plan.
const MaxLogEntriesBytes = 64 << 10

// LogEntry is an entry that a log has of a plan.
type LogEntry struct {
	Kind   string `json:"kind"`   // plan, release or withdrawal
	Index  uint64 `json:"index"`  // in the log, from 0
	Digest string `json:"digest"` // of its text, in hex
}

// ParseReceipts reads what Marshal writes. It checks the form and no signature.
func ParseReceipts(text []byte) (Receipts, error) {
	var r Receipts
	if strictjson.JSON(text, &r) != nil || r.Format != ReceiptsFormat {
		return Receipts{}, fmt.Errorf("wire: not the receipts of a release in the format %s", ReceiptsFormat)
	}
	return r, nil
}

// Vouched is a batch that the receipts of all its hops bear out.
type Vouched struct {
	Instance, Crowd int // counted from 0
	Respondents     int
	Hops            int
	Unsigned        int // hops of which the plan names no key, so that nobody vouches for their receipt
	Whole           int // by the analyzer's own account
	Lost            int // envelopes that were handed on by no hop or not counted, copies among them
}

// Check checks the receipts against the plan: who signed, that each follows the one
// before it and that the analyzer counted what the last handed on, and that no batch
// has fewer respondents, or tokens where they are demanded, than the plan's minimum.
func (r Receipts) Check(p plan.Plan) ([]Vouched, error) {
	if r.Plan != p.Name() {
		return nil, errors.New("wire: the receipts are of another plan")
	}
	keys, err := ReceiptKeys(p)
	if err != nil {
		return nil, err
	}
	seen := map[[2]int]bool{}
	var all []Vouched
	for _, b := range r.Batches {
		if b.Instance < 0 || b.Instance >= len(keys) || b.Crowd < 0 || b.Crowd >= p.Crowds() {
			return nil, errors.New("wire: a batch of an instance or a crowd that the plan has not")
		}
		at := func(err error) error {
			return fmt.Errorf("batch of instance %d and crowd %d: %w", b.Instance+1, b.Crowd+1, err)
		}
		if seen[[2]int{b.Instance, b.Crowd}] {
			return nil, at(errors.New("wire: it is there twice"))
		}
		seen[[2]int{b.Instance, b.Crowd}] = true
		one, err := b.check(p, keys[b.Instance])
		if err != nil {
			return nil, at(err)
		}
		all = append(all, one)
	}
	return all, nil
}

func (b BatchReceipts) check(p plan.Plan, keys []VerifyKey) (Vouched, error) {
	hops := p.Route.Ways()[b.Instance]
	v := Vouched{Instance: b.Instance, Crowd: b.Crowd, Hops: len(hops), Whole: b.Whole, Lost: b.Dropped}
	if len(b.Receipts) != len(hops) {
		return v, fmt.Errorf("wire: %d receipts of %d hops", len(b.Receipts), len(hops))
	}
	receipts := make([]SignedReceipt, len(hops))
	for h := range receipts {
		var err error
		if receipts[h], err = ParseReceipt(b.Receipts[h]); err != nil {
			return v, err
		}
	}
	if err := CheckLinks(receipts, keys, p.Hash(), uint16(b.Instance), uint32(b.Crowd)); err != nil {
		return v, err
	}
	last := receipts[len(receipts)-1]
	v.Respondents = int(last.Respondents)
	for h, s := range receipts {
		if keys[h].IsZero() {
			v.Unsigned++
		}
		if hops[h].Tokens != "" && int64(s.Tokens) < int64(p.Crowd.Minimum) {
			return v, fmt.Errorf("wire: receipt of hop %d: fewer single-use tokens than the plan's minimum of %d", h+1, p.Crowd.Minimum)
		}
		v.Lost += int(s.Dropped) + int(s.Duplicates)
	}
	switch {
	case hex.EncodeToString(last.BatchOut[:]) != b.SHA256:
		return v, errors.New("wire: what the analyzer counted is not what the last hop handed on")
	case v.Respondents < p.Crowd.Minimum:
		return v, fmt.Errorf("wire: fewer respondents than the plan's minimum of %d", p.Crowd.Minimum)
	case p.Crowd.Maximum > 0 && v.Respondents > p.Crowd.Maximum:
		return v, fmt.Errorf("wire: more respondents than the plan's maximum of %d", p.Crowd.Maximum)
	case b.Dropped < 0 || int64(b.Dropped) > int64(last.Out):
		return v, errors.New("wire: more envelopes did not open than came")
	case b.Whole < 0 || int64(b.Whole)*int64(p.Envelopes.PerDevice) > int64(last.Out)-int64(b.Dropped):
		return v, errors.New("wire: more contributions were counted than came")
	}
	return v, nil
}

// ReceiptKeys returns the public keys that a plan's hops sign receipts with, by instance
// and hop, or its aggregators, as the hops of one instance; the zero key where the plan names none, which it does not of a last hop.
func ReceiptKeys(p plan.Plan) ([][]VerifyKey, error) {
	var all [][]VerifyKey
	for i, parties := range p.Route.Ways() {
		keys := make([]VerifyKey, len(parties))
		for h, hop := range parties {
			if hop.Receipts == "" {
				continue
			}
			var err error
			if keys[h], err = ParseVerifyKey(hop.Receipts); err != nil {
				return nil, fmt.Errorf("wire: receipt key of hop %d of instance %d: %w", h+1, i+1, err)
			}
		}
		// Whoever knows the analyzer's public key can seal a batch to it.
		if keys[len(keys)-1].IsZero() {
			return nil, fmt.Errorf("wire: the plan names no receipt key for the last hop of instance %d, without which nobody could tell whose batch it is", i+1)
		}
		all = append(all, keys)
	}
	return all, nil
}
