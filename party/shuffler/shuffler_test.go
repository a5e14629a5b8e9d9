package shuffler

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/plan"
)

// world is a plan with the keys of everybody in it.
type world struct {
	plan     plan.Plan
	hops     [][]envelope.PrivateKey // per instance
	analyzer envelope.PrivateKey
}

const (
	perDevice = 3
	minimum   = 4
	payload   = 16
)

func newWorld(t testing.TB, suite envelope.Suite, instances, hops int) world {
	t.Helper()
	newKey := func() envelope.PrivateKey {
		key, err := envelope.GenerateKey(suite)
		if err != nil {
			t.Fatal(err)
		}
		return key
	}
	party := func(operator string, key envelope.PrivateKey) plan.Party {
		return plan.Party{Operator: operator, Key: key.Public().String()}
	}
	w := world{analyzer: newKey()}
	mix := &plan.Mix{}
	for i := range instances {
		w.hops = append(w.hops, nil)
		var in plan.Instance
		for h := range hops {
			key := newKey()
			w.hops[i] = append(w.hops[i], key)
			in.Hops = append(in.Hops, party(fmt.Sprintf("operator %d of instance %d", h, i), key))
		}
		mix.Instances = append(mix.Instances, in)
	}
	w.plan = plan.Plan{
		Version: plan.Version, Title: "test",
		Question: plan.Question{Kind: "density", Unfit: "reference", Density: &plan.Density{
			Dimension: 2, Repetitions: perDevice,
			Kernel: plan.Kernel{Name: "ip-signs", Seed: strings.Repeat("0", 64)},
			Bitsum: plan.Bitsum{Name: "rr", Accounting: "exact", FlipProbability: 0.25},
		}},
		Budget:    plan.Budget{Epsilon: 1, Delta: 1e-5, Adjacency: "replacement", LabelEpsilon: plan.Unprotected, DishonestShare: 0.25},
		Crowd:     plan.Crowd{Names: []string{"a", "b", "c"}, Minimum: minimum, Maximum: 1000},
		Envelopes: plan.Envelopes{PerDevice: perDevice, PayloadBytes: payload, Suite: string(suite)},
		Route:     plan.Route{Kind: "mix", Mix: mix},
		Analyzer:  party("analyzer", w.analyzer),
	}
	w.plan.Analyzer.Releases = example.Releaser
	if err := w.plan.Validate(); err != nil {
		t.Fatal(err)
	}
	return w
}

// message is the payload of a device's i-th envelope: for the test to follow it.
func message(device, i int) []byte {
	b := make([]byte, payload)
	binary.BigEndian.PutUint32(b, uint32(device))
	binary.BigEndian.PutUint32(b[4:], uint32(i))
	return b
}

// inner returns a device's envelopes, as they lie in its contribution.
func (w world) inner(t testing.TB, instance int, crowd uint32, device int) (envelopes [][]byte) {
	t.Helper()
	var keys []envelope.PublicKey
	for _, key := range w.hops[instance] {
		keys = append(keys, key.Public())
	}
	keys = append(keys, w.analyzer.Public())
	s, err := envelope.NewSealer(envelope.Route(w.plan.Hash(), uint16(instance), crowd, keys...)[1:], payload)
	if err != nil {
		t.Fatal(err)
	}
	for i := range w.plan.Envelopes.PerDevice {
		e, err := s.Seal(message(device, i))
		if err != nil {
			t.Fatal(err)
		}
		envelopes = append(envelopes, e)
	}
	return envelopes
}

// form is that of contributions to an instance.
func (w world) form(instance int) envelope.Form {
	return example.Form(w.plan, instance)
}

// seal makes a contribution of envelopes, to whatever form they have.
func (w world) seal(t testing.TB, f envelope.Form, crowd uint32, envelopes [][]byte) []byte {
	t.Helper()
	f.Envelopes, f.Size = len(envelopes), len(envelopes[0])
	body, err := f.Seal(w.hops[0][0].Public(), crowd, envelopes)
	if f.Instance > 0 {
		body, err = f.Seal(w.hops[f.Instance][0].Public(), crowd, envelopes)
	}
	if err != nil {
		t.Fatal(err)
	}
	return body
}

