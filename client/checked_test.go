package client_test

import (
	"bytes"
	"testing"

	"github.com/confetti-dp/confetti/client"
	"github.com/confetti-dp/confetti/client/internal/journal"
)

// What a program found of a plan it recalls, as it was; another program, another plan, or a damaged
// record is checked anew, and so is everything where no program is named.
func TestACheckIsKeptForOnePlanAndProgram(t *testing.T) {
	p, _ := sample(t, "rr", 2, 3)
	s := newService(t, &p, false)
	o := device(t, s)
	without := opened(t, p, o)
	if _, err := o.Store.Load("checked"); err == nil {
		t.Fatal("a check is kept for no program")
	}
	want := without.Charge()
	o.Program = "one"
	if c := opened(t, p, o).Charge(); c != want {
		t.Fatalf("%+v, not %+v", c, want)
	}
	line, err := o.Store.Load("checked")
	if err != nil {
		t.Fatal(err)
	}
	// A record of other numbers shows whether it was read.
	keep := func(old, new string) client.Charge {
		t.Helper()
		record := bytes.TrimSuffix(line[9:], []byte("\n"))
		changed := bytes.Replace(record, []byte(old), []byte(new), 1)
		if old != "" && bytes.Equal(changed, record) {
			t.Fatalf("%s has no %s", record, old)
		}
		if err := o.Store.Replace("checked", journal.Line(nil, changed)); err != nil {
			t.Fatal(err)
		}
		return opened(t, p, o).Charge()
	}
	planted := `"charge":{"epsilon":0.125,"delta":1e-9,"local":3},"was":`
	if c := keep(`"charge":`, planted); c != want { // a member that is not known
		t.Errorf("a record of another form is taken: %+v", c)
	}
	if c := keep(`"delta":`, `"epsilon":9,"delta":`); c == want {
		t.Error("a record of this plan and program is not recalled")
	}
	for old, new := range map[string]string{`"program":"one"`: `"program":"two"`, `"plan":"`: `"plan":"0`, `"epsilon":`: `"epsilon":-`, "{": "[", "": ""} {
		if c := keep(old, new); c != want {
			t.Errorf("%s for %s: %+v", new, old, c)
		}
	}
	for at := range line {
		changed := bytes.Clone(line)
		changed[at] ^= 1
		for _, bad := range [][]byte{changed, line[:at]} {
			if err := o.Store.Replace("checked", bad); err != nil {
				t.Fatal(err)
			}
			if at%31 == 0 {
				if c := opened(t, p, o).Charge(); c != want {
					t.Fatalf("damaged at %d: %+v", at, c)
				}
			}
		}
	}
	o.Program = "two"
	if err := o.Store.Replace("checked", line); err != nil {
		t.Fatal(err)
	}
	if c := opened(t, p, o).Charge(); c != want {
		t.Errorf("another program: %+v", c)
	}
	if after, _ := o.Store.Load("checked"); bytes.Equal(after, line) {
		t.Error("another program's check is not kept")
	}
}
