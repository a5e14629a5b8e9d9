package bucket_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/confetti-dp/confetti/internal/storage/blob"
	"github.com/confetti-dp/confetti/internal/storage/blob/blobtest"
	"github.com/confetti-dp/confetti/internal/storage/blob/bucket"
	"github.com/confetti-dp/confetti/internal/testkit/costlimit"
)

// against opens a bucket of a service that answers as a function does; nil: a transport will be set.
func against(t testing.TB, answer http.HandlerFunc) *bucket.Bucket {
	t.Helper()
	t.Setenv("AWS_ACCESS_KEY_ID", blobtest.KeyID)
	t.Setenv("AWS_SECRET_ACCESS_KEY", blobtest.Secret)
	t.Setenv("AWS_REGION", "")
	at := "http://127.0.0.1:1"
	if answer != nil {
		s := httptest.NewServer(answer)
		t.Cleanup(s.Close)
		at = s.URL
	}
	b, err := bucket.Open("s3://parts/of?endpoint=" + at)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	b.SetWait(time.Microsecond)
	return b
}

func page(inside string) string { return "<ListBucketResult>" + inside + "</ListBucketResult>" }

func contents(key string, size any) string {
	return fmt.Sprintf("<Contents><Key>%s</Key><Size>%v</Size></Contents>", key, size)
}

// A listing that is wrong in any way is an error and never a short list; it takes bounded memory
// and a bounded number of requests.
func TestHostileListings(t *testing.T) {
	for name, c := range map[string]struct {
		body string
		says string // "": it is no error
	}{
		"an empty one":            {page(""), ""},
		"another's":               {page(contents("other/one", 1) + contents("of", 1) + contents("of/", 1) + contents("of/a b", 1) + contents("of/../x", 1)), ""},
		"a huge one of another's": {page(contents("of/large.iso", int64(1)<<50)), ""},
		"no XML":                  {"everything is fine", "cannot be read"},
		"a page for people":       {"<html><body>" + blobtest.Secret + "</body></html>", "cannot be read"},
		"half":                    {page(contents("of/one", 1))[:60], "cannot be read"},
		"nothing":                 {"", "cannot be read"},
		"a size below zero":       {page(contents("of/one", -1)), "a length that no blob"},
		"a size above all":        {page(contents("of/one", int64(1)<<40)), "a length that no blob"},
		"a size that is a word":   {page(contents("of/one", "many")), "cannot be read"},
		"an entity":               {`<!DOCTYPE l [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;">]>` + page(contents("of/&b;", 1)), "cannot be read"},
		"deep":                    {page(strings.Repeat("<a>", 1<<20)), "cannot be read"},
		"long":                    {page(strings.Repeat(contents("of/one", 1), 1<<19)), "a length that no blob"},
		"many attributes":         {page("<a" + strings.Repeat(" b=''", 1<<18) + "/>"), ""},
		"many elements":           {page(strings.Repeat("<Contents/>", 1<<18)), ""},
		"no next page":            {page("<IsTruncated>true</IsTruncated>"), "has no end"},
		"the same page":           {page("<IsTruncated>true</IsTruncated><NextContinuationToken>again</NextContinuationToken>"), "has no end"},
	} {
		t.Run(name, func(t *testing.T) {
			asked := 0
			b := against(t, func(w http.ResponseWriter, r *http.Request) {
				asked++
				fmt.Fprint(w, c.body)
			})
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			names, err := b.List(t.Context(), "")
			runtime.ReadMemStats(&after)
			if c.says == "" && (err != nil || len(names) > 0) {
				t.Errorf("%v, %v", names, err)
			}
			if c.says != "" {
				discreet(t, name, err, c.says)
			}
			if took := after.TotalAlloc - before.TotalAlloc; took > 640<<20 || asked > 10 { // 64 MiB a try
				t.Errorf("%d bytes were taken in %d requests", took, asked)
			}
		})
	}
	t.Run("without an end", func(t *testing.T) {
		asked := 0
		b := against(t, func(w http.ResponseWriter, r *http.Request) {
			asked++
			fmt.Fprint(w, page(fmt.Sprintf("<IsTruncated>true</IsTruncated><NextContinuationToken>%d</NextContinuationToken>", asked)))
		})
		_, err := b.List(t.Context(), "")
		discreet(t, "without an end", err, "has no end")
	})
}

