// Package bucket keeps blobs in a bucket of an S3-compatible service. Used by internal/service/transfer and
// cmd/confetti/internal/count.
package bucket

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/minio/minio-go/v7/pkg/s3utils"

	"github.com/confetti-dp/confetti/internal/storage/blob"
)

const scheme = "s3://"

// Is reports whether a place is in a bucket, as its scheme says.
func Is(place string) bool { return strings.HasPrefix(place, scheme) }

// Bucket is a blob.Store in a bucket of an S3-compatible service, whose answer to a PUT means
// that the body is kept.
type Bucket struct {
	core      minio.Core
	transport *http.Transport
	bucket    string
	prefix    string        // of all keys; "", or a name and a slash
	patience  time.Duration // for which nothing may move
}

// patience is for a service that answers late, or sends slowly.
const patience = time.Minute

// Open reads the URL of a bucket, and asks nobody:
//
//	s3://BUCKET/PREFIX?endpoint=https://HOST:PORT&region=REGION
//
// PREFIX is a name. Without an endpoint it is AWS_ENDPOINT_URL_S3 or AWS_ENDPOINT_URL, or
// else that of AWS; without a region AWS_REGION, or else us-east-1. The keys are
// AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY of the environment (with AWS_SESSION_TOKEN if
// they are for a time), or those of the profile AWS_PROFILE in the file
// AWS_SHARED_CREDENTIALS_FILE, which is ~/.aws/credentials without it. No error names them.
func Open(place string) (*Bucket, error) {
	u, err := url.Parse(place)
	if err != nil || u.Scheme+"://" != scheme || u.Host == "" || u.Opaque != "" || u.Fragment != "" { // whose text may hold a password
		return nil, errors.New("blob: the URL of the bucket cannot be read: write s3://BUCKET/PREFIX?endpoint=https://HOST")
	}
	if u.User != nil {
		return nil, errors.New("blob: the URL of the bucket holds a key: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the environment, or name a file in AWS_SHARED_CREDENTIALS_FILE")
	}
	if err := s3utils.CheckValidBucketNameStrict(u.Host); err != nil {
		return nil, fmt.Errorf("blob: %q is no bucket: %w", u.Host, err)
	}
	b := &Bucket{bucket: u.Host, patience: patience}
	if prefix := strings.Trim(u.Path, "/"); prefix != "" {
		if !blob.IsName(prefix) {
			return nil, fmt.Errorf("blob: %s%s: what stands behind the bucket is letters, digits, -, _ and slashes, and no pattern", scheme, b.bucket)
		}
		b.prefix = prefix + "/"
	}
	asked := u.Query()
	for name := range asked {
		if name != "endpoint" && name != "region" {
			return nil, fmt.Errorf("blob: %s: the URL of a bucket has endpoint and region behind its question mark, and nothing else", b.of(""))
		}
	}
	address := first(asked.Get("endpoint"), os.Getenv("AWS_ENDPOINT_URL_S3"), os.Getenv("AWS_ENDPOINT_URL"), "https://s3.amazonaws.com")
	endpoint, err := url.Parse(address)
	switch {
	case err != nil || endpoint.User != nil || endpoint.Host == "" || strings.Trim(endpoint.Path, "/") != "" || endpoint.RawQuery != "":
		return nil, fmt.Errorf("blob: %s: its endpoint cannot be read: write https://HOST or https://HOST:PORT", b.of(""))
	case endpoint.Scheme != "https" && !(endpoint.Scheme == "http" && local(endpoint.Hostname())):
		return nil, fmt.Errorf("blob: %s: its endpoint is reached in the clear, and could be anybody: write https://", b.of(""))
	}
	keys := credentials.NewChainCredentials([]credentials.Provider{&credentials.EnvAWS{}, &credentials.FileAWSCredentials{}})
	if v, err := keys.GetWithContext(nil); err != nil || v.AccessKeyID == "" || v.SecretAccessKey == "" {
		return nil, fmt.Errorf("blob: %s: there are no keys for it: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_SHARED_CREDENTIALS_FILE (and AWS_PROFILE)", b.of(""))
	}
	secure := endpoint.Scheme == "https"
	if b.transport, err = minio.DefaultTransport(secure); err != nil {
		return nil, fmt.Errorf("blob: %w", err)
	}
	client, err := minio.New(endpoint.Host, &minio.Options{
		Creds: keys, Secure: secure, Transport: b.transport, Region: first(asked.Get("region"), os.Getenv("AWS_REGION"), "us-east-1"),
	})
	if err != nil {
		return nil, fmt.Errorf("blob: %s: the client refuses its endpoint", b.of(""))
	}
	b.core = minio.Core{Client: client}
	return b, nil
}

