package protocol_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/confetti-dp/confetti/internal/dp/encode"
	"github.com/confetti-dp/confetti/internal/dp/fragment"
	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/question/gradient"
	"github.com/confetti-dp/confetti/internal/question/label"
	"github.com/confetti-dp/confetti/internal/question/latent"
	"github.com/confetti-dp/confetti/internal/rng"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/question/density"
	"github.com/confetti-dp/confetti/question/experiment"
	"github.com/confetti-dp/confetti/question/histogram"
	"github.com/confetti-dp/confetti/question/vector"
)

var update = flag.Bool("update", false, "write the golden vectors anew (only for a new version of the format)")

const reportsFile = "testdata/vectors/v1/reports.json"

// reportVectors pin what devices say to plans of every kind, given a stream of random bytes. They
// change only with the format's version. Do not edit to pass.
type reportVectors struct {
	Comment string         `json:"comment"`
	Source  string         `json:"source"`
	Cases   []*reportCase  `json:"cases"`
	Refused []refusedValue `json:"refused"`
	Bad     []badPayload   `json:"bad"`
}

// badPayload is one that an analyzer does not count.
type badPayload struct {
	Case    string   `json:"case"`
	Payload hexBytes `json:"payload"`
	Why     string   `json:"why"`
}

type reportCase struct {
	Name    string          `json:"name"`
	Plan    json.RawMessage `json:"plan"` // canonical form
	State   []byte          `json:"state,omitempty"`
	Key     string          `json:"key"` // of AES-128 in counter mode, from zero on: the words are its key stream
	Devices []reportDevice  `json:"devices"`
}

// reportDevice is one device. Devices draw one after the other.
type reportDevice struct {
	Value    reportValue  `json:"value"`
	Unfit    bool         `json:"unfit,omitempty"`
	Crowd    int          `json:"crowd"`
	Bodies   [][]hexBytes `json:"bodies,omitempty"`   // of messages, by contribution
	Payloads [][]hexBytes `json:"payloads,omitempty"` // as they are sealed
	Vector   []uint64     `json:"vector,omitempty"`   // of an answer that is summed
}

type hexBytes []byte

func (b hexBytes) MarshalJSON() ([]byte, error) { return json.Marshal(hex.EncodeToString(b)) }

func (b *hexBytes) UnmarshalJSON(text []byte) error {
	var s string
	err := json.Unmarshal(text, &s)
	if err == nil {
		*b, err = hex.DecodeString(s)
	}
	return err
}

// reportValue is what a respondent holds; which members there are depends on the kind.
type reportValue struct {
	Crowd    int       `json:"crowd,omitempty"`
	Answers  [][]any   `json:"answers,omitempty"` // texts or numbers, by attribute
	Features []float32 `json:"features,omitempty"`
	Class    *int      `json:"class,omitempty"`
	Number   *float64  `json:"number,omitempty"`
	Record   *int      `json:"record,omitempty"`
}

// refusedValue is an answer that no report is made of: a fault of the program, not of a respondent.
type refusedValue struct {
	Case  string      `json:"case"`
	Value reportValue `json:"value"`
	Why   string      `json:"why"`
}

// questionValue is what the plan's question takes.
func (v reportValue) questionValue(p plan.Plan) question.Value {
	class := -1
	if v.Class != nil {
		class = *v.Class
	}
	switch p.Question.Kind {
	case "histogram":
		a := histogram.Answers{Crowd: v.Crowd}
		for i, given := range v.Answers {
			a.Values = append(a.Values, answerOf(p.Question.Histogram.Attributes[i], given))
		}
		return a
	case "density":
		return density.Labelled{Features: v.Features, Class: class}
	case "vector":
		r := vector.Record{Features: v.Features, Class: class}
		if v.Number != nil {
			r.Number = *v.Number
		}
		return r
	case "gradient":
		return gradient.Labelled{Features: v.Features, Class: class}
	case "experiment":
		r := experiment.Record{Arm: class}
		for _, x := range v.Features {
			r.Numbers = append(r.Numbers, float64(x))
		}
		return r
	case "strings":
		return v.Answers[0][0]
	case "table":
		record := make([]any, len(v.Answers))
		for i, given := range v.Answers {
			record[i] = ""
			if len(given) > 0 {
				record[i] = given[0]
			}
		}
		return record
	case "label":
		r := label.Record{Features: v.Features, Class: class}
		if v.Record != nil {
			r.Number = *v.Record
		}
		return r
	}
	r := latent.Record{Crowd: v.Crowd, Features: v.Features, Class: class}
	if v.Record != nil {
		r.Number = *v.Record
	}
	return r
}