// A length is believed as far as memory goes that anybody has, and a body is whole or an error.
func TestHostileBodies(t *testing.T) {
	for name, length := range map[string]string{"above all": "99999999999", "2 GiB, of which nothing comes": "2147483648", "none": ""} {
		b := against(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Query().Get("list-type") != "" {
				fmt.Fprint(w, page(""))
				return
			}
			if length != "" {
				w.Header().Set("Content-Length", length)
			}
			w.Write([]byte("a few bytes"))
			w.(http.Flusher).Flush()
		})
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := b.Get(t.Context(), "one")
		runtime.ReadMemStats(&after)
		if err == nil || errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", name, err)
		}
		if took := after.TotalAlloc - before.TotalAlloc; took > 1<<30 { // ten tries of 64 MiB
			t.Errorf("%s: %d bytes were taken", name, took)
		}
	}
}

// A redirection is refused: what is meant for one service is not sent to another.
func TestRedirectionsAreRefused(t *testing.T) {
	var elsewhere atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		elsewhere.Add(1)
		fmt.Fprint(w, page(""))
	}))
	defer other.Close()
	for _, status := range []int{301, 302, 303, 307, 308} {
		b := against(t, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, other.URL+"/?"+blobtest.Secret, status)
		})
		_, get := b.Get(t.Context(), "one")
		_, has := b.Has(t.Context(), "one")
		_, list := b.List(t.Context(), "")
		for _, err := range []error{get, has, list, b.Put(t.Context(), "one", []byte("body")), b.Delete(t.Context(), "one")} {
			discreet(t, "sent elsewhere", err, "we do not go there", fmt.Sprint(status))
		}
	}
	if n := elsewhere.Load(); n > 0 {
		t.Errorf("%d requests were taken elsewhere", n)
	}
}

// drip is an answer whose bytes come one by one, with a wait before each.
type drip struct {
	waits []time.Duration
	ctx   context.Context
}

func (d *drip) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, ContentLength: int64(len(d.waits)), Body: io.NopCloser(&drip{slices.Clone(d.waits), r.Context()})}, nil
}

func (d *drip) Read(p []byte) (int, error) {
	if len(d.waits) == 0 {
		return 0, io.EOF
	}
	select {
	case <-d.ctx.Done():
		return 0, d.ctx.Err()
	case <-time.After(d.waits[0]):
	}
	d.waits = d.waits[1:]
	return copy(p, "x"), nil
}

// A service that sends slowly is waited for as long as something moves, and no longer.
func TestASlowService(t *testing.T) {
	b := against(t, nil)
	synctest.Test(t, func(t *testing.T) {
		b.SetTransport(&drip{waits: slices.Repeat([]time.Duration{59 * time.Second}, 40)})
		if body, err := b.Get(t.Context(), "one"); err != nil || len(body) != 40 {
			t.Errorf("%d bytes, %v", len(body), err)
		}
		b.SetTransport(&drip{waits: []time.Duration{time.Second, 61 * time.Second, time.Second}})
		start := time.Now()
		_, err := b.Get(t.Context(), "one")
		discreet(t, "silent", err, "says nothing for too long")
		if d := time.Since(start); d != 61*time.Second { // of which the first byte took one
			t.Errorf("given up after %v", d)
		}
	})
}

type away struct{ asked *int }

func (a away) RoundTrip(*http.Request) (*http.Response, error) {
	*a.asked++
	return nil, errors.New("nobody is there")
}

// A service that is away is asked for ten times within some seconds.
func TestAServiceThatIsAway(t *testing.T) {
	b := against(t, nil)
	synctest.Test(t, func(t *testing.T) {
		asked, start := 0, time.Now()
		b.SetTransport(away{&asked})
		b.SetWait(bucket.FirstWait)
		discreet(t, "away", b.Put(t.Context(), "one", nil), "nobody is there")
		if d := time.Since(start); asked != 10 || d != 11100*time.Millisecond {
			t.Errorf("asked %d times in %v", asked, d)
		}
	})
}

