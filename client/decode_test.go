package client

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/confetti-dp/confetti/client/internal/journal"
	"github.com/confetti-dp/confetti/client/internal/spool"
	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/internal/dp/fragment"
	"github.com/confetti-dp/confetti/internal/rng"
	"github.com/confetti-dp/confetti/internal/strictjson"
	"github.com/confetti-dp/confetti/internal/testkit/costlimit"
	"github.com/confetti-dp/confetti/internal/wire"
)

var someTime = time.Date(2026, 3, 14, 9, 26, 53, 0, time.UTC)

// line is that of a record that can be written.
func line(r record) []byte {
	b, err := r.line()
	if err != nil {
		panic(err)
	}
	return b
}

// empty is a journal without a record, of which nothing was compacted.
func empty() []byte { return journal.Line([]byte(journal.Head), []byte("0 00000000")) }

// story is the journal of a device that opted in, answered, sent, and opted out.
func story() []byte {
	plan := "9f2b1c64d0e7a35b8f417726c3aa90de55b1f0c8e94d276a31b60fd28c7e5a04"
	data := empty()
	for _, r := range []record{
		{Kind: kindConsent, At: someTime, OptedIn: true},
		{Kind: kindSpent, At: someTime, Plan: plan, Backstops: []keptBackstop{{Key: make([]byte, 32), Kept: []byte{1, 2}}}, Spent: &spending{
			Title: "Where do people walk?", Publisher: "ed25519:x", Charge: Charge{Epsilon: 2, Delta: 1e-5, Local: unlimited}, OneMessage: 3, Note: "Labels are not protected.",
			Crowd: 1, CrowdName: "shore", Expires: someTime, Parts: []spokenPart{
				spoken(Packed{Instance: 1, Body: 5, Payloads: [][]byte{{0, 0, 0, 0, 0, 0, 0, 0}, {1, 0, 0, 0, 7, 1, 0, 0}}}), spoken(Packed{Instance: 2, Payloads: [][]byte{make([]byte, 8)}}),
			},
		}},
		{Kind: kindSent, At: someTime, Plan: plan, Instance: 2},
		{Kind: kindDropped, At: someTime, Plan: plan, Instance: 1, Reason: "too late"},
		{Kind: kindConsent, At: someTime},
	} {
		data = journal.Line(data, line(r))
	}
	return data
}

func TestLedgerIsGolden(t *testing.T) {
	want, err := os.ReadFile("testdata/ledger-v4")
	if err != nil {
		t.Fatal(err)
	}
	if got := story(); !bytes.Equal(got, want) {
		t.Errorf("the form of the ledger changed, and devices hold the old one:\n%s", got)
	}
	_, records, good, err := journal.Parse(want)
	if err != nil || good != len(want) {
		t.Fatal(good, err)
	}
	l, err := replay(nil, records)
	if err != nil || l.OptedIn || len(l.Entries) != 1 || l.Entries[0].Waiting() || !bytes.Equal(l.Entries[0].Parts[0].Messages[0], []byte{0, 0, 0, 7, 1}) || len(l.backstops) != 1 {
		t.Errorf("%+v, %v", l, err)
	}
}

// Whatever is packed is packed again byte for byte from what the ledger keeps, which has
// each body once; what an earlier version wrote of it too.
func TestBodiesArePackedAgainAsTheyWere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(2, 20).Draw(t, "size")
		length := rapid.IntRange(1, size-1).Draw(t, "length")
		bodies := rapid.SliceOfN(rapid.SliceOfN(rapid.Byte(), length, length), 0, 40).Draw(t, "bodies")
		p := Packed{Instance: 3, Body: length, Payloads: fragment.Pack(rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1)), bodies, len(bodies)+rapid.IntRange(0, 20).Draw(t, "dummies"), size)}
		if len(p.Payloads) == 0 {
			return
		}
		for version, s := range map[int]spokenPart{3: spoken(p), 2: {Instance: 3, Size: size, Payloads: slices.Concat(p.Payloads...)}} {
			text, err := json.Marshal(s)
			var read spokenPart
			if err != nil || strictjson.JSON(text, &read) != nil {
				t.Fatal(err)
			}
			kept, ok := read.current()
			if !ok || !slices.EqualFunc(kept.payloads(), p.Payloads, bytes.Equal) || len(kept.said()) != len(bodies) {
				t.Fatalf("version %d: %+v reads as %x, not %x", version, s, kept.payloads(), p.Payloads)
			}
			if version == 3 && !slices.EqualFunc(sorted(kept.said()), sorted(bodies), bytes.Equal) {
				t.Errorf("said %x of %x", kept.said(), bodies)
			}
		}
	})
}

