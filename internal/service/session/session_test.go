package session

import (
	"testing"
	"time"
)

// Of links and sessions there are no more than so many, a link opens once, and old ones of
// both do not open.
func TestSessionsAreFewAndEnd(t *testing.T) {
	now := time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)
	s := New(15*time.Minute, func() time.Time { return now })
	first := s.Link("ada")
	for range most {
		now = now.Add(time.Millisecond)
		s.Link("ada")
	}
	if _, ok := s.Follow(first); ok || len(s.links) != most {
		t.Errorf("%d links", len(s.links))
	}
	good := s.Link("ada")
	if name, ok := s.Follow(good); !ok || name != "ada" {
		t.Errorf("a link opens: %v, for %q", ok, name)
	}
	if _, ok := s.Follow(good); ok {
		t.Error("a link opens twice")
	}
	late := s.Link("ada")
	now = now.Add(15 * time.Minute)
	if _, ok := s.Follow(late); ok {
		t.Error("an old link opens")
	}
	cookie, ended := begun(t, s, "ada"), begun(t, s, "ada")
	one, ok := s.Find(cookie)
	other, _ := s.Find(ended)
	if !ok || one.Name != "ada" || one.Form == "" || one.Form == other.Form {
		t.Errorf("a session is found: %v, of %q", ok, one.Name)
	}
	if _, ok := s.Find("x"); ok {
		t.Error("a session that nobody opened is found")
	}
	if err := s.End(ended); err != nil {
		t.Error(err)
	}
	if _, ok := s.Find(ended); ok {
		t.Error("a session that was ended goes on")
	}
	now = now.Add(Time)
	if _, ok := s.Find(cookie); ok {
		t.Error("an old session goes on")
	}
}
