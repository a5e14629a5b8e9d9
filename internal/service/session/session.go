// Package session admits browsers, which send no token by themselves: a link that opens once gives one browser a
// cookie. Used by internal/service/console, internal/service/serve and internal/service/issuer/identity.
//
// Links are in memory, and sessions there or in a file too, so that they outlast the program; both by the hash of
// their secrets alone.
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

// formOf follows from the cookie, which only the browser has, so that no file holds it.
func formOf(cookie string) string {
	sum := sha256.Sum256([]byte("confetti/form/v1\n" + cookie))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

type byHash map[[sha256.Size]byte]Session

// Sessions are the links that wait and the sessions that last. All methods are safe for
// concurrent use.
type Sessions struct {
	now  func() time.Time
	link time.Duration // until a link is opened

	mu          sync.Mutex
	links, open byHash
	keep        func(open byHash) error // writes sessions down; nil: they are in memory alone
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
	one := Session{Name: name, since: s.now()}
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
func (s *Sessions) Link(name string) (code string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.add(s.links, name)
}

// Follow opens a link, which then is none any more.
func (s *Sessions) Follow(code string) (name string, ok bool) {
	key := sha256.Sum256([]byte(code))
	s.mu.Lock()
	defer s.mu.Unlock()
	link, ok := s.links[key]
	delete(s.links, key)
	return link.Name, ok && s.now().Sub(link.since) < s.link
}

// Open begins a session, and returns what the browser's cookie holds. It is an error if sessions
// are to outlast the program and this one cannot be written down; then it has not begun.
func (s *Sessions) Open(name string) (cookie string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	cookie = s.add(s.open, name)
	if err := s.written(); err != nil {
		delete(s.open, sha256.Sum256([]byte(cookie)))
		return "", err
	}
	return cookie, nil
}

// written keeps the sessions that last, and forgets those that do not.
func (s *Sessions) written() error {
	for key, one := range s.open {
		if s.now().Sub(one.since) >= Time {
			delete(s.open, key)
		}
	}
	if s.keep == nil {
		return nil
	}
	return s.keep(s.open)
}

// Find returns the session of a cookie, while it lasts.
func (s *Sessions) Find(cookie string) (Session, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	one, ok := s.open[sha256.Sum256([]byte(cookie))]
	one.Form = formOf(cookie)
	return one, ok && s.now().Sub(one.since) < Time
}

// End forgets a session. It is an error if that cannot be written down: the session has ended, and
// would be there again after a restart.
func (s *Sessions) End(cookie string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, sha256.Sum256([]byte(cookie)))
	return s.written()
}