// Close closes connections that nobody uses.
func (b *Bucket) Close() { b.transport.CloseIdleConnections() }

// Split returns the store without the last part of its prefix, and that part, a name there; ""
// where there is no prefix.
func (b *Bucket) Split() (*Bucket, string) {
	up := *b
	dir, name := path.Split(strings.TrimSuffix(b.prefix, "/"))
	up.prefix = dir
	return &up, name
}

// first returns the first text that says something.
func first(texts ...string) string {
	return texts[max(0, slices.IndexFunc(texts, func(t string) bool { return t != "" }))]
}

// local reports whether a host is this machine.
func local(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// key returns the key of a name.
func (b *Bucket) key(name string) string {
	blob.Check(name)
	return b.prefix + name
}

// of names what a key lies under, for an error.
func (b *Bucket) of(key string) string {
	return scheme + path.Join(b.bucket, b.prefix) + strings.TrimSuffix("/"+strings.TrimPrefix(key, b.prefix), "/")
}

var (
	errSilent = errors.New("the service says nothing for too long")
	errLength = errors.New("the service says a length that no blob has")
)

// code is what a service may call what went wrong; any other text is not repeated.
var code = regexp.MustCompile(`^[A-Za-z]{1,64}$`)

// fault says what went wrong with a key, of what a service says no more than a code: its
// words could be anything.
func (b *Bucket) fault(key string, err error) error {
	if err == nil {
		return nil
	}
	if refused, ok := errors.AsType[minio.ErrorResponse](err); ok {
		switch {
		case refused.Code == "AccessDenied" || refused.Code == "InvalidAccessKeyId" || refused.Code == "SignatureDoesNotMatch" || refused.StatusCode == http.StatusForbidden:
			return fmt.Errorf("blob: %s: the service does not let these keys in (%d): check the keys of the environment, and what they may do", b.of(key), refused.StatusCode)
		case code.MatchString(refused.Code):
			return fmt.Errorf("blob: %s: the service answers %d %s", b.of(key), refused.StatusCode, refused.Code)
		}
		return fmt.Errorf("blob: %s: the service answers %d", b.of(key), refused.StatusCode)
	}
	if unsent, ok := errors.AsType[*url.Error](err); ok {
		err = unsent.Err // without the address, whose query is signed
	}
	return fmt.Errorf("blob: %s: %w", b.of(key), err)
}

// attempts are how often an answer is asked for that breaks off. What is refused for now,
// and what does not reach the service, the client repeats ten times within some seconds.
const attempts = 4

// broke reports an answer that broke off, or cannot be read, which the client does not
// repeat.
func broke(err error) bool {
	_, refused := errors.AsType[minio.ErrorResponse](err)
	_, unsent := errors.AsType[*url.Error](err)
	return err != nil && !refused && !unsent && !errors.Is(err, errSilent) && !errors.Is(err, errLength) && !errors.Is(err, fs.ErrNotExist)
}

// ask calls do, and again while what it is answered breaks off. Its context ends when it
// has not called moved for too long.
func (b *Bucket) ask(ctx context.Context, key string, do func(ctx context.Context, moved func()) error) error {
	var err error
	for i := range attempts {
		if i > 0 {
			select {
			case <-ctx.Done():
				return b.fault(key, ctx.Err())
			case <-time.After(100 * time.Millisecond << i):
			}
		}
		within, cancel := context.WithCancelCause(ctx)
		watch := time.AfterFunc(b.patience, func() { cancel(errSilent) })
		err = do(within, func() { watch.Reset(b.patience) })
		watch.Stop()
		if cause := context.Cause(within); cause != nil { // the client may end without an error then
			err = cause
		}
		cancel(nil)
		if ctx.Err() != nil || !broke(err) {
			break
		}
	}
	return b.fault(key, err)
}

// moving tells of each reading.
type moving struct {
	io.ReadSeeker
	moved func()
}

func (m moving) Read(p []byte) (int, error) {
	m.moved()
	return m.ReadSeeker.Read(p)
}

func (b *Bucket) Put(ctx context.Context, name string, body []byte) error {
	key, digest := b.key(name), sha256.Sum256(body) // which is signed: what comes there damaged is refused
	return b.ask(ctx, key, func(ctx context.Context, moved func()) error {
		_, err := b.core.PutObject(ctx, b.bucket, key, moving{bytes.NewReader(body), moved}, int64(len(body)), "", hex.EncodeToString(digest[:]),
			minio.PutObjectOptions{DisableContentSha256: true, ContentType: "application/octet-stream"})
		return err
	})
}

// longest is more than any blob has, bytes.
const longest = 1 << 31

func (b *Bucket) Get(ctx context.Context, name string) (body []byte, err error) {
	key := b.key(name)
	err = b.ask(ctx, key, func(ctx context.Context, moved func()) error {
		r, is, _, err := b.core.GetObject(ctx, b.bucket, key, minio.GetObjectOptions{})
		if err != nil {
			return absent(err)
		}
		defer r.Close()
		if is.Size < 0 || is.Size > longest {
			return errLength
		}
		body = make([]byte, is.Size)
		for at := 0; at < len(body); {
			n, err := r.Read(body[at:])
			moved()
			if at += n; at < len(body) && err != nil {
				return fmt.Errorf("the answer breaks off: %w", err)
			}
		}
		return nil
	})
	if err = b.sure(ctx, name, err); err != nil {
		return nil, err
	}
	return body, nil
}

// absent is fs.ErrNotExist where a service says that there is no such key.
func absent(err error) error {
	if refused, ok := errors.AsType[minio.ErrorResponse](err); ok && refused.Code == minio.NoSuchKey {
		return fs.ErrNotExist
	}
	return err
}

// sure makes sure that there is no blob of a name. What stands before a service that it does
// not reach says so too, and the client of a bucket that is not there: but they list nothing.
func (b *Bucket) sure(ctx context.Context, name string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		if _, fault := b.List(ctx, name); fault != nil {
			return fault
		}
	}
	return err
}

