package client

import (
	"context"
	"errors"
	"io"
)

// Store keeps what a device must not lose, one respondent's: bytes under names, of which
// those that begin with "spool/" wait to be sent. What a method has acknowledged is there
// after a crash; what it has not is there whole or not at all, but for the tail of an
// Append. A folder of files is one (client/native), and a browser's database another.
type Store interface {
	// Lock keeps everybody else out, in this program and others, until unlock is called or
	// the program dies. It makes the store if need be.
	Lock() (unlock func(), err error)
	// Load reads what is kept under a name; fs.ErrNotExist where nothing is.
	Load(name string) ([]byte, error)
	// Append keeps data behind the first so many bytes of a name, and cuts off what was
	// there; fs.ErrNotExist where nothing is.
	Append(name string, at int, data []byte) error
	// Replace keeps data under a name, whole or not at all.
	Replace(name string, data []byte) error
	// Remove forgets a name; nothing is no error.
	Remove(name string) error
	// List says how many bytes are kept under each name. The caller holds the lock.
	List() (map[string]int64, error)
	// Stamp is a value that is another one, by ==, after each change of a name, whoever made
	// it; fs.ErrNotExist where nothing is kept.
	Stamp(name string) (any, error)
}

// Transport carries one request to a service, over TLS, with no header but those that the
// request has and every device sends alike: no cookie, no redirect. It is net/http natively
// (client/native), and fetch in a browser. One that keeps connections has a method
// CloseIdleConnections too.
type Transport interface {
	// Do returns an answer of whatever status, whose Body the caller closes. An error means
	// that the service was not reached.
	Do(ctx context.Context, r Request) (Response, error)
}

// Request is what a device asks of a service.
type Request struct {
	Method, URL   string
	Type          string // of the body; "": none
	Authorization string // the header; "": none
	Body          []byte
	Known         bool // the service may be shown who the respondent is; otherwise nothing of it may be
}

// Response is what a service answers.
type Response struct {
	Status     int
	Type       string // header Content-Type
	RetryAfter string // header of that name
	Body       io.ReadCloser
}

// stores checks that there is a store and a transport.
func (o Options) stores() error {
	if o.Store == nil {
		return errors.New("no store to keep the ledger in: give Options.Store one that outlives the program, such as native.Folder")
	}
	return o.carries()
}

func (o Options) carries() error {
	if o.Transport == nil {
		return errors.New("nothing to carry requests: give Options.Transport, such as native.Transport")
	}
	return nil
}

// idle gives connections back.
func (o Options) idle() {
	if t, ok := o.Transport.(interface{ CloseIdleConnections() }); ok {
		t.CloseIdleConnections()
	}
}