func answerOf(a plan.Attribute, given []any) any {
	texts := make([]string, 0, len(given))
	for _, x := range given {
		s, _ := x.(string)
		texts = append(texts, s)
	}
	switch a.Kind {
	case "categories":
		if a.Size > 0 {
			n, err := strconv.Atoi(texts[0])
			if err != nil {
				panic(err)
			}
			return n
		}
		return texts[0]
	case "set":
		if a.Size == 0 {
			return texts
		}
		numbers := make([]int, len(texts))
		for i, s := range texts {
			n, err := strconv.Atoi(s)
			if err != nil {
				panic(err)
			}
			numbers[i] = n
		}
		return numbers
	case "buckets":
		return given[0].(float64)
	}
	return encode.Point{X: given[0].(float64), Y: given[1].(float64)}
}

// runnable is the case's plan.
func (c *reportCase) runnable(t *testing.T) *protocol.Protocol {
	t.Helper()
	p, err := plan.Parse(c.Plan)
	if err != nil {
		t.Fatalf("%s: %v", c.Name, err)
	}
	var proto *protocol.Protocol
	if c.State != nil {
		proto, err = protocol.WithState(p, c.State)
	} else {
		proto, err = protocol.New(p)
	}
	if err != nil {
		t.Fatalf("%s: %v", c.Name, err)
	}
	return proto
}

// stream is of the case's key.
func (c *reportCase) stream(t *testing.T) *rand.Rand {
	t.Helper()
	key, err := hex.DecodeString(c.Key)
	if err != nil || len(key) != 16 {
		t.Fatal(c.Name, err)
	}
	return rng.Keyed([16]byte(key), [16]byte{})
}

// answer draws what a device says of its value.
func (c *reportCase) answer(t *testing.T, proto *protocol.Protocol, r *rand.Rand, v reportValue) reportDevice {
	t.Helper()
	d := reportDevice{Value: v}
	symbol, err := proto.Encode(v.questionValue(proto.Plan))
	if err != nil {
		if symbol == nil {
			t.Fatalf("%s: %v", c.Name, err)
		}
		d.Unfit = true
	}
	if proto.Plan.Route.Sum != nil {
		if d.Crowd, d.Vector, err = proto.Measure(r, symbol, nil); err != nil {
			t.Fatalf("%s: %v", c.Name, err)
		}
		return d
	}
	report, err := proto.Randomize(r, symbol, nil)
	if err != nil {
		t.Fatalf("%s: %v", c.Name, err)
	}
	d.Crowd = report.Crowd
	for _, part := range report.Parts {
		bodies, payloads := []hexBytes{}, []hexBytes{}
		for _, body := range part {
			bodies = append(bodies, body)
		}
		counted := proto.NewTally()
		for _, payload := range fragment.Pack(r, part, proto.Plan.Envelopes.PerDevice, proto.Plan.Envelopes.PayloadBytes) {
			payloads = append(payloads, payload)
			if err := fragment.Count(counted, payload); err != nil {
				t.Errorf("%s: the analyzer does not take a payload: %v", c.Name, err)
			}
		}
		d.Bodies, d.Payloads = append(d.Bodies, bodies), append(d.Payloads, payloads)
	}
	return d
}

// Devices say what the golden reports say, given their randomness. Programs in other languages
// that read the same stream do too.
func TestGoldenReports(t *testing.T) {
	if *update {
		writeReports(t)
	}
	text, err := os.ReadFile(reportsFile)
	if err != nil {
		t.Fatal(err)
	}
	var v reportVectors
	if err := json.Unmarshal(text, &v); err != nil || len(v.Cases) < 30 || len(v.Refused) < 6 || len(v.Bad) < 100 {
		t.Fatal(len(v.Cases), len(v.Refused), err)
	}
	byName := map[string]*reportCase{}
	for _, c := range v.Cases {
		byName[c.Name] = c
		t.Run(c.Name, func(t *testing.T) {
			proto, r := c.runnable(t), c.stream(t)
			if !bytes.Equal(proto.Plan.Canonical(), c.Plan) {
				t.Error("the plan is not canonical")
			}
			for i, want := range c.Devices {
				if diff := cmp.Diff(want, c.answer(t, proto, r, want.Value)); diff != "" {
					t.Fatalf("device %d (-want +got):\n%s", i, diff)
				}
			}
		})
	}
	for _, bad := range v.Bad {
		if err := fragment.Count(byName[bad.Case].runnable(t).NewTally(), bad.Payload); err == nil {
			t.Errorf("%s: counted, though %s", bad.Case, bad.Why)
		}
	}
	for _, bad := range v.Refused {
		c := byName[bad.Case]
		if symbol, err := c.runnable(t).Encode(bad.Value.questionValue(c.runnable(t).Plan)); err == nil || symbol != nil {
			t.Errorf("%s: taken, though %s", bad.Case, bad.Why)
		}
	}
}

