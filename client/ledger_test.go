package client_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"slices"
	"testing"

	"github.com/confetti-dp/confetti/client"
)

// One answer, from its start to the last mark, reads the ledger no second time, and
// what another client has written since is seen.
func TestAnAnswerReadsTheLedgerOnce(t *testing.T) {
	p, _ := sample(t, "rr", 1, 3)
	s := newService(t, &p, false)
	o := device(t, s)
	c := opened(t, p, o)
	read := c.Kept()
	if err := c.Report(t.Context(), value(1)); err != nil {
		t.Fatal(err)
	}
	if read == nil || c.Kept() != read || len(read.Entries) != 1 {
		t.Fatal("the ledger was read again")
	}
	other := p
	other.Title += "?"
	if err := opened(t, other, o).Answer(value(1)); err != nil {
		t.Fatal(err)
	}
	if err := c.Deliver(t.Context()); err != nil || c.Kept() == read || len(c.Kept().Entries) != 2 {
		t.Errorf("%v: what another client wrote was not seen", err)
	}
	if err := client.Consent(o.Store, false); err != nil {
		t.Fatal(err)
	}
	if err := c.Report(t.Context(), value(1)); !errors.Is(err, client.ErrNotOptedIn) {
		t.Errorf("after another had opted out: %v", err)
	}
}

// What an earlier version wrote and could not send goes out, once, and stays charged.
func TestAnAnswerOfAnEarlierVersionIsSent(t *testing.T) {
	for version, rewrite := range map[int]func(*testing.T, map[string]any){1: asVersion1, 2: asVersion2} {
		p, _ := sample(t, "rr", 1, 3)
		s := newService(t, &p, false)
		o := device(t, s)
		if err := opened(t, p, o).Answer(value(1)); err != nil {
			t.Fatal(err)
		}
		before := ledger(t, o).Entries[0]
		earlier(t, ledgerPath(o), version, rewrite)
		if err := os.Remove(ledgerPath(o) + ".end"); err != nil {
			t.Fatal(err)
		}
		if got := ledger(t, o).Entries[0]; got.Charge != before.Charge || len(got.Parts[0].Messages) != 3 {
			t.Fatalf("version %d: read as %+v", version, got)
		}
		c := opened(t, p, o)
		if err := c.Answer(value(0)); !errors.Is(err, client.ErrAnswered) {
			t.Errorf("version %d: a second answer: %v", version, err)
		}
		if err := c.Deliver(t.Context()); err != nil {
			t.Fatal(err)
		}
		if kept, _, _ := s.counts(); kept != 1 || ledger(t, o).Entries[0].Parts[0].Status != client.Sent {
			t.Errorf("version %d: %d contributions, %+v", version, kept, ledger(t, o).Entries)
		}
	}
}

// earlier rewrites a ledger as an earlier version would have written it.
func earlier(t *testing.T, path string, version int, rewrite func(*testing.T, map[string]any)) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.Split(bytes.TrimSuffix(text, []byte("\n")), []byte("\n"))
	old := fmt.Appendf(nil, "confetti-ledger/v%d\n", version)
	for _, line := range lines[2:] { // behind what was compacted
		var r map[string]any
		if err := json.Unmarshal(line[9:], &r); err != nil {
			t.Fatal(err)
		}
		if r["kind"] == "spent" {
			for _, part := range r["spent"].(map[string]any)["parts"].([]any) {
				rewrite(t, part.(map[string]any))
			}
		}
		record, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		old = fmt.Appendf(old, "%08x %s\n", crc32.Checksum(record, crc32.MakeTable(crc32.Castagnoli)), record)
	}
	if err := os.WriteFile(path, old, 0o600); err != nil {
		t.Fatal(err)
	}
}

func asVersion1(t *testing.T, part map[string]any) {
	part["messages"] = each(t, part, 5, func(body []byte) []byte { return body })
	delete(part, "size")
}

func asVersion2(t *testing.T, part map[string]any) {
	size := int(part["size"].(float64))
	part["payloads"] = each(t, part, size-1, func(body []byte) []byte { return append([]byte{1}, body...) })
}

// each takes the bodies of a part, without dummies, and gives them another form.
func each(t *testing.T, part map[string]any, length int, form func(body []byte) []byte) (all []byte) {
	t.Helper()
	bodies, err := base64.StdEncoding.DecodeString(part["bodies"].(string))
	if err != nil || part["dummies"] != nil {
		t.Fatal(err, part)
	}
	for body := range slices.Chunk(bodies, int(part["body"].(float64))) {
		all = append(all, form(append(bytes.Clone(body), make([]byte, length-len(body))...))...)
	}
	delete(part, "body")
	delete(part, "bodies")
	return all
}
