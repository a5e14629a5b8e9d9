package bucket_test

import (
	"bufio"
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/internal/storage/blob/bucket"
)

const (
	ofNothing = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" // SHA-256
	dateForm  = "20060102T150405Z"
)

// The four examples that AWS publishes with the keys and the signatures, in "Authenticating
// Requests: Using the Authorization Header (AWS Signature Version 4)" of the reference of S3,
// section "Examples: Signature Calculations".
func TestSignaturesThatAWSPublishes(t *testing.T) {
	day := time.Date(2013, 5, 24, 0, 0, 0, 0, time.UTC)
	for _, e := range []struct {
		name, method, key string
		query             url.Values
		header            map[string]string
		sum, headers      string
		signature         string
	}{
		{"GET Object", http.MethodGet, "test.txt", nil, map[string]string{"Range": "bytes=0-9"}, ofNothing,
			"host;range;x-amz-content-sha256;x-amz-date", "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"},
		{"PUT Object", http.MethodPut, "test$file.text", nil, map[string]string{"Date": "Fri, 24 May 2013 00:00:00 GMT", "X-Amz-Storage-Class": "REDUCED_REDUNDANCY"},
			"44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072",
			"date;host;x-amz-content-sha256;x-amz-date;x-amz-storage-class", "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"},
		{"GET Bucket Lifecycle", http.MethodGet, "", url.Values{"lifecycle": {""}}, nil, ofNothing,
			"host;x-amz-content-sha256;x-amz-date", "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"},
		{"Get Bucket (List Objects)", http.MethodGet, "", url.Values{"prefix": {"J"}, "max-keys": {"2"}}, nil, ofNothing,
			"host;x-amz-content-sha256;x-amz-date", "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"},
	} {
		req := &http.Request{Method: e.method, URL: bucket.At("https://examplebucket.s3.amazonaws.com/", e.key, e.query), Header: http.Header{}}
		for name, value := range e.header {
			req.Header.Set(name, value)
		}
		bucket.Sign(req, "AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "", "us-east-1", e.sum, day)
		want := "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, SignedHeaders=" + e.headers + ", Signature=" + e.signature
		if got := req.Header.Get("Authorization"); got != want {
			t.Errorf("%s:\n%s\n%s", e.name, got, want)
		}
	}
}

// What minio-go 7.4.1 signed (its pkg/signer.SignV4), of the first 20 of 2,000 requests drawn at
// random: odd characters in keys and queries, keys for a time, headers with spaces.
func TestSignaturesOfMinioGo(t *testing.T) {
	f, err := os.Open("testdata/minio-go-7.4.1.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines, odd, session := 0, 0, 0
	for s := bufio.NewScanner(f); s.Scan(); lines++ {
		var v struct {
			Method, Root, Key, Session, Sum, URL, Authorization string
			Query                                               url.Values
			Header                                              map[string]string
		}
		if err := json.Unmarshal(s.Bytes(), &v); err != nil {
			t.Fatal(err)
		}
		req := &http.Request{Method: v.Method, URL: bucket.At(v.Root, v.Key, v.Query), Header: http.Header{}}
		for name, value := range v.Header {
			req.Header.Set(name, value)
		}
		at, err := time.Parse(dateForm, v.Header["X-Amz-Date"])
		if err != nil {
			t.Fatal(err)
		}
		bucket.Sign(req, "KEYID", "a/secret+of=tests", v.Session, "eu-1", v.Sum, at)
		if got := req.Header.Get("Authorization"); got != v.Authorization || req.URL.String() != v.URL {
			t.Errorf("%s %s:\n%s\n%s", v.Method, req.URL, got, v.Authorization)
		}
		if strings.Contains(v.URL, "%") {
			odd++
		}
		if v.Session != "" {
			session++
		}
	}
	if lines != 20 || odd == 0 || session == 0 {
		t.Errorf("%d lines, %d of odd characters, %d with keys for a time", lines, odd, session)
	}
}

// Every part of a request that somebody could change on the way is under the signature.
func TestASignatureIsOverTheRequest(t *testing.T) {
	sign := func(change func(r *http.Request, sum *string, at *time.Time)) string {
		req := &http.Request{Method: http.MethodPut, URL: bucket.At("https://s3.north.example/parts/", "of/one", url.Values{"a": {"b"}}), Header: http.Header{"Content-Type": {"x"}}}
		sum, at := ofNothing, time.Unix(1e9, 0)
		change(req, &sum, &at)
		bucket.Sign(req, "KEYID", "secret", "", "eu-1", sum, at)
		_, signature, _ := strings.Cut(req.Header.Get("Authorization"), "Signature=")
		return signature
	}
	was := sign(func(*http.Request, *string, *time.Time) {})
	for what, change := range map[string]func(r *http.Request, sum *string, at *time.Time){
		"method": func(r *http.Request, _ *string, _ *time.Time) { r.Method = http.MethodDelete },
		"host":   func(r *http.Request, _ *string, _ *time.Time) { r.URL.Host = "s3.south.example" },
		"key": func(r *http.Request, _ *string, _ *time.Time) {
			r.URL = bucket.At("https://s3.north.example/parts/", "of/two", url.Values{"a": {"b"}})
		},
		"query":  func(r *http.Request, _ *string, _ *time.Time) { r.URL.RawQuery = "a=c" },
		"header": func(r *http.Request, _ *string, _ *time.Time) { r.Header.Set("Content-Type", "y") },
		"body":   func(_ *http.Request, sum *string, _ *time.Time) { *sum = strings.Replace(*sum, "e", "f", 1) },
		"time":   func(_ *http.Request, _ *string, at *time.Time) { *at = at.Add(time.Second) },
	} {
		if sign(change) == was {
			t.Errorf("another %s has the same signature", what)
		}
	}
}
