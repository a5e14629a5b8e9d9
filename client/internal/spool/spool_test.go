package spool

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/internal/testkit/costlimit"
	"github.com/confetti-dp/confetti/internal/token"
	"github.com/confetti-dp/confetti/internal/wire"
)

// spooled is a contribution of two envelopes, with a token.
func spooled(t testing.TB) Contribution {
	t.Helper()
	plan := sha256.Sum256([]byte("a plan"))
	body, err := envelope.Form{Plan: plan, Instance: 3, Suite: envelope.X25519, Envelopes: 2, Size: 100}.Cover(1, bytes.NewReader(make([]byte, 1000)))
	if err != nil {
		t.Fatal(err)
	}
	created := time.Date(2026, 11, 20, 9, 30, 0, 123, time.UTC)
	return Contribution{Plan: plan, Instance: 3, ID: wire.ContributionID(body), Token: bytes.Repeat([]byte{9}, token.Size), Created: created, NotBefore: created.Add(time.Hour), Body: body}
}

func TestAContributionComesBackAsItWas(t *testing.T) {
	c := spooled(t)
	for _, without := range []bool{false, true} {
		if without {
			c.Token = nil
		}
		if got, err := Parse(c.Bytes()); err != nil || !reflect.DeepEqual(got, c) {
			t.Errorf("%v: %+v, not %+v", err, got, c)
		}
	}
	if name := Name(strings.Repeat("a", 64), 2); name != Under+strings.Repeat("a", 64)+"-2" {
		t.Error(name)
	}
	if plan, instance, ok := ParseName(Name(strings.Repeat("a", 64), 2)); !ok || plan != strings.Repeat("a", 64) || instance != 2 {
		t.Error(plan, instance, ok)
	}
	for _, bad := range []string{"", Under, Under + "a-1", strings.Repeat("a", 64) + "-1", Under + strings.Repeat("a", 64), Under + strings.Repeat("a", 64) + "-", Under + strings.Repeat("a", 64) + "-01", Under + strings.Repeat("a", 64) + "--1", Under + strings.Repeat("a", 64) + "-+1"} {
		if _, _, ok := ParseName(bad); ok {
			t.Errorf("%q is a name", bad)
		}
	}
}

// Cut off anywhere, or with any bit changed, it is no contribution; nor is it in another form.
func TestADamagedContributionIsRefused(t *testing.T) {
	c := spooled(t)
	data := c.Bytes()
	for at := range data {
		if _, err := Parse(data[:at]); !errors.Is(err, ErrDamaged) {
			t.Fatalf("cut off at %d: %v", at, err)
		}
		changed := bytes.Clone(data)
		changed[at] ^= 1
		got, err := Parse(changed)
		// Of the head the times and the token are nobody's word: what they say is there.
		if err == nil && !bytes.Equal(got.Bytes(), changed) || err == nil && (got.ID != c.ID || got.Plan != c.Plan || got.Instance != c.Instance) {
			t.Fatalf("a bit of byte %d: %+v", at, got)
		}
		if err != nil && !errors.Is(err, ErrDamaged) {
			t.Fatalf("a bit of byte %d: %v", at, err)
		}
	}
	line, body, _ := bytes.Cut(data, []byte("\n"))
	head := string(line)
	other := spooled(t)
	other.Instance = 4
	for name, bad := range map[string]string{
		"nothing":                     "",
		"a second document":           head + "{}",
		"a brace behind it":           head + "}",
		"a bracket behind it":         head + "]",
		"a blank behind it":           head + " ",
		"a member that is not known":  strings.Replace(head, "{", `{"more":1,`, 1),
		"a member twice":              strings.Replace(head, `"instance":3`, `"instance":3,"instance":3`, 1),
		"in capitals":                 strings.Replace(head, `"instance"`, `"INSTANCE"`, 1),
		"an empty member":             strings.Replace(head, "{", `{"task":"",`, 1),
		"another format":              strings.Replace(head, "/v1", "/v2", 1),
		"another plan":                strings.Replace(head, `"plan":"`, `"plan":"0`, 1),
		"a plan in capitals":          strings.Replace(head, head[37:100], strings.ToUpper(head[37:100]), 1),
		"another instance":            strings.Replace(head, `"instance":3`, `"instance":4`, 1),
		"no instance that there is":   strings.Replace(head, `"instance":3`, `"instance":65536`, 1),
		"an instance with a point":    strings.Replace(head, `"instance":3`, `"instance":3.0`, 1),
		"a time in another zone":      strings.Replace(head, "09:30:00.000000123Z", "10:30:00.000000123+01:00", 1),
		"a short token":               strings.Replace(head, `"token":"CQkJ`, `"token":"`, 1),
		"a token with a pad":          strings.Replace(head, `CQkJ"`, `CQkJ="`, 1),
		"a task beside a mixed plan":  strings.Replace(head, `"created"`, `"task":"`+strings.Repeat("A", 43)+`","created"`, 1),
		"a head without end":          strings.Repeat(" ", 1<<13) + head,
		"null":                        "null",
		"a list":                      "[" + head + "]",
		"an id of another body":       strings.Replace(head, `"id":"`, `"id":"0`, 1),
		"a format that is no text":    strings.Replace(head, `"confetti-spool/v1"`, "1", 1),
		"the instance of another one": strings.SplitN(string(other.Bytes()), "\n", 2)[0],
	} {
		if bad == head {
			t.Fatalf("%s is the head itself", name)
		}
		if _, err := Parse(append([]byte(bad+"\n"), body...)); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Parse(append(bytes.Clone(data), 0)); !errors.Is(err, ErrDamaged) {
		t.Errorf("a byte behind it: %v", err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(spooled(f).Bytes())
	f.Add([]byte("{}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		costlimit.Heap(t, costlimit.Factor, len(data), func() {
			if c, err := Parse(data); err == nil && !bytes.Equal(c.Bytes(), data) {
				t.Errorf("taken, and written as %q", c.Bytes())
			}
		})
	})
}
