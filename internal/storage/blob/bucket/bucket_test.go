package bucket_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/internal/storage/blob"
	"github.com/confetti-dp/confetti/internal/storage/blob/blobtest"
	"github.com/confetti-dp/confetti/internal/storage/blob/bucket"
	"github.com/confetti-dp/confetti/internal/testkit/stattest"
)

func TestBucket(t *testing.T) {
	s := blobtest.Start(t)
	blobtest.Store(t, func() blob.Store { return s.Open(t, "tests") })
}

// hasty opens a part of the bucket, and repeats what fails at once.
func hasty(t *testing.T, s *blobtest.Service) *bucket.Bucket {
	b := s.Open(t, "tests")
	b.SetWait(time.Millisecond / 8)
	return b
}

// A service that is too busy, that takes or gives half of what it should, is sent another bit, or
// does what it is asked and does not say so, loses nothing and doubles nothing.
func TestABucketThatFailsAgainAndAgain(t *testing.T) {
	s := blobtest.Start(t)
	r, met := stattest.Rand(t), map[blobtest.Fault]int{}
	s.Break(func(*http.Request) blobtest.Fault {
		f := blobtest.None
		if r.IntN(4) == 0 {
			f = blobtest.Refuse + blobtest.Fault(r.IntN(5))
		}
		met[f]++
		return f
	})
	blobtest.Store(t, func() blob.Store { return hasty(t, s) })
	s.Break(nil)
	for _, f := range []blobtest.Fault{blobtest.Refuse, blobtest.Half, blobtest.Cut, blobtest.Forget, blobtest.Flip} {
		if met[f] == 0 {
			t.Errorf("fault %d was never met", f)
		}
	}
}

