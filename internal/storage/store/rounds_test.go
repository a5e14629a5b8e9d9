package store

import (
	"bytes"
	"errors"
	"testing"
	"time"
)

func TestWhatFollowsARoundIsWrittenOnce(t *testing.T) {
	both(t, func(t *testing.T, dsn string) {
		s, ctx := filled(t, dsn), t.Context()
		for range 2 {
			n, err := s.Following(ctx, "aa")
			if err != nil || string(n.Signed) != "round 2" || n.Reason != "" || !n.Written.Equal(now) || !n.Announced.Equal(now) {
				t.Errorf("what follows is %+v: %v", n, err)
			}
			if o, err := s.Follow(ctx, "aa", Next{Reason: "another end", Written: now}, nil); o != Again || err != nil {
				t.Error("written again:", o, err)
			}
			if err := s.Announced(ctx, "aa", now.Add(time.Hour)); err != nil {
				t.Error(err)
			}
		}
		if _, err := s.Following(ctx, "cc"); !errors.Is(err, ErrUnknown) {
			t.Error("an open round is followed:", err)
		}
		if o, err := s.Follow(ctx, "nobody's", Next{Written: now}, nil); o != Failed || err == nil {
			t.Error("a plan that is not there is followed:", o, err)
		}
	})
}

func TestStatesAreThoseOfTheirNames(t *testing.T) {
	both(t, func(t *testing.T, dsn string) {
		s, ctx := filled(t, dsn), t.Context()
		for range 2 { // twice is once
			if err := s.KeepState(ctx, []byte("a state")); err != nil {
				t.Fatal(err)
			}
		}
		if body, err := s.State(ctx, stateName([]byte("a state"))); err != nil || !bytes.Equal(body, []byte("a state")) {
			t.Errorf("%q: %v", body, err)
		}
		if _, err := s.State(ctx, stateName([]byte("another"))); !errors.Is(err, ErrUnknown) {
			t.Error(err)
		}
		if _, err := s.writer.Exec("INSERT INTO states (name, body) VALUES ('00', 'forged')"); err != nil {
			t.Fatal(err)
		}
		if _, err := s.State(ctx, "00"); !errors.Is(err, ErrDamaged) {
			t.Error("a state under another's name is handed out:", err)
		}
	})
}
