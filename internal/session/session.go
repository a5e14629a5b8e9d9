// Package session lets in browsers, which send no token by themselves: a link that an operator
// was given opens once, and gives one browser a cookie. Links and sessions are in memory, by
// the hash of their secrets.
package session

import (
	"crypto/sha256"
	"encoding/base64"
	"sync"
	"time"

	"github.com/confetti-dp/confetti/internal/rng"
)

// Time is how long a session lasts.
const Time = 12 * time.Hour

const most = 256 // links, and sessions: the oldest go first

// Session is a browser that has opened a link.
type Session struct {
	Name string // the operator's
	Form string // a secret that each form of the session's pages has, and no other site knows

	since time.Time
}

type byHash map[[sha256.Size]byte]Session

// Sessions are the links that wait and the sessions that last. All methods are safe for
// concurrent use.
type Sessions struct {
	now  func() time.Time
	link time.Duration // until a link is opened

	mu          sync.Mutex
	links, open byHash
}

// New keeps links for so long.
func New(link time.Duration, now func() time.Time) *Sessions {
	return &Sessions{now: now, link: link, links: byHash{}, open: byHash{}}
}

// Secret draws 32 bytes, in letters, digits, - and _.
func Secret() string {
	raw := make([]byte, 32)
	rng.Reader(rng.New()).Read(raw)
	return base64.RawURLEncoding.EncodeToString(raw)
}

func (s *Sessions) add(to byHash, name string) (secret string) {
	secret = Secret()
	one := Session{Name: name, Form: Secret(), since: s.now()}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(to) >= most {
		var oldest [sha256.Size]byte
		first := true
		for key, one := range to {
			if first || one.since.Before(to[oldest].since) {
				oldest, first = key, false
			}
		}
		delete(to, oldest)
	}
	to[sha256.Sum256([]byte(secret))] = one
	return secret
}

// Link draws the code of a link for the operator of that name.
func (s *Sessions) Link(name string) (code string) { return s.add(s.links, name) }

// Follow opens a link, which then is none any more.
func (s *Sessions) Follow(code string) (name string, ok bool) {
	key := sha256.Sum256([]byte(code))
	s.mu.Lock()
	defer s.mu.Unlock()
	link, ok := s.links[key]
	delete(s.links, key)
	return link.Name, ok && s.now().Sub(link.since) < s.link
}

// Open begins a session, and returns what the browser's cookie holds.
func (s *Sessions) Open(name string) (cookie string) { return s.add(s.open, name) }

// Find is the session of a cookie, while it lasts.
func (s *Sessions) Find(cookie string) (Session, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	one, ok := s.open[sha256.Sum256([]byte(cookie))]
	return one, ok && s.now().Sub(one.since) < Time
}

// End forgets a session.
func (s *Sessions) End(cookie string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, sha256.Sum256([]byte(cookie)))
}