func (w world) contribution(t testing.TB, instance int, crowd uint32, device int) []byte {
	t.Helper()
	return w.seal(t, w.form(instance), crowd, w.inner(t, instance, crowd, device))
}

// entered is what leaves the entry of a crowd in which so many devices took part.
func (w world) entered(t testing.TB, crowd uint32, devices int) envelope.Batch {
	t.Helper()
	b, _, err := w.hop(t, 0, 0).Enter(w.collect(t, 0, crowd, devices))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// collect is the crowd in which so many devices took part.
func (w world) collect(t testing.TB, instance int, crowd uint32, devices int) Collected {
	t.Helper()
	c, err := NewCollector(w.plan, instance)
	if err != nil {
		t.Fatal(err)
	}
	for d := range devices {
		if err := c.Add(fmt.Sprint("device ", d), w.contribution(t, instance, crowd, d)); err != nil {
			t.Fatal(err)
		}
	}
	batches, _ := c.Close()
	if len(batches) != 1 {
		t.Fatalf("%d batches", len(batches))
	}
	return batches[0]
}

func (w world) hop(t testing.TB, instance, hop int) *Hop {
	t.Helper()
	h, err := NewHop(w.plan, instance, hop, w.hops[instance][hop])
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// open is what the analyzer reads in a batch, in the batch's order.
func (w world) open(t testing.TB, b envelope.Batch) []string {
	t.Helper()
	o, err := envelope.NewOpener(w.analyzer, w.plan.Hash(), b.Instance, b.Hop, w.analyzer.Suite().Size(1, payload))
	if err != nil {
		t.Fatal(err)
	}
	var payloads []string
	for _, e := range b.Envelopes {
		p, err := o.Open(b.Crowd, e)
		if err != nil {
			t.Fatal(err)
		}
		payloads = append(payloads, string(p))
	}
	return payloads
}

func TestFromDevicesToAnalyzer(t *testing.T) {
	for _, c := range []struct {
		suite           envelope.Suite
		instances, hops int
	}{{envelope.X25519, 1, 1}, {envelope.X25519, 2, 2}, {envelope.X25519, 1, 3}, {envelope.XWing, 1, 2}} {
		t.Run(fmt.Sprintf("%s/%dx%d", c.suite, c.instances, c.hops), func(t *testing.T) {
			w := newWorld(t, c.suite, c.instances, c.hops)
			const devices, crowd = 5, 2
			instance := c.instances - 1
			b, receipt, err := w.hop(t, instance, 0).Enter(w.collect(t, instance, crowd, devices))
			for hop := range c.hops {
				if err != nil {
					t.Fatal(err)
				}
				if want := (Receipt{In: devices * perDevice, Out: devices * perDevice}); receipt != want {
					t.Errorf("hop %d: receipt %+v", hop, receipt)
				}
				if hop+1 == c.hops {
					break
				}
				// On the wire and back, as between operators.
				var data []byte
				if data, err = b.Marshal(); err != nil {
					t.Fatal(err)
				}
				if b, err = envelope.ParseBatch(data); err != nil {
					t.Fatal(err)
				}
				b, receipt, err = w.hop(t, instance, hop+1).Mix(b)
			}
			if int(b.Hop) != c.hops || b.Respondents != devices || b.Crowd != crowd || int(b.Instance) != instance {
				t.Errorf("the analyzer is handed another batch: hop %d, %d respondents", b.Hop, b.Respondents)
			}
			var sent []string
			for d := range devices {
				for i := range perDevice {
					sent = append(sent, string(message(d, i)))
				}
			}
			got := w.open(t, b)
			if slices.Equal(got, sent) {
				t.Error("everything came out in the order of arrival")
			}
			slices.Sort(got)
			slices.Sort(sent)
			if !slices.Equal(got, sent) {
				t.Error("the analyzer does not read what the devices sent")
			}
		})
	}
}

func TestCollectorWithholdsSmallCrowds(t *testing.T) {
	w := newWorld(t, envelope.X25519, 1, 1)
	c, err := NewCollector(w.plan, 0)
	if err != nil {
		t.Fatal(err)
	}
	for d := range minimum + minimum - 1 { // n_min in crowd 0, one fewer in crowd 1, none in crowd 2
		if err := c.Add(fmt.Sprint(d), w.contribution(t, 0, uint32(d/minimum), d)); err != nil {
			t.Fatal(err)
		}
	}
	batches, withheld := c.Close()
	if len(batches) != 1 || batches[0].Crowd != 0 || len(batches[0].Bodies) != minimum {
		t.Errorf("%d batches left", len(batches))
	}
	if want := []Withheld{{Crowd: 1, Minimum: minimum}, {Crowd: 2, Minimum: minimum}}; !slices.Equal(withheld, want) {
		t.Errorf("withheld %v", withheld)
	}
	// The size of a crowd held back stays unknown: one short and empty read alike.
	a, b := withheld[0], withheld[1]
	if strings.Replace(a.String(), "crowd 2", "crowd 3", 1) != b.String() || !strings.Contains(a.String(), "fewer than 4") {
		t.Errorf("%v; %v", a, b)
	}
	if err := c.Add("late", w.contribution(t, 0, 0, 99)); !errors.Is(err, ErrClosed) {
		t.Errorf("after the end: %v", err)
	}
	if batches, withheld := c.Close(); batches != nil || withheld != nil {
		t.Error("a second close gave something")
	}
}

func TestCollectorTakesWholeContributionsOnce(t *testing.T) {
	w := newWorld(t, envelope.X25519, 2, 2)
	c, err := NewCollector(w.plan, 0)
	if err != nil {
		t.Fatal(err)
	}
	good := w.contribution(t, 0, 0, 1)
	inner, form := w.inner(t, 0, 0, 1), w.form(0)
	elsewhere, other := form, form
	elsewhere.Plan[0] ^= 1
	other.Instance = 1
	cut := func(envelopes [][]byte, from int) (all [][]byte) {
		for _, e := range envelopes {
			all = append(all, e[from:])
		}
		return all
	}
	earlier, err := envelope.Contribution{Plan: w.plan.Hash(), Envelopes: inner}.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	for name, bad := range map[string][]byte{
		"another plan":        w.seal(t, elsewhere, 0, inner),
		"another instance":    w.seal(t, other, 0, inner),
		"no such crowd":       w.seal(t, form, 3, inner),
		"one too few":         w.seal(t, form, 0, inner[1:]),
		"one too many":        w.seal(t, form, 0, append(slices.Clone(inner), inner[0])),
		"short envelopes":     w.seal(t, form, 0, cut(inner, 1)),
		"a layer missing":     w.seal(t, form, 0, cut(inner, 48)),
		"an earlier form":     earlier,
		"no bytes":            nil,
		"a byte short":        good[:len(good)-1],
		"a byte of the other": append(slices.Clone(good), 0),
	} {
		if err := c.Add("alice", bad); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
	if err := c.Add("", good); err == nil {
		t.Error("a contribution of nobody was accepted")
	}
	// The refused ones have not spent the respondent's turn, nor left envelopes.
	if err := c.Add("alice", good); err != nil {
		t.Fatal(err)
	}
	for _, crowd := range []uint32{0, 1} {
		if err := c.Add("alice", w.contribution(t, 0, crowd, 2)); !errors.Is(err, ErrAlreadyContributed) {
			t.Errorf("a second contribution, to crowd %d: %v", crowd, err)
		}
	}
	for d := range minimum - 1 {
		if err := c.Add(fmt.Sprint(d), w.contribution(t, 0, 0, d)); err != nil {
			t.Fatal(err)
		}
	}
	if batches, _ := c.Close(); len(batches) != 1 || len(batches[0].Bodies) != minimum {
		t.Error("the crowd is not that of the accepted contributions")
	}
}

// A device that sends garbage as often as it likes makes the next hop open one contribution in vain. The twin is an entry
// that does not know the device again.
func TestGarbageCostsOneContribution(t *testing.T) {
	w := newWorld(t, envelope.X25519, 1, 2)
	const sent = 5
	garbage := func(i int) (all [][]byte) {
		for at, e := range w.inner(t, 0, 0, 0) {
			g := bytes.Repeat([]byte{byte(1 + i*perDevice + at)}, len(e))
			all = append(all, g)
		}
		return all
	}
	vain := func(name func(i int) string) int {
		c, err := NewCollector(w.plan, 0)
		if err != nil {
			t.Fatal(err)
		}
		for d := range minimum {
			if err := c.Add(fmt.Sprint("device", d), w.contribution(t, 0, 0, d)); err != nil {
				t.Fatal(err)
			}
		}
		for i := range sent {
			if err := c.Add(name(i), w.seal(t, w.form(0), 0, garbage(i))); err != nil && !errors.Is(err, ErrAlreadyContributed) {
				t.Fatal(err)
			}
		}
		batches, _ := c.Close()
		if len(batches) != 1 {
			t.Fatalf("%d crowds", len(batches))
		}
		batch, receipt, err := w.hop(t, 0, 0).Enter(batches[0])
		if err != nil || receipt.Dropped > 0 {
			t.Fatalf("the entry opens bodies and no envelope: %+v, %v", receipt, err)
		}
		if _, receipt, err = w.hop(t, 0, 1).Mix(batch); err != nil {
			t.Fatal(err)
		}
		return receipt.Dropped
	}
	if n := vain(func(int) string { return "mallory" }); n != perDevice {
		t.Errorf("%d envelopes opened in vain, of %d a device", n, perDevice)
	}
	if n := vain(func(i int) string { return fmt.Sprint("mallory", i) }); n != sent*perDevice {
		t.Errorf("an entry that forgets: %d envelopes opened in vain, not %d", n, sent*perDevice)
	}
}

func TestConstructorsRefuse(t *testing.T) {
	w := newWorld(t, envelope.X25519, 1, 2)
	for _, instance := range []int{-1, 1} {
		if _, err := NewCollector(w.plan, instance); err == nil {
			t.Errorf("a collector for instance %d was made", instance)
		}
	}
	for _, hop := range []int{-1, 2} {
		if _, err := NewHop(w.plan, 0, hop, w.hops[0][0]); err == nil {
			t.Errorf("hop %d was made", hop)
		}
	}
	if _, err := NewHop(w.plan, 0, 0, w.hops[0][1]); err == nil {
		t.Error("a hop was made with the key of another")
	}
	if _, err := NewHop(w.plan, 0, 0, envelope.PrivateKey{}); err == nil {
		t.Error("a hop was made without a key")
	}
	if _, _, err := w.hop(t, 0, 1).Enter(w.collect(t, 0, 0, minimum)); err == nil {
		t.Error("contributions entered at a later hop")
	}
	if _, _, err := w.hop(t, 0, 0).Mix(w.entered(t, 0, minimum)); err == nil {
		t.Error("the entry mixed a batch")
	}
	old := w
	old.plan = example.Version2(w.plan)
	if _, err := NewHop(old.plan, 0, 0, w.hops[0][0]); err == nil || !strings.Contains(err.Error(), "version 2") {
		t.Errorf("an entry for a plan of version 2: %v", err)
	}
	if _, err := NewHop(old.plan, 0, 1, w.hops[0][1]); err != nil { // its layers are as they were
		t.Error(err)
	}
	w.plan.Title = ""
	if _, err := NewCollector(w.plan, 0); err == nil {
		t.Error("a collector for an invalid plan was made")
	}
}