// A listing comes in pages, and so does a deletion.
func TestABucketOfManyPages(t *testing.T) {
	b := blobtest.Start(t).Open(t, "tests")
	const many = 1100
	var writers sync.WaitGroup
	for w := range 8 {
		writers.Go(func() {
			for i := w; i < many; i += 8 {
				if err := b.Put(t.Context(), fmt.Sprintf("many/%d", i), []byte{1}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	writers.Wait()
	names, err := b.List(t.Context(), "many")
	if err != nil || len(names) != many || !slices.IsSorted(names) {
		t.Fatalf("%d names, %v", len(names), err)
	}
	if n, err := b.Bytes(t.Context(), "many"); err != nil || n != many {
		t.Errorf("%d bytes, %v", n, err)
	}
	if err := b.Delete(t.Context(), "many"); err != nil {
		t.Fatal(err)
	}
	if names, err := b.List(t.Context(), ""); err != nil || len(names) > 0 {
		t.Errorf("%d are left, %v", len(names), err)
	}
}

// discreet wants an error that says where, and shows no key.
func discreet(t *testing.T, doing string, err error, says ...string) {
	t.Helper()
	if err == nil {
		t.Errorf("%s: no error", doing)
		return
	}
	for _, part := range says {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%s: %q does not say %q", doing, err, part)
		}
	}
	for _, secret := range []string{blobtest.Secret, blobtest.KeyID, "Signature", "wrong-secret"} {
		if strings.Contains(err.Error(), secret) {
			t.Errorf("%s: an error shows %q", doing, secret)
		}
	}
}

// What cannot be done is an error that names the bucket and where in it, and no key.
func TestABucketThatDoesNotAnswer(t *testing.T) {
	s := blobtest.Start(t)
	b := hasty(t, s)
	ctx := t.Context()
	all := func(fault string, b *bucket.Bucket, says ...string) {
		t.Helper()
		_, get := b.Get(ctx, "plan/0/one")
		_, list := b.List(ctx, "plan/0")
		_, has := b.Has(ctx, "plan/0/one")
		for what, err := range map[string]error{"Put": b.Put(ctx, "plan/0/one", []byte("body")), "Get": get, "List": list, "Has": has, "Delete": b.Delete(ctx, "plan/0")} {
			if errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s, %s: what cannot be looked for is said not to be there", fault, what)
			}
			discreet(t, fault+", "+what, err, append(says, "s3://parts/of/tests/plan/0")...)
		}
	}
	always := func(f blobtest.Fault) {
		s.Break(func(*http.Request) blobtest.Fault { return f })
	}
	if err := b.Put(ctx, "plan/0/one", []byte("body")); err != nil {
		t.Fatal(err)
	}
	always(blobtest.Refuse)
	all("too busy", b, "the service answers 503")
	always(blobtest.Forget)
	all("says nothing of what it does", b)
	if got, err := b.Get(ctx, "plan/0/one"); err == nil {
		t.Errorf("%q came from nowhere", got)
	}
	always(blobtest.Lose)
	all("a proxy that does not reach it", b)
	always(blobtest.Stall)
	b.SetPatience(50 * time.Millisecond)
	all("stalls", b, "the service says nothing for too long")
	s.Break(nil)
	b.SetPatience(time.Minute)

	ended, end := context.WithCancel(ctx)
	end()
	if err := b.Put(ended, "plan/0/two", nil); !errors.Is(err, context.Canceled) {
		t.Error("ended:", err)
	}
	t.Run("with wrong keys", func(t *testing.T) {
		t.Setenv("AWS_SECRET_ACCESS_KEY", "wrong-secret")
		all("wrong keys", hasty(t, s), "does not let these keys in (403): check the keys of the environment")
	})
	none, err := bucket.Open(strings.Replace(s.At("tests"), "s3://parts/", "s3://nobodys/", 1))
	if err != nil {
		t.Fatal(err)
	}
	defer none.Close()
	_, err = none.Get(ctx, "plan/0/one")
	discreet(t, "no bucket", err, "s3://nobodys/of/tests/plan/0", "404 NoSuchBucket")
	s.Kill()
	all("gone", b)
}

// The keys are those of the environment, or of a file.
func TestKeysOfABucket(t *testing.T) {
	s := blobtest.Start(t)
	file := filepath.Join(t.TempDir(), "credentials")
	if err := os.WriteFile(file, []byte("[mixing]\naws_access_key_id = "+blobtest.KeyID+"\naws_secret_access_key = "+blobtest.Secret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "")
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", file)
	_, err := bucket.Open(s.At("tests"))
	discreet(t, "no profile", err, "s3://parts/of/tests: there are no keys for it")
	t.Setenv("AWS_PROFILE", "mixing")
	t.Setenv("AWS_ENDPOINT_URL_S3", strings.SplitN(s.At("tests"), "endpoint=", 2)[1])
	b, err := bucket.Open("s3://parts/of/tests/plan/0")
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	up, last := b.Split()
	if err := up.Put(t.Context(), last, []byte("body")); err != nil || last != "0" {
		t.Fatal(last, err)
	}
	if got, err := s.Open(t, "tests").Get(t.Context(), "plan/0"); err != nil || string(got) != "body" {
		t.Errorf("%q, %v", got, err)
	}
}

func TestURLsOfBuckets(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", blobtest.KeyID)
	t.Setenv("AWS_SECRET_ACCESS_KEY", blobtest.Secret)
	t.Setenv("AWS_ENDPOINT_URL", "")
	t.Setenv("AWS_ENDPOINT_URL_S3", "")
	for place, want := range map[string]string{
		"s3://parts":           "",
		"s3://parts/":          "",
		"s3://parts/of/a_plan": "",
		"s3://parts/of?region=eu-central-1&endpoint=https://s3.example.com:9000": "",
		"s3://parts/of?endpoint=http://127.0.0.1:9000":                           "",
		"s3://parts.of-a.plan/of?endpoint=https://s3.eu-1.amazonaws.com":         "",
		"s3:parts/of":      "the URL of the bucket cannot be read",
		"s3://":            "the URL of the bucket cannot be read",
		"s3://parts/%zz":   "the URL of the bucket cannot be read",
		"https://parts/of": "the URL of the bucket cannot be read",
		"s3://" + blobtest.KeyID + ":" + blobtest.Secret + "@parts/of": "holds a key",
		"s3://PARTS": "is no bucket",
		"s3://pa":    "is no bucket",
		"s3://" + strings.Repeat("a.", 31) + "ab": "is no bucket",
		"s3://parts..of":                          "is no bucket",
		"s3://parts.-of":                          "is no bucket",
		"s3://10.0.0.1":                           "is no bucket",
		"s3://parts/of?region=eu.evil.example/":   "its region cannot be read",
		"s3://parts/*/*":                          "and no pattern",
		"s3://parts/../other":                     "and no pattern",
		"s3://parts/of?secret=" + blobtest.Secret: "endpoint and region behind its question mark",
		"s3://parts/of?endpoint=s3.example.com":   "its endpoint cannot be read",
		"s3://parts/of?endpoint=https://a:" + blobtest.Secret + "@h": "its endpoint cannot be read",
		"s3://parts/of?endpoint=http://s3.example.com":               "reached in the clear",
	} {
		b, err := bucket.Open(place)
		if want == "" {
			if err != nil {
				t.Errorf("%s: %v", place, err)
				continue
			}
			b.Close()
			continue
		}
		discreet(t, place, err, want)
	}
}
