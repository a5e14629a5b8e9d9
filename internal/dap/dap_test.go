package dap

import (
	"bytes"
	"encoding/hex"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/internal/testkit/costlimit"
)

// of is bytes that count up from one.
func of(first byte, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = first + byte(i)
	}
	return b
}

var (
	metadata = Metadata{ID: ReportID(of(0x10, 16)), Time: 20000, Extensions: []Extension{{Type: 0xff01, Data: []byte("token")}}}
	report   = Report{Metadata: metadata, Public: []byte("public"), Leader: Ciphertext{1, []byte("enc"), []byte("leader")}, Helper: Ciphertext{2, []byte("cne"), []byte("helper")}}
	job      = AggregationReq{Batch: BatchID(of(0x40, 32)), Reports: []VerifyInit{
		{metadata, []byte("public"), Ciphertext{2, []byte("cne"), []byte("helper")}, []byte("part")},
		{Metadata{ID: ReportID(of(0x20, 16)), Time: 20001}, nil, Ciphertext{0, []byte("e"), []byte("p")}, []byte{1}},
	}}
	answers = []VerifyResp{{ID: job.Reports[0].ID, Message: []byte("seed")}, {ID: job.Reports[1].ID, Error: VerifyFailed}}
	share   = ShareReq{BatchID(of(0x40, 32)), 300, Checksum(of(0x60, 32))}
	both    = Collected{300, 20000, 1, Ciphertext{0, []byte("e"), []byte("leader")}, Ciphertext{0, []byte("f"), []byte("helper")}}
	config  = Configuration{[]byte("info"), "https://l.test", "https://h.test", 86400, 100, 4, []byte{0, 0, 4, 0, 0, 0, 0, 69}}
)

// The bytes follow from the structures of draft-ietf-ppm-dap-18, each field written out by
// hand.
func TestGoldenMessages(t *testing.T) {
	id, batch := hex.EncodeToString(of(0x10, 16)), hex.EncodeToString(of(0x40, 32))
	meta := id + "0000000000004e20" + "0009" + "ff01" + "0005" + "746f6b656e" // id, time, 9 bytes of extensions
	ciphertext := func(config, enc, payload string) string {
		return config + hexLength(2, enc) + enc + hexLength(4, payload) + payload
	}
	public, leader, helper := "00000006"+hex.EncodeToString([]byte("public")), hex.EncodeToString([]byte("leader")), hex.EncodeToString([]byte("helper"))
	enc, cne := hex.EncodeToString([]byte("enc")), hex.EncodeToString([]byte("cne"))
	collection := "02" + "0000" + "00000000" + "0000" // mode, query, parameter, extensions
	configuration := "04" + hex.EncodeToString([]byte("info")) + "000e" + hex.EncodeToString([]byte("https://l.test")) + "000e" + hex.EncodeToString([]byte("https://h.test")) +
		"0000000000015180" + "0000000000000064" + "02" + "0000" + "00000004" + "0008" + "0000040000000045" + "0000"
	task := TaskID(of(0x80, 32))
	for name, c := range map[string]struct {
		got  []byte
		want string
	}{
		"report":              {report.Append(nil), meta + public + ciphertext("01", enc, leader) + ciphertext("02", cne, helper)},
		"plaintext share":     {InputShare{metadata.Extensions, []byte("share")}.Marshal(), "0009" + "ff01" + "0005" + "746f6b656e" + "00000005" + hex.EncodeToString([]byte("share"))},
		"aggregation request": {AggregationReq{job.Batch, job.Reports[:1]}.Marshal(), "00" + "00000000" + "0024" + "0001" + "0020" + batch + meta + public + ciphertext("02", cne, helper) + "00000009" + "00" + "00000004" + hex.EncodeToString([]byte("part"))},
		"aggregation answer":  {MarshalAggregationResp(answers), id + "00" + "00000009" + "02" + "00000004" + hex.EncodeToString([]byte("seed")) + hex.EncodeToString(of(0x20, 16)) + "02" + "06"},
		"collection request":  {CollectionReq{}.Marshal(), collection},
		"share request":       {share.Marshal(), collection + "02" + "0020" + batch + "000000000000012c" + hex.EncodeToString(of(0x60, 32))},
		"collection answer":   {both.Marshal(), "000000000000012c" + "0000000000004e20" + "0000000000000001" + ciphertext("00", "65", leader) + ciphertext("00", "66", helper)},
		"key":                 {MarshalConfig([]Key{{7, 0x20, 1, 1, []byte("key")}}), "000c" + "07" + "0020" + "0001" + "0001" + "0003" + hex.EncodeToString([]byte("key"))},
		"configuration":       {config.Append(nil), configuration},
		"input share's data":  {InputShareData(task, config, metadata, []byte("public")), hex.EncodeToString(task[:]) + configuration + meta + public},
		"sum's data":          {AggregateShareData(task, config, CollectionReq{}), hex.EncodeToString(task[:]) + configuration + collection},
		"input share's info":  {InputShareInfo(Helper), hex.EncodeToString([]byte("dap-18 input share")) + "0103"},
		"sum's info":          {AggregateShareInfo(Leader), hex.EncodeToString([]byte("dap-18 aggregate share")) + "0200"},
		"context":             {Context(task), hex.EncodeToString([]byte("dap-18")) + hex.EncodeToString(task[:])},
	} {
		if got := hex.EncodeToString(c.got); got != c.want {
			t.Errorf("%s:\n%s, want\n%s", name, got, c.want)
		}
	}
}

