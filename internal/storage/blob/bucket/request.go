package bucket

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"time"

	"github.com/confetti-dp/confetti/internal/storage/blob"
)

var (
	errSilent = errors.New("the service says nothing for too long")
	errLength = errors.New("the service says a length that no blob and no listing has")
)

// refused is an answer other than 200.
type refused struct {
	status int
	code   string // what the service calls it; "" where it does not say so in a word
}

func (r refused) Error() string { return fmt.Sprintf("the service answers %d", r.status) }

// word is what a service may call what went wrong; any other text is not repeated.
var word = regexp.MustCompile(`^[A-Za-z0-9]{1,64}$`)

// fault says what went wrong with a key, of what a service says no more than a code: its
// words could be anything.
func (b *Bucket) fault(key string, err error) error {
	if err == nil {
		return nil
	}
	if r, ok := errors.AsType[refused](err); ok {
		switch {
		case r.code == "RequestTimeTooSkewed":
			return fmt.Errorf("blob: %s: the service's clock shows another time than this machine's (%d): set this one", b.of(key), r.status)
		case r.code == "AccessDenied" || r.code == "InvalidAccessKeyId" || r.code == "SignatureDoesNotMatch" || r.status == http.StatusForbidden:
			return fmt.Errorf("blob: %s: the service does not let these keys in (%d): check the keys of the environment, and what they may do", b.of(key), r.status)
		case r.status/100 == 3:
			return fmt.Errorf("blob: %s: the service sends us elsewhere (%d), and we do not go there: name the bucket's own endpoint and region", b.of(key), r.status)
		case r.code != "":
			return fmt.Errorf("blob: %s: the service answers %d %s", b.of(key), r.status, r.code)
		}
		return fmt.Errorf("blob: %s: %w", b.of(key), r)
	}
	if unsent, ok := errors.AsType[*url.Error](err); ok {
		err = unsent.Err // without the address
	}
	return fmt.Errorf("blob: %s: %w", b.of(key), err)
}

// passes reports an error that may be gone when somebody asks again: a service that is busy or
// does not answer, a body that broke off or came damaged, an answer that cannot be read.
func passes(err error) bool {
	if r, ok := errors.AsType[refused](err); ok {
		return slices.Contains([]int{http.StatusRequestTimeout, http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout}, r.status) ||
			slices.Contains([]string{"RequestTimeout", "SlowDown", "Throttling", "InternalError", "OperationAborted", "IncompleteBody", "BadDigest", "XAmzContentSHA256Mismatch"}, r.code)
	}
	_, stranger := errors.AsType[*tls.CertificateVerificationError](err)
	return err != nil && !stranger && !errors.Is(err, errSilent) && !errors.Is(err, errLength) && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, blob.ErrShort)
}

// A request is made so often at most, within some eleven seconds of waiting.
const (
	tries    = 10
	mostWait = 2 * time.Second
)

// ask calls do, and again while its error passes. The context of a call ends when it has not
// called moved for too long.
func (b *Bucket) ask(ctx context.Context, key string, do func(ctx context.Context, moved func()) error) error {
	var err error
	for i := range tries {
		if i > 0 {
			select {
			case <-ctx.Done():
				return b.fault(key, ctx.Err())
			case <-time.After(min(b.wait<<(i-1), mostWait)):
			}
		}
		within, cancel := context.WithCancelCause(ctx)
		watch := time.AfterFunc(b.patience, func() { cancel(errSilent) })
		err = do(within, func() { watch.Reset(b.patience) })
		watch.Stop()
		if cause := context.Cause(within); err != nil && cause != nil {
			err = cause
		}
		cancel(nil)
		if ctx.Err() != nil || !passes(err) {
			break
		}
	}
	return b.fault(key, err)
}

// moving tells of each reading.
type moving struct {
	io.Reader
	moved func()
}

func (m moving) Read(p []byte) (int, error) {
	m.moved()
	return m.Reader.Read(p)
}

// request is one of S3's, but for where the bucket is.
type request struct {
	method, key string
	query       url.Values
	header      http.Header
	body        []byte
	want        int // the status of a good answer; 0: 200
}

// send makes a signed request once, and hands a good answer's body to read.
func (b *Bucket) send(ctx context.Context, r request, moved func(), read func(body io.Reader, length int64) error) error {
	req, err := http.NewRequestWithContext(ctx, r.method, "", nil)
	if err != nil {
		return err
	}
	req.URL = at(b.root, r.key, r.query)
	if r.header != nil {
		req.Header = r.header.Clone()
	}
	if len(r.body) > 0 {
		req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(moving{bytes.NewReader(r.body), moved}), nil }
		req.Body, _ = req.GetBody()
		req.ContentLength = int64(len(r.body))
	}
	sum := sha256.Sum256(r.body) // which is signed: what comes there damaged is refused
	b.keys.sign(req, b.region, hex.EncodeToString(sum[:]), time.Now())
	res, err := b.http.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	moved()
	if res.StatusCode != cmp.Or(r.want, http.StatusOK) {
		return refusal(res)
	}
	return read(moving{res.Body, moved}, res.ContentLength)
}

// refusal reads an answer other than 200.
func refusal(res *http.Response) error {
	var said struct {
		XMLName xml.Name `xml:"Error"`
		Code    string
	}
	r := refused{status: res.StatusCode}
	if shallow(io.LimitReader(res.Body, 64<<10)).Decode(&said) == nil && word.MatchString(said.Code) {
		r.code = said.Code
	}
	return r
}

// What an answer may have: a thousand keys of 1,024 bytes, each three when it is escaped, and
// what services say of them.
const (
	mostXML   = 4 << 20
	mostDepth = 8
)

// readXML reads an answer whole.
func readXML(body io.Reader, into any) error {
	text, err := io.ReadAll(io.LimitReader(body, mostXML+1))
	switch {
	case err != nil:
		return fmt.Errorf("the answer breaks off: %w", err)
	case len(text) > mostXML:
		return errLength
	}
	if shallow(bytes.NewReader(text)).Decode(into) != nil { // whose error repeats what the service says
		return errors.New("the service's answer cannot be read")
	}
	return nil
}

// shallow reads XML that is not deep: the standard decoder remembers every element that is open.
func shallow(r io.Reader) *xml.Decoder {
	return xml.NewTokenDecoder(&depth{of: xml.NewDecoder(r)})
}

type depth struct {
	of *xml.Decoder
	at int
}

func (d *depth) Token() (xml.Token, error) {
	t, err := d.of.RawToken()
	switch t.(type) {
	case xml.StartElement:
		d.at++
	case xml.EndElement:
		d.at--
	}
	if d.at > mostDepth {
		return nil, errors.New("too deep")
	}
	return t, err
}