func sorted(bodies [][]byte) [][]byte { return slices.SortedFunc(slices.Values(bodies), bytes.Compare) }

// Records that are whole and make no sense are damage too.
func TestReplayRefuses(t *testing.T) {
	plan := "9f2b1c64d0e7a35b8f417726c3aa90de55b1f0c8e94d276a31b60fd28c7e5a04"
	spent := func(change func(*record)) record {
		r := record{Kind: kindSpent, Plan: plan, Spent: &spending{Parts: []spokenPart{{Instance: 0}}}}
		change(&r)
		return r
	}
	part := func(r *record, s spokenPart) { r.Spent.Parts[0] = s }
	good := spent(func(*record) {})
	for name, rs := range map[string][]record{
		"unknown kind":         {{Kind: "gift"}},
		"spent without what":   {{Kind: kindSpent, Plan: plan}},
		"no plan":              {spent(func(r *record) { r.Plan = "" })},
		"no parts":             {spent(func(r *record) { r.Spent.Parts = nil })},
		"twice for one plan":   {good, good},
		"negative charge":      {spent(func(r *record) { r.Spent.Charge.Epsilon = -1 })},
		"delta above 1":        {spent(func(r *record) { r.Spent.Charge.Delta = 2 })},
		"half an old message":  {spent(func(r *record) { r.Spent.Parts[0].Messages = []byte{1} })},
		"half a payload":       {spent(func(r *record) { r.Spent.Parts[0].Size, r.Spent.Parts[0].Payloads = 8, make([]byte, 12) })},
		"payloads of no size":  {spent(func(r *record) { r.Spent.Parts[0].Payloads = make([]byte, 12) })},
		"no payload":           {spent(func(r *record) { r.Spent.Parts[0].Size, r.Spent.Parts[0].Payloads = 2, []byte{2, 0} })},
		"old and new":          {spent(func(r *record) { part(r, spokenPart{Messages: make([]byte, 5), Size: 2, Payloads: []byte{0, 0}}) })},
		"bodies and payloads":  {spent(func(r *record) { part(r, spokenPart{Size: 2, Payloads: []byte{0, 0}, Body: 1, Bodies: []byte{1}}) })},
		"a vector and bodies":  {spent(func(r *record) { part(r, spokenPart{Size: 2, Vector: []byte{1}, Body: 1, Bodies: []byte{1}}) })},
		"half a body":          {spent(func(r *record) { part(r, spokenPart{Size: 8, Body: 2, Bodies: []byte{1}}) })},
		"bodies of no length":  {spent(func(r *record) { part(r, spokenPart{Size: 8, Bodies: []byte{1}}) })},
		"a body too large":     {spent(func(r *record) { part(r, spokenPart{Size: 2, Body: 2, Bodies: []byte{1, 1}}) })},
		"a large payload":      {spent(func(r *record) { part(r, spokenPart{Size: 1 << 30, Body: 2, Bodies: []byte{1, 1}}) })},
		"a negative length":    {spent(func(r *record) { part(r, spokenPart{Size: 2, Body: -1, Dummies: []byte{1}}) })},
		"nothing in a size":    {spent(func(r *record) { part(r, spokenPart{Size: 2}) })},
		"dummies behind all":   {spent(func(r *record) { part(r, spokenPart{Size: 2, Body: 1, Bodies: []byte{1}, Dummies: []byte{4}}) })},
		"too many dummy bits":  {spent(func(r *record) { part(r, spokenPart{Size: 2, Body: 1, Bodies: []byte{1}, Dummies: []byte{1, 0}}) })},
		"no dummy among bits":  {spent(func(r *record) { part(r, spokenPart{Size: 2, Dummies: []byte{0}}) })},
		"short backstop key":   {spent(func(r *record) { r.Backstops = []keptBackstop{{Key: []byte{1}}} })},
		"nobody's statement":   {spent(func(r *record) { r.Spent.Statements = []stated{{Delta: 0.5}} })},
		"an epsilon below 0":   {spent(func(r *record) { r.Spent.Statements = []stated{{Observer: "x", Epsilon: -2}} })},
		"a delta above 1":      {spent(func(r *record) { r.Spent.Statements = []stated{{Observer: "x", Delta: 2}} })},
		"sent before spent":    {{Kind: kindSent, Plan: plan}},
		"sent of another part": {good, {Kind: kindSent, Plan: plan, Instance: 3}},
	} {
		var lines [][]byte
		for _, r := range rs {
			lines = append(lines, line(r))
		}
		if _, err := replay(nil, lines); err == nil {
			t.Errorf("%s: replayed", name)
		}
	}
}

