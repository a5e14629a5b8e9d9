package client

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"reflect"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/client/internal/journal"
	"github.com/confetti-dp/confetti/internal/testkit/costlimit"
)

// full sets every field of what v points to, each to another value.
func full(v reflect.Value, next *int) {
	*next++
	switch v.Type() {
	case reflect.TypeFor[time.Time]():
		v.Set(reflect.ValueOf(someTime.Add(time.Duration(*next) * 1000001 * time.Microsecond)))
		return
	case reflect.TypeFor[Status]():
		v.SetString(string(Sent))
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		full(v.Elem(), next)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				full(v.Field(i), next)
			}
		}
	case reflect.Slice:
		n := 2
		if v.Type().Elem().Kind() == reflect.Uint8 {
			n = 32
		}
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			full(v.Index(i), next)
		}
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int:
		v.SetInt(int64(*next))
	case reflect.Uint8:
		v.SetUint(uint64(*next % 256))
	case reflect.Float64:
		v.SetFloat(1 / float64(*next))
	case reflect.String:
		v.SetString(fmt.Sprint("text ", *next))
	default:
		panic(v.Type().String())
	}
}

// fullLedger has two of everything, and no field that is zero.
func fullLedger() *Ledger {
	next := 0
	l := &Ledger{Since: someTime, OptedIn: true, Entries: []Entry{}, backstops: map[[32]byte][]byte{}}
	full(reflect.ValueOf(&l.Studies).Elem(), &next)
	for i := range 2 {
		var e Entry
		full(reflect.ValueOf(&e).Elem(), &next)
		e.Charge.Adjacency = "label"
		var kept []stated
		full(reflect.ValueOf(&kept).Elem(), &next)
		e.Statements, _ = recalled(kept)
		e.Plan = fmt.Sprintf("%064x", next)
		if e.Covered = i == 1; e.Covered {
			e.Study = l.Entries[0].Study
		}
		for j := range e.Parts {
			s := spokenPart{Instance: e.Parts[j].Instance, Size: 4, Body: 2, Bodies: []byte{1, 2, 3, byte(next)}, Dummies: []byte{4}}
			switch {
			case i == 1 && j == 0:
				s = spokenPart{Instance: s.Instance, Vector: []byte{7, 8}}
			case i == 1:
				s = spokenPart{Instance: s.Instance, Messages: []byte{1, 2, 3, 4, 5}}
			}
			e.Parts[j].said, e.Parts[j].Messages, e.Parts[j].sealed = s, s.said(), j == 0
		}
		l.backstops[[32]byte(e.Backed.Key)] = []byte{byte(next), 2}
		if !l.add(e) {
			panic("an entry that makes no sense")
		}
	}
	return l
}

// What is compacted reads back whole, each field of it, and so does a ledger without anything.
func TestCompactedReadsBack(t *testing.T) {
	for name, l := range map[string]*Ledger{"full": fullLedger(), "empty": {Entries: []Entry{}, backstops: map[[32]byte][]byte{}}} {
		l.index()
		again, err := expand(l.compacted())
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		again.index()
		if !reflect.DeepEqual(again, l) {
			t.Errorf("%s: read as\n%+v, not\n%+v", name, again, l)
		}
	}
	if l, err := expand(nil); err != nil || len(l.Entries) > 0 {
		t.Errorf("of nothing: %v, %v", l, err)
	}
}

// The form in which a ledger is compacted, which later versions read.
func TestCompactedIsGolden(t *testing.T) {
	got := fullLedger().compacted()
	want, err := os.ReadFile("testdata/compacted-v4-events")
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("the form of the ledger changed, and devices hold the old one (%v): %d bytes, not %d", err, len(got), len(want))
	}
	// What was written before events were counted reads as it did, and is written so again.
	if want, err = os.ReadFile("testdata/compacted-v4"); err != nil {
		t.Fatal(err)
	}
	if l, err := expand(want); err != nil || !bytes.Equal(l.compacted(), want) {
		t.Errorf("a ledger of an earlier version is another one now: %v", err)
	}
}

// Records are compacted to what they say: nothing that is asked of a ledger changes.
func TestCompactingChangesNothing(t *testing.T) {
	_, lines, _, err := journal.Parse(story())
	if err != nil {
		t.Fatal(err)
	}
	lines = append(lines, manyRecords(t, 30)...)
	for cut := range lines {
		before, err := replay(nil, lines[:cut])
		if err != nil {
			t.Fatal(err)
		}
		behind, err := replay(before.compacted(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := Lost(before, behind); err != nil {
			t.Fatalf("after %d records: %v", cut, err)
		}
		whole, err := replay(before.compacted(), lines[cut:])
		if err != nil {
			t.Fatalf("after %d records, and those behind: %v", cut, err)
		}
		all, err := replay(nil, lines)
		if err = errors.Join(err, Lost(all, whole)); err != nil {
			t.Fatalf("after %d records, and those behind: %v", cut, err)
		}
	}
}

// Whatever loses a charge, or anything that one follows from, is told.
func TestALostChargeIsTold(t *testing.T) {
	for name, lose := range map[string]func(*Ledger){
		"an entry":           func(l *Ledger) { l.Entries = l.Entries[:1] },
		"a part of a charge": func(l *Ledger) { l.Entries[0].Charge.Epsilon /= 2 },
		"a tail":             func(l *Ledger) { l.Entries[1].Charge.Tail = 0 },
		"when":               func(l *Ledger) { l.Entries[0].At = l.Entries[0].At.Add(-time.Hour) },
		"its study":          func(l *Ledger) { l.Entries[0].Study = "" },
		"its backstop":       func(l *Ledger) { l.Entries[0].Backed = nil },
		"what is kept":       func(l *Ledger) { clear(l.backstops) },
		"a round":            func(l *Ledger) { l.Studies = l.Studies[:1] },
		"consent":            func(l *Ledger) { l.OptedIn = false },
		"that it may wait":   func(l *Ledger) { l.Entries[0].Parts[0].Status = Waiting },
		"that it was sealed": func(l *Ledger) { l.Entries[0].Parts[0].sealed = false },
	} {
		twin := fullLedger()
		lose(twin)
		if Lost(fullLedger(), twin) == nil {
			t.Errorf("%s is lost, and nobody says so", name)
		}
	}
	if err := Lost(fullLedger(), fullLedger()); err != nil {
		t.Error(err)
	}
}

// A year of fifty plans a day has less than 5 MB, with what was said.
func TestCompactedIsSmall(t *testing.T) {
	const plans = 365 * 50
	l, err := replay(nil, manyRecords(t, plans))
	if err != nil {
		t.Fatal(err)
	}
	if size := len(l.compacted()); size > 5<<20 {
		t.Errorf("%d plans have %d bytes", plans, size)
	} else {
		t.Logf("%d bytes a plan", size/plans)
	}
}

func FuzzExpand(f *testing.F) {
	whole := fullLedger().compacted()
	f.Add(whole)
	f.Add([]byte{0})
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 7})
	f.Add(bytes.Replace(whole, []byte("text"), []byte{0xff, 0xff, 3, 1}, 3))
	f.Fuzz(func(t *testing.T, data []byte) {
		costlimit.Heap(t, costlimit.Factor, len(data), func() {
			l, err := expand(data)
			if err != nil {
				return
			}
			if c := l.Spent(someTime, time.Hour); !c.valid() && c.Delta <= 1 {
				t.Errorf("%+v was spent", c)
			}
		})
	})
}