func hexLength(bytes int, text string) string {
	n := len(text) / 2
	return hex.EncodeToString([]byte{0, 0, byte(n >> 8), byte(n)}[4-bytes:])
}

// decoders read each message and give what their encoder writes of it.
var decoders = map[string]struct {
	whole []byte
	read  func([]byte) (any, []byte, error)
	want  any
}{
	"upload": {report.Append(report.Append(nil)), func(b []byte) (any, []byte, error) {
		all, err := ParseUpload(b, 2)
		var again []byte
		for _, r := range all {
			again = r.Append(again)
		}
		return all, again, err
	}, []Report{report, report}},
	"input share": {InputShare{metadata.Extensions, []byte("s")}.Marshal(), func(b []byte) (any, []byte, error) {
		s, err := ParseInputShare(b)
		return s, s.Marshal(), err
	}, InputShare{metadata.Extensions, []byte("s")}},
	"aggregation request": {job.Marshal(), func(b []byte) (any, []byte, error) {
		q, err := ParseAggregation(b, 2)
		return q, q.Marshal(), err
	}, nil},
	"aggregation answer": {MarshalAggregationResp(answers), func(b []byte) (any, []byte, error) {
		all, err := ParseAggregationResp(b, job)
		return all, MarshalAggregationResp(all), err
	}, answers},
	"collection request": {CollectionReq{}.Marshal(), func(b []byte) (any, []byte, error) {
		q, err := ParseCollection(b)
		return q, q.Marshal(), err
	}, CollectionReq{}},
	"share request": {share.Marshal(), func(b []byte) (any, []byte, error) {
		q, err := ParseShareReq(b)
		return q, q.Marshal(), err
	}, share},
	"share": {MarshalShare(report.Leader), func(b []byte) (any, []byte, error) {
		c, err := ParseShare(b)
		return c, MarshalShare(c), err
	}, report.Leader},
	"collection answer": {both.Marshal(), func(b []byte) (any, []byte, error) {
		c, err := ParseCollected(b)
		return c, c.Marshal(), err
	}, both},
}

func TestMessagesComeBack(t *testing.T) {
	for name, d := range decoders {
		got, again, err := d.read(d.whole)
		if err != nil || !bytes.Equal(again, d.whole) || d.want != nil && !reflect.DeepEqual(got, d.want) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
		for cut := range d.whole {
			if _, again, err := d.read(d.whole[:cut]); err == nil && (name != "upload" && name != "aggregation request" || !bytes.Equal(again, d.whole[:cut])) {
				t.Errorf("%s: its first %d bytes are read", name, cut)
			}
		}
		if _, _, err := d.read(append(bytes.Clone(d.whole), 0)); err == nil {
			t.Errorf("%s: a byte more is read", name)
		}
	}
}

