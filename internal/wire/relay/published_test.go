package relay

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/internal/testkit/costlimit"
	"github.com/confetti-dp/confetti/plan"
)

// published is a plan of one instance with two hops, of which the second demands
// tokens, and receipts of a batch of twelve respondents with four envelopes each: a copy
// is lost at the entry, and two envelopes do not open at the analyzer.
func published(t testing.TB) (plan.Plan, Receipts) {
	t.Helper()
	p := plan.Plan{
		Version: plan.Version, Title: "t",
		Question:  plan.Question{Kind: "histogram", Unfit: plan.UnfitReference, Histogram: &plan.Histogram{Attributes: []plan.Attribute{{Name: "a", Kind: "categories", Size: 2}}}},
		Crowd:     plan.Crowd{Minimum: 10},
		Envelopes: plan.Envelopes{PerDevice: 4},
		Route: plan.Route{Kind: "mix", Mix: &plan.Mix{Instances: []plan.Instance{{Hops: []plan.Party{
			{Operator: "one", Receipts: signer(1).Public().String()},
			{Operator: "two", Receipts: signer(2).Public().String(), Tokens: "rsa2048:x"},
		}}}}},
	}
	first := Receipt{Plan: p.Hash(), Respondents: 12, In: 48, Out: 47, Duplicates: 1, BatchOut: sha256.Sum256([]byte("mixed once"))}
	one := first.Sign(signer(1))
	second := Receipt{Plan: p.Hash(), Hop: 1, Respondents: 12, Tokens: 11, In: 47, Out: 47, BatchIn: first.BatchOut, BatchOut: sha256.Sum256([]byte("mixed twice")), Previous: one.Hash()}
	return p, Receipts{Format: ReceiptsFormat, Plan: p.Name(), Files: map[string]string{"json": strings.Repeat("0", 64)}, Batches: []BatchReceipts{{
		SHA256: hex.EncodeToString(second.BatchOut[:]), Whole: 11, Dropped: 2, Receipts: [][]byte{one.Bytes(), second.Sign(signer(2)).Bytes()},
	}}}
}

func TestPublishedReceiptsBearABatchOut(t *testing.T) {
	p, r := published(t)
	text, err := r.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	read, err := ParseReceipts(text)
	if err != nil {
		t.Fatal(err)
	}
	all, err := read.Check(p)
	if want := (Vouched{Respondents: 12, Hops: 2, Whole: 11, Lost: 3}); err != nil || len(all) != 1 || all[0] != want {
		t.Errorf("%+v, %v", all, err)
	}
}

// again changes the receipt of a hop and has the hop sign it, with its key or another,
// and those after it follow.
func again(t *testing.T, r *Receipts, hop int, key SignKey, change func(*Receipt)) {
	t.Helper()
	receipts := r.Batches[0].Receipts
	s, err := ParseReceipt(receipts[hop])
	if err != nil {
		t.Fatal(err)
	}
	change(&s.Receipt)
	receipts[hop] = s.Receipt.Sign(key).Bytes()
	if hop == 0 {
		last, err := ParseReceipt(receipts[1])
		if err != nil {
			t.Fatal(err)
		}
		last.Previous = sha256.Sum256(receipts[0])
		receipts[1] = last.Receipt.Sign(signer(2)).Bytes()
	}
}

