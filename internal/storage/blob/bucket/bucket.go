// Package bucket keeps blobs in a bucket of an S3-compatible service, by five requests that it signs itself. Used by
// internal/service/transfer and cmd/internal/server/count.
package bucket

import (
	"bytes"
	"context"
	"crypto/md5"
	"encoding/base64"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/confetti-dp/confetti/internal/storage/blob"
)

// Bucket is a blob.Store in a bucket of an S3-compatible service, whose answer to a PUT means
// that the body is kept.
type Bucket struct {
	http     *http.Client
	root     url.URL // below which the keys lie
	region   string
	keys     keys
	bucket   string
	prefix   string        // of all keys; "", or a name and a slash
	patience time.Duration // for which nothing may move
	wait     time.Duration // between the first two tries
}

// Close closes connections that nobody uses.
func (b *Bucket) Close() { b.http.CloseIdleConnections() }

// Split returns the store without the last part of its prefix, and that part, a name there; ""
// where there is no prefix.
func (b *Bucket) Split() (*Bucket, string) {
	up := *b
	dir, name := path.Split(strings.TrimSuffix(b.prefix, "/"))
	up.prefix = dir
	return &up, name
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

// nothing reads an answer that says no more than that it is good.
func nothing(io.Reader, int64) error { return nil }

func (b *Bucket) Put(ctx context.Context, name string, body []byte) error {
	key := b.key(name)
	return b.ask(ctx, key, func(ctx context.Context, moved func()) error {
		return b.send(ctx, request{method: http.MethodPut, key: key, header: http.Header{"Content-Type": {"application/octet-stream"}}, body: body}, moved, nothing)
	})
}

// longest is more than any blob has, and atOnce is what memory a length is believed for, bytes.
const (
	longest = 1 << 31
	atOnce  = 64 << 20
)

func (b *Bucket) Get(ctx context.Context, name string) (body []byte, err error) {
	key := b.key(name)
	err = b.ask(ctx, key, func(ctx context.Context, moved func()) error {
		return absent(b.send(ctx, request{method: http.MethodGet, key: key}, moved, func(r io.Reader, length int64) error {
			if length < 0 || length > longest {
				return errLength
			}
			read := bytes.NewBuffer(make([]byte, 0, min(length, atOnce)+bytes.MinRead))
			if _, err := read.ReadFrom(r); err != nil {
				return fmt.Errorf("the answer breaks off: %w", err)
			}
			body = read.Bytes()
			return nil
		}))
	})
	if err = b.sure(ctx, name, err); err != nil {
		return nil, err
	}
	return body, nil
}

func (b *Bucket) Part(ctx context.Context, name string, from int64, length int) (body []byte, err error) {
	key := b.key(name)
	header := http.Header{"Range": {fmt.Sprintf("bytes=%d-%d", from, from+int64(length)-1)}}
	err = b.ask(ctx, key, func(ctx context.Context, moved func()) error {
		return absent(b.send(ctx, request{method: http.MethodGet, key: key, header: header, want: http.StatusPartialContent}, moved, func(r io.Reader, said int64) error {
			if said >= 0 && said < int64(length) {
				return blob.ErrShort
			}
			body = make([]byte, length)
			if said != int64(length) {
				return errLength
			}
			if _, err := io.ReadFull(r, body); err != nil {
				return fmt.Errorf("the answer breaks off: %w", err)
			}
			return nil
		}))
	})
	if err = b.sure(ctx, name, err); err != nil {
		return nil, err
	}
	return body, nil
}

// absent returns fs.ErrNotExist where a service says that there is no such key, and blob.ErrShort where it says that of so
// many bytes.
func absent(err error) error {
	r, ok := errors.AsType[refused](err)
	switch {
	case ok && r.status == http.StatusNotFound && (r.code == "" || r.code == "NoSuchKey"):
		return fs.ErrNotExist
	case ok && r.status == http.StatusRequestedRangeNotSatisfiable:
		return blob.ErrShort
	}
	return err
}

// sure makes sure that there is no blob of a name. What stands before a service that it does
// not reach says so too, and so does a service without the bucket: but they list nothing.
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
	err = b.ask(ctx, key, func(ctx context.Context, moved func()) error {
		return absent(b.send(ctx, request{method: http.MethodHead, key: key}, moved, nothing))
	})
	if err = b.sure(ctx, name, err); errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// object is one of a listing.
type object struct {
	Key  string
	Size int64
}

// listing is one page of the objects under a prefix.
type listing struct {
	XMLName      xml.Name `xml:"ListBucketResult"`
	Contents     []object
	EncodingType string
	IsTruncated  bool
	Next         string `xml:"NextContinuationToken"`
}

// most is how many a page of a listing or of a deletion has, and how many pages there are.
const (
	mostObjects = 1000
	mostPages   = 1 << 12
)

// objects returns those under a name.
func (b *Bucket) objects(ctx context.Context, under string) (all []object, err error) {
	key := b.prefix
	if under != "" {
		key = b.key(under) + "/"
	}
	for token, pages := "", 0; ; pages++ {
		var page listing
		query := url.Values{"list-type": {"2"}, "prefix": {key}, "max-keys": {fmt.Sprint(mostObjects)}, "encoding-type": {"url"}} // XML has no way to write some keys
		if token != "" {
			query.Set("continuation-token", token)
		}
		err := b.ask(ctx, key, func(ctx context.Context, moved func()) error {
			page = listing{}
			return b.send(ctx, request{method: http.MethodGet, query: query}, moved, func(r io.Reader, _ int64) error { return readXML(r, &page) })
		})
		if err != nil {
			return nil, err
		}
		for _, o := range page.Contents {
			if page.EncodingType == "url" {
				if o.Key, err = url.QueryUnescape(o.Key); err != nil {
					continue // no name
				}
			}
			if name, ours := strings.CutPrefix(o.Key, b.prefix); !ours || !blob.IsName(name) || !strings.HasPrefix(o.Key, key) {
				continue
			}
			if o.Size < 0 || o.Size > longest {
				return nil, b.fault(o.Key, errLength)
			}
			all = append(all, o)
		}
		if !page.IsTruncated {
			slices.SortFunc(all, func(x, y object) int { return strings.Compare(x.Key, y.Key) })
			return all, nil
		}
		if page.Next == "" || page.Next == token || len(page.Contents) > mostObjects || pages == mostPages {
			return nil, b.fault(key, errors.New("the service's listing has no end"))
		}
		token = page.Next
	}
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
	if err != nil {
		return err
	}
	for some := range slices.Chunk(all, mostObjects) {
		if err := b.remove(ctx, b.key(under), some); err != nil {
			return err
		}
	}
	return nil
}

// remove deletes at most mostObjects.
func (b *Bucket) remove(ctx context.Context, under string, some []object) error {
	var asked struct {
		XMLName xml.Name `xml:"http://s3.amazonaws.com/doc/2006-03-01/ Delete"`
		Object  []struct{ Key string }
		Quiet   bool
	}
	asked.Quiet = true
	for _, o := range some {
		asked.Object = append(asked.Object, struct{ Key string }{o.Key})
	}
	body, err := xml.Marshal(asked)
	if err != nil {
		return b.fault(under, err)
	}
	sum := md5.Sum(body) // which services want of this request beside the signature
	header := http.Header{"Content-Type": {"application/xml"}, "Content-Md5": {base64.StdEncoding.EncodeToString(sum[:])}}
	return b.ask(ctx, under, func(ctx context.Context, moved func()) error {
		return b.send(ctx, request{method: http.MethodPost, query: url.Values{"delete": {""}}, header: header, body: body}, moved, func(r io.Reader, _ int64) error {
			var answer struct {
				XMLName xml.Name `xml:"DeleteResult"`
				Error   []struct{ Code string }
			}
			if err := readXML(r, &answer); err != nil {
				return err
			}
			for _, e := range answer.Error {
				if e.Code != "NoSuchKey" { // of somebody who deletes too
					if !word.MatchString(e.Code) {
						e.Code = ""
					}
					return refused{http.StatusOK, e.Code}
				}
			}
			return nil
		})
	})
}