func someSpooled(t testing.TB) spool.Contribution {
	t.Helper()
	body, err := envelope.Form{Plan: [32]byte{1}, Instance: 3, Suite: envelope.X25519, Envelopes: 1, Size: 60}.Cover(0, rng.Reader(rng.New()))
	if err != nil {
		t.Fatal(err)
	}
	return spool.Contribution{Plan: [32]byte{1}, Instance: 3, ID: wire.ContributionID(body), Token: make([]byte, 288), Created: someTime, NotBefore: someTime, Body: body}
}

func TestSpooledReadsBack(t *testing.T) {
	s := someSpooled(t)
	got, err := spool.Parse(s.Bytes())
	if err != nil || !bytes.Equal(got.Bytes(), s.Bytes()) {
		t.Fatal(err)
	}
	data := s.Bytes()
	for i := range data {
		bad := bytes.Clone(data)
		bad[i] ^= 1
		if got, err := spool.Parse(bad); err == nil && (got.ID != s.ID || !bytes.Equal(got.Body, s.Body)) {
			t.Fatalf("another body was read after bit %d changed", 8*i)
		}
	}
}

func FuzzReplay(f *testing.F) {
	_, records, _, err := journal.Parse(story())
	if err != nil {
		f.Fatal(err)
	}
	for _, r := range records {
		f.Add(records[1], r)
	}
	f.Fuzz(func(t *testing.T, first, second []byte) {
		costlimit.Heap(t, costlimit.Factor, len(first)+len(second), func() {
			l, err := replay(nil, [][]byte{first, second})
			if err != nil {
				return
			}
			if c := l.Spent(someTime, time.Hour); !c.valid() && c.Delta <= 1 {
				t.Errorf("%+v was spent", c)
			}
		})
	})
}

func FuzzParseSpooled(f *testing.F) {
	f.Add(someSpooled(f).Bytes())
	f.Fuzz(func(t *testing.T, data []byte) {
		costlimit.Heap(t, costlimit.Factor, len(data), func() {
			s, err := spool.Parse(data)
			if err != nil {
				return
			}
			if again, err := spool.Parse(s.Bytes()); err != nil || again.ID != s.ID || !bytes.Equal(again.Body, s.Body) {
				t.Errorf("reads back as another (%v)", err)
			}
		})
	})
}

func TestSpoolNames(t *testing.T) {
	plan := "9f2b1c64d0e7a35b8f417726c3aa90de55b1f0c8e94d276a31b60fd28c7e5a04"
	if p, i, ok := spool.ParseName(spool.Name(plan, 12)); !ok || p != plan || i != 12 {
		t.Error(p, i, ok)
	}
	for _, name := range []string{"", plan, "spool/" + plan + "-", "spool/" + plan + "-01", "spool/" + plan + "--1", "spool/" + plan + "-1x", "spool/x-1", "../" + plan + "-1"} {
		if _, _, ok := spool.ParseName(name); ok {
			t.Errorf("%q is a name", name)
		}
	}
}