func TestPublishedReceiptsThatDoNotBearOut(t *testing.T) {
	for want, spoil := range map[string]func(*testing.T, *plan.Plan, *Receipts){
		"another plan":                   func(t *testing.T, p *plan.Plan, r *Receipts) { p.Title = "u" },
		"hop 1: not signed with the key": func(t *testing.T, p *plan.Plan, r *Receipts) { again(t, r, 0, signer(3), func(*Receipt) {}) },
		"hop 2: not signed with the key": func(t *testing.T, p *plan.Plan, r *Receipts) { again(t, r, 1, signer(1), func(*Receipt) {}) },
		"hop 2: another number of respondents": func(t *testing.T, p *plan.Plan, r *Receipts) {
			again(t, r, 1, signer(2), func(c *Receipt) { c.Respondents++ })
		},
		"hop 2: it does not follow": func(t *testing.T, p *plan.Plan, r *Receipts) {
			again(t, r, 1, signer(2), func(c *Receipt) { c.Previous[0]++ })
		},
		"hop 2: the batch that came is not the one": func(t *testing.T, p *plan.Plan, r *Receipts) {
			again(t, r, 1, signer(2), func(c *Receipt) { c.BatchIn[0]++ })
		},
		"hop 2: fewer single-use tokens than the plan's minimum of 10": func(t *testing.T, p *plan.Plan, r *Receipts) {
			again(t, r, 1, signer(2), func(c *Receipt) { c.Tokens = 9 })
		},
		"hop 1: it is of another plan, instance or crowd": func(t *testing.T, p *plan.Plan, r *Receipts) {
			again(t, r, 0, signer(1), func(c *Receipt) { c.Crowd = 1 })
		},
		"fewer respondents than the plan's minimum": func(t *testing.T, p *plan.Plan, r *Receipts) {
			few := func(c *Receipt) { c.Respondents = 9 }
			again(t, r, 1, signer(2), few)
			again(t, r, 0, signer(1), few)
		},
		"is not what the last hop handed on":        func(t *testing.T, p *plan.Plan, r *Receipts) { r.Batches[0].SHA256 = strings.Repeat("0", 64) },
		"more contributions were counted than came": func(t *testing.T, p *plan.Plan, r *Receipts) { r.Batches[0].Whole = 12 },
		"more envelopes did not open than came":     func(t *testing.T, p *plan.Plan, r *Receipts) { r.Batches[0].Dropped = 48 },
		"1 receipts of 2 hops":                      func(t *testing.T, p *plan.Plan, r *Receipts) { r.Batches[0].Receipts = r.Batches[0].Receipts[:1] },
		"a receipt of format version 97":            func(t *testing.T, p *plan.Plan, r *Receipts) { r.Batches[0].Receipts[0] = []byte("abc") },
		"a crowd that the plan has not":             func(t *testing.T, p *plan.Plan, r *Receipts) { r.Batches[0].Crowd = 1 },
		"an instance or a crowd":                    func(t *testing.T, p *plan.Plan, r *Receipts) { r.Batches[0].Instance = -1 },
		"it is there twice":                         func(t *testing.T, p *plan.Plan, r *Receipts) { r.Batches = slices.Repeat(r.Batches, 2) },
	} {
		p, r := published(t)
		spoil(t, &p, &r)
		if _, err := r.Check(p); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
	p, r := published(t)
	p.Route.Mix.Instances[0].Hops[1].Receipts = ""
	r.Plan = p.Name()
	if _, err := r.Check(p); err == nil || !strings.Contains(err.Error(), "no receipt key for the last hop of instance 1") {
		t.Error(err)
	}
}

func TestParseReceiptsRefusesOtherForms(t *testing.T) {
	for _, text := range []string{"", "{}", `{"format":"confetti-receipts/v2"}`, `{"format":"confetti-receipts/v1","values":[1]}`, `{"format":"confetti-receipts/v1"} {}`} {
		if _, err := ParseReceipts([]byte(text)); err == nil {
			t.Errorf("%q was read", text)
		}
	}
}

func FuzzParseReceipts(f *testing.F) {
	p, r := published(f)
	text, err := r.Marshal()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte(`{"format":"confetti-receipts/v1","batches":[{"receipts":["AAAA"]}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		costlimit.Heap(t, costlimit.Factor, len(text), func() {
			r, err := ParseReceipts(text)
			if err != nil {
				return
			}
			if all, err := r.Check(p); err == nil && len(all) > 0 && all[0].Respondents < p.Crowd.Minimum {
				t.Errorf("%s bears out %+v", text, all)
			}
		})
	})
}