// What a service says of an error is repeated as far as it is a word, and what will not pass is
// asked for once.
func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		status int
		body   string
		says   string
		tries  int
	}{
		{400, "<Error><Code>AuthorizationHeaderMalformed</Code><Message>" + blobtest.Secret + "</Message></Error>", "the service answers 400 AuthorizationHeaderMalformed", 1},
		{400, "<Error><Code>" + blobtest.Secret + "</Code></Error>", "the service answers 400", 1},
		{400, "<Error><Code>XAmzContentSHA256Mismatch</Code></Error>", "the service answers 400 XAmz", 10},
		{403, "<Error><Code>RequestTimeTooSkewed</Code></Error>", "clock", 1},
		{403, "", "does not let these keys in", 1},
		{204, "", "the service answers 204", 1},
		{501, strings.Repeat("<Error>", 1<<16), "the service answers 501", 1},
		{503, "", "the service answers 503", 10},
	} {
		var asked atomic.Int32
		b := against(t, func(w http.ResponseWriter, r *http.Request) {
			asked.Add(1)
			w.WriteHeader(c.status)
			fmt.Fprint(w, c.body)
		})
		discreet(t, c.says, b.Put(t.Context(), "one", []byte("body")), c.says, "s3://parts/of/one")
		if n := int(asked.Load()); n != c.tries {
			t.Errorf("%d %s: asked for %d times and not %d", c.status, c.says, n, c.tries)
		}
	}
	b := against(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			fmt.Fprint(w, "<DeleteResult><Error><Key>of/one/a</Key><Code>AccessDenied</Code></Error></DeleteResult>")
			return
		}
		fmt.Fprint(w, page(contents("of/one/a", 1)))
	})
	discreet(t, "a deletion of which a part is refused", b.Delete(t.Context(), "one"), "does not let these keys in")
}

// Keys that no blob has may lie in the bucket: XML cannot write some of them as they are.
func TestOddKeysInABucket(t *testing.T) {
	s := blobtest.Start(t)
	b := s.Open(t, "tests")
	if err := b.Put(t.Context(), "odd/one", []byte("body")); err != nil {
		t.Fatal(err)
	}
	for _, odd := range []string{"a b", "a+b", "a%2Fb", "é", "\x01", "<&>", "one.old", "..x"} {
		if err := os.WriteFile(filepath.Join(s.Folder(), "of", "tests", "odd", odd), []byte("another's"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if names, err := b.List(t.Context(), "odd"); err != nil || !slices.Equal(names, []string{"odd/one"}) {
		t.Errorf("%q, %v", names, err)
	}
	if err := b.Delete(t.Context(), "odd"); err != nil {
		t.Fatal(err)
	}
	if names, err := b.List(t.Context(), ""); err != nil || len(names) > 0 {
		t.Errorf("%q, %v", names, err)
	}
	left, err := os.ReadDir(filepath.Join(s.Folder(), "of", "tests", "odd"))
	if err != nil || len(left) != 8 {
		t.Errorf("of another's eight objects %d are left, %v", len(left), err)
	}
}

// Keys that a header cannot carry are refused, and not shown.
func TestKeysThatNoHeaderCarries(t *testing.T) {
	for _, secret := range []string{blobtest.Secret + "\n", blobtest.Secret + " ", "s\u00e9cret"} {
		t.Setenv("AWS_ACCESS_KEY_ID", blobtest.KeyID)
		t.Setenv("AWS_SECRET_ACCESS_KEY", secret)
		_, err := bucket.Open("s3://parts/of?endpoint=http://127.0.0.1:1")
		discreet(t, "a key with a space", err, "there are no keys for it")
	}
}

// An answer that comes after its caller has gone is nobody's.
func TestACallerThatGoes(t *testing.T) {
	b := against(t, func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	ctx, end := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer end()
	if _, err := b.Get(ctx, "one"); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}

// Whatever a service answers to a listing, names are names of blobs in order, or there is an error.
func FuzzListing(f *testing.F) {
	f.Add(page(contents("of/one", 1) + contents("of/a/two", 0)))
	f.Add(page("<EncodingType>url</EncodingType>" + contents("of%2Fa%20b", 1)))
	f.Add(page("<IsTruncated>true</IsTruncated><NextContinuationToken>a</NextContinuationToken>"))
	f.Add(`<!DOCTYPE l [<!ENTITY a "a">]>` + page(contents("of/&a;", 1)))
	f.Fuzz(func(t *testing.T, text string) {
		b := against(t, nil)
		b.SetTransport(says(text))
		var names []string
		var err error
		costlimit.Heap(t, costlimit.Factor, len(text)+64<<10, func() { names, err = b.List(t.Context(), "") })
		if err != nil && len(names) > 0 || !slices.IsSorted(names) || !slices.Equal(names, slices.DeleteFunc(slices.Clone(names), func(n string) bool { return !blob.IsName(n) })) {
			t.Errorf("%q, %v", names, err)
		}
	})
}

// says answers every request with a text.
type says string

func (s says) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, ContentLength: int64(len(s)), Body: io.NopCloser(strings.NewReader(string(s)))}, nil
}
