package plan

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/confetti-dp/confetti/internal/testkit/costlimit"
)

func withdrawn(t interface{ Fatal(...any) }, reason string) SignedWithdrawal {
	w, err := Withdraw(Withdrawal{Plan: sample().Hash(), At: time.Date(2026, 11, 22, 6, 30, 0, 5, time.UTC), Reason: reason}, publisher())
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func TestTheWithdrawalIsGolden(t *testing.T) {
	w := withdrawn(t, `the question was "wrong" <é>`)
	golden(t, "withdrawal.json", append(w.Marshal(), '\n'))
	for _, end := range []string{"", "\n"} {
		read, err := ParseWithdrawal(append(w.Marshal(), end...))
		if err != nil || !cmp.Equal(w, read) {
			t.Errorf("%v\n%s", err, cmp.Diff(w, read))
		}
	}
}

// A withdrawal holds for the plan that it names, and only as the word of somebody who
// has signed that plan.
func TestAWithdrawalIsOfItsPublishersPlan(t *testing.T) {
	w, p := withdrawn(t, "gone"), sample()
	other := p
	other.Title += "?"
	for name, c := range map[string]struct {
		plan Signed
		want bool
	}{
		"its own":                        {Sign(p, publisher()), true},
		"of two publishers, one of them": {by(t, p, 1, 2), true},
		"another's, of the same name":    {Sign(p, key(2)), false},
		"its publisher's other plan":     {Sign(other, publisher()), false},
	} {
		if got := w.Of(c.plan.Plan.Hash(), c.plan.Signers()); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestWithdrawRefusesAReasonThatIsNoLine(t *testing.T) {
	for name, reason := range map[string]string{
		"none": "", "too long": strings.Repeat("x", maxReasonBytes+1), "two lines": "a\nb", "an escape": "a\x1b]52", "turned round": "a\u202eb", "no text": "\xff",
	} {
		if _, err := Withdraw(Withdrawal{Reason: reason}, publisher()); err == nil {
			t.Errorf("%s: taken", name)
		}
		// What somebody else's program signs is read as strictly.
		w := Withdrawal{At: time.Unix(0, 0), Reason: reason}
		bad := SignedWithdrawal{w, sign(withdrawing, w.canonical(), publisher())}
		if _, err := ParseWithdrawal(bad.Marshal()); err == nil {
			t.Errorf("%s: read", name)
		}
	}
}

func TestParseWithdrawalRefusesEveryOtherForm(t *testing.T) {
	good := string(withdrawn(t, "gone").Marshal())
	// resigned is a text of another form with a signature that holds.
	resigned := func(body string) string {
		return string(appendHead(nil, []Signature{sign(withdrawing, []byte(body), publisher())}, "withdrawal")) + body + "}"
	}
	body := string(withdrawn(t, "gone").canonical())
	plan := sign(signing, []byte(body), publisher())
	refuseAll(t, "withdrawal", map[string]refused{
		"empty":                  {"", "not a signed withdrawal"},
		"a signed plan":          {string(Sign(sample(), publisher()).Marshal()), "is due"},
		"a changed reason":       {strings.Replace(good, "gone", "gine", 1), "does not belong"},
		"signed as a plan":       {string(appendHead(nil, []Signature{plan}, "withdrawal")) + body + "}", "does not belong"},
		"two publishers":         {string(appendHead(nil, by(t, sample(), 1, 2).Signatures(), "withdrawal")) + body + "}", "more than 1"},
		"a space":                {resigned(strings.Replace(body, ",", ", ", 1)), "one form"},
		"a field more":           {resigned(strings.Replace(body, "}", `,"x":1}`, 1)), "one form"},
		"a field twice":          {resigned(strings.Replace(body, "}", `,"reason":"gone"}`, 1)), "one form"},
		"a name in upper case":   {resigned(strings.ToUpper(body[:74]) + body[74:]), "one form"},
		"a short name":           {resigned(strings.Replace(body, `{"plan":"`, `{"plan":"","plan":"`, 1)), "one form"},
		"a day":                  {resigned(strings.Replace(body, "T06:30:00Z", "", 1)), "one form"},
		"text after it":          {good + "x", "one form"},
		"two line ends":          {good + "\n\n", "one form"},
		"cut short":              {good[:len(good)-1], "does not belong"},
		"too long":               {good + strings.Repeat(" ", MaxWithdrawalBytes), "longer"},
		"no object":              {resigned(`"gone"`), "one form"},
		"nothing in the object":  {resigned(`{}`), "one form"},
		"a plan that is no name": {resigned(`{"plan":"zz","at":"2026-11-22T06:30:00Z","reason":"x"}`), "one form"},
	}, func(text []byte) error { _, err := ParseWithdrawal(text); return err })
}

func FuzzParseWithdrawal(f *testing.F) {
	f.Add(withdrawn(f, "gone").Marshal())
	f.Fuzz(func(t *testing.T, text []byte) {
		var w SignedWithdrawal
		var err error
		costlimit.Heap(t, parseFactor, len(text), func() { w, err = ParseWithdrawal(text) })
		if err == nil && !bytes.Equal(w.Marshal(), bytes.TrimSuffix(text, []byte("\n"))) {
			t.Error("two texts of one withdrawal were read")
		}
	})
}