// keyOf is a case's own.
func keyOf(name string) string {
	h := sha256.Sum256([]byte("confetti golden reports\n" + name))
	return hex.EncodeToString(h[:16])
}

// writeReports draws the vectors anew.
func writeReports(t *testing.T) {
	v := reportVectors{
		Comment: "What devices say to plans of every kind. Word after word, little endian, of the key stream is drawn from; devices follow each other. Bodies are as they are drawn, payloads as they are sealed.",
		Source:  "confetti, go test ./protocol -run TestGoldenReports -update",
		Refused: refusedValues(),
	}
	for _, c := range reportCases(t) {
		proto, r := c.runnable(t), c.stream(t)
		for i, d := range c.Devices {
			c.Devices[i] = c.answer(t, proto, r, d.Value)
		}
		v.Cases = append(v.Cases, c)
		v.Bad = append(v.Bad, badPayloads(c, proto)...)
	}
	slices.SortStableFunc(v.Bad, func(a, b badPayload) int { return strings.Compare(a.Case, b.Case) })
	slices.SortFunc(v.Cases, func(a, b *reportCase) int { return bytes.Compare([]byte(a.Name), []byte(b.Name)) })
	var out bytes.Buffer
	fmt.Fprintf(&out, "{\n\"comment\": %s,\n\"source\": %s,\n\"cases\": [\n", quoted(v.Comment), quoted(v.Source))
	for i, c := range v.Cases {
		fmt.Fprintf(&out, "{\"name\": %s, \"key\": %s,\n \"plan\": %s,\n", quoted(c.Name), quoted(c.Key), c.Plan)
		if c.State != nil {
			fmt.Fprintf(&out, " \"state\": %s,\n", quoted(c.State))
		}
		fmt.Fprint(&out, " \"devices\": [\n")
		for j, d := range c.Devices {
			fmt.Fprintf(&out, "  %s%s\n", quoted(d), comma(j, len(c.Devices)))
		}
		fmt.Fprintf(&out, " ]}%s\n", comma(i, len(v.Cases)))
	}
	fmt.Fprint(&out, "],\n\"refused\": [\n")
	for i, r := range v.Refused {
		fmt.Fprintf(&out, " %s%s\n", quoted(r), comma(i, len(v.Refused)))
	}
	fmt.Fprint(&out, "],\n\"bad\": [\n")
	for i, b := range v.Bad {
		fmt.Fprintf(&out, " %s%s\n", quoted(b), comma(i, len(v.Bad)))
	}
	fmt.Fprint(&out, "]\n}\n")
	if err := os.WriteFile(reportsFile, out.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// badPayloads are each wrong in one thing.
func badPayloads(c *reportCase, proto *protocol.Protocol) (bad []badPayload) {
	if proto.Plan.Route.Sum != nil {
		return nil
	}
	name, size := c.Name, proto.Plan.Envelopes.PayloadBytes
	add := func(why string, bytes ...byte) {
		bad = append(bad, badPayload{name, append(bytes, make([]byte, max(0, size-len(bytes)))...), why})
	}
	add("its kind is 2", 2)
	add("it is a dummy that says something", 0, 0, 0, 0, 1)
	bad = append(bad, badPayload{name, []byte{1, 0, 0, 0, 0}, "it is shorter than a message"})
	body := tally.MessageBytes
	if t, counted := proto.NewTally().(*tally.Counts); counted {
		add("the plan has no such channel", append(binary.BigEndian.AppendUint32([]byte{1}, uint32(t.Channels)), 0)...)
		add("the plan has no such symbol", 1, 0, 0, 0, 0, byte(t.Symbols))
	} else {
		body = len(c.Devices[0].Bodies[0][0])
	}
	if size > 1+body {
		payload := make([]byte, size)
		payload[0], payload[size-1] = 1, 1
		bad = append(bad, badPayload{name, payload, "what is behind the message is not zero"})
	}
	return bad
}

func quoted(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(text)
}

func comma(i, n int) string {
	if i == n-1 {
		return ""
	}
	return ","
}