func TestWhatNoEncoderWritesIsRefused(t *testing.T) {
	twice := job
	twice.Reports = []VerifyInit{job.Reports[0], job.Reports[0]}
	if _, err := ParseAggregation(twice.Marshal(), 2); err == nil {
		t.Error("a report stands in a job twice")
	}
	if _, err := ParseAggregation(job.Marshal(), 1); err == nil {
		t.Error("a job has more reports than are allowed")
	}
	if _, err := ParseUpload(report.Append(report.Append(nil)), 1); err == nil {
		t.Error("an upload has more reports than are allowed")
	}
	unsorted := report
	unsorted.Extensions = []Extension{{2, nil}, {1, nil}}
	if _, err := ParseUpload(unsorted.Append(nil), 1); err == nil {
		t.Error("extensions are out of order")
	}
	for at, change := range map[string]func([]byte){
		"key of the verification": func(b []byte) { b[0] = 1 },
		"aggregation parameter":   func(b []byte) { b[4] = 1 },
		"type of the extension":   func(b []byte) { b[8] = 2 },
	} {
		b := job.Marshal()
		if change(b); at != "" {
			if _, err := ParseAggregation(b, 2); err == nil {
				t.Errorf("another %s is read", at)
			}
		}
	}
	if _, err := ParseAggregationResp(MarshalAggregationResp(answers[:1]), job); err == nil {
		t.Error("an answer lacks a report")
	}
	if _, err := ParseAggregationResp(MarshalAggregationResp([]VerifyResp{answers[1], answers[0]}), job); err == nil {
		t.Error("an answer has another order")
	}
}

func TestTasksInPaths(t *testing.T) {
	id := TaskID(of(0xf0, 32))
	r := &http.Request{}
	r.SetPathValue("task", strings.Split(ReportsPath(id), "/")[2])
	if got, err := PathTask(r); got != id || err != nil {
		t.Errorf("%v: %v", got, err)
	}
	for _, bad := range []string{"", id.String() + "A", id.String()[1:], strings.Replace(id.String(), "8", "=", 1)} {
		r.SetPathValue("task", bad)
		if _, err := PathTask(r); err == nil {
			t.Errorf("%q is a task", bad)
		}
	}
}

func TestSealedForOneRoleOpensForNoOther(t *testing.T) {
	for _, suite := range []envelope.Suite{envelope.X25519, envelope.XWing} {
		key, err := envelope.GenerateKey(suite)
		if err != nil {
			t.Fatal(err)
		}
		c, err := Seal(key.Public(), InputShareInfo(Leader), []byte("data"), []byte("share"))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := Open(key, InputShareInfo(Leader), []byte("data"), c); err != nil || string(got) != "share" {
			t.Errorf("%q, %v", got, err)
		}
		other := c
		other.Config = 1
		for name, opened := range map[string]func() ([]byte, error){
			"role": func() ([]byte, error) { return Open(key, InputShareInfo(Helper), []byte("data"), c) },
			"data": func() ([]byte, error) { return Open(key, InputShareInfo(Leader), nil, c) },
			"key":  func() ([]byte, error) { return Open(key, InputShareInfo(Leader), []byte("data"), other) },
		} {
			if _, err := opened(); err == nil {
				t.Errorf("%s: it opens with another %s", suite, name)
			}
		}
		if k := KeyOf(key.Public()); k.KDF != 1 || k.AEAD != 1 || k.KEM == 0 || len(k.Public) != suite.Overhead()-16 && suite == envelope.X25519 {
			t.Errorf("%s: %+v", suite, k)
		}
	}
}

func TestAChecksumIsOfASet(t *testing.T) {
	var a, b Checksum
	for _, id := range []byte{1, 2, 3} {
		a.Add(ReportID{id})
	}
	for _, id := range []byte{3, 1, 2} {
		b.Add(ReportID{id})
	}
	if a != b || a == (Checksum{}) {
		t.Error("the order counts, or nothing does")
	}
	b.Add(ReportID{4})
	if a == b {
		t.Error("another set has the same checksum")
	}
}

// What is read is what is written of it, at a cost in proportion to what came.
func FuzzMessages(f *testing.F) {
	for _, d := range decoders {
		f.Add(d.whole)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		for name, d := range decoders {
			costlimit.Heap(t, costlimit.Factor, len(b), func() {
				if _, again, err := d.read(b); err == nil && !bytes.Equal(again, b) {
					t.Errorf("%s: %x is read, and is written %x", name, b, again)
				}
			})
		}
	})
}