func (b *Bucket) Has(ctx context.Context, name string) (there bool, err error) {
	key := b.key(name)
	err = b.ask(ctx, key, func(ctx context.Context, _ func()) error {
		_, err := b.core.StatObject(ctx, b.bucket, key, minio.StatObjectOptions{})
		return absent(err)
	})
	if err = b.sure(ctx, name, err); errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// objects returns those under a name.
func (b *Bucket) objects(ctx context.Context, under string) (all []minio.ObjectInfo, err error) {
	key, owner := b.prefix, false
	if under != "" {
		key = b.key(under) + "/"
	}
	err = b.ask(ctx, key, func(ctx context.Context, moved func()) error {
		all = nil
		for o := range b.core.ListObjectsIter(ctx, b.bucket, minio.ListObjectsOptions{Prefix: key, Recursive: true, FetchOwner: &owner}) {
			if o.Err != nil {
				return o.Err
			}
			moved()
			if name, ours := strings.CutPrefix(o.Key, b.prefix); ours && blob.IsName(name) && strings.HasPrefix(o.Key, key) {
				all = append(all, minio.ObjectInfo{Key: o.Key, Size: o.Size})
			}
		}
		return nil
	})
	slices.SortFunc(all, func(x, y minio.ObjectInfo) int { return strings.Compare(x.Key, y.Key) })
	return all, err
}

func (b *Bucket) List(ctx context.Context, under string) (names []string, err error) {
	all, err := b.objects(ctx, under)
	if err != nil {
		return nil, err
	}
	for _, o := range all {
		names = append(names, strings.TrimPrefix(o.Key, b.prefix))
	}
	return names, nil
}

func (b *Bucket) Bytes(ctx context.Context, under string) (total int64, err error) {
	all, err := b.objects(ctx, under)
	for _, o := range all {
		total += o.Size
	}
	return total, err
}

func (b *Bucket) Delete(ctx context.Context, under string) error {
	all, err := b.objects(ctx, under)
	if err != nil || len(all) == 0 {
		return err
	}
	return b.ask(ctx, b.key(under), func(ctx context.Context, moved func()) error {
		results, err := b.core.RemoveObjectsWithIter(ctx, b.bucket, slices.Values(all), minio.RemoveObjectsOptions{})
		if err != nil {
			return err
		}
		for r := range results {
			moved()
			if r.Err != nil {
				return r.Err
			}
		}
		return nil
	})
}
