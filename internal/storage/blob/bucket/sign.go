package bucket

import (
	"crypto/hmac"
	"crypto/sha256"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// keys are what a service knows its users by.
type keys struct{ id, secret, session string }

// fit reports whether there are keys that a header can carry.
func (k keys) fit() bool {
	odd := func(r rune) bool { return r <= ' ' || r > '~' }
	return k.id != "" && k.secret != "" && strings.IndexFunc(k.id+k.secret+k.session, odd) < 0
}

// sign adds the headers of version 4 of AWS's signatures, over all that the request has by
// then; sum is the SHA-256 of its body in hexadecimal.
func (k keys) sign(req *http.Request, region, sum string, now time.Time) {
	at := now.UTC().Format("20060102T150405Z")
	req.Header.Set("X-Amz-Date", at)
	req.Header.Set("X-Amz-Content-Sha256", sum)
	if k.session != "" {
		req.Header.Set("X-Amz-Security-Token", k.session)
	}
	values := map[string]string{"host": req.URL.Host}
	for name, all := range req.Header {
		values[strings.ToLower(name)] = strings.Join(strings.Fields(strings.Join(all, ",")), " ")
	}
	names := slices.Sorted(maps.Keys(values))
	signed := strings.Join(names, ";")
	var asked strings.Builder
	fmt.Fprintf(&asked, "%s\n%s\n%s\n", req.Method, req.URL.EscapedPath(), req.URL.RawQuery)
	for _, name := range names {
		fmt.Fprintf(&asked, "%s:%s\n", name, values[name])
	}
	fmt.Fprintf(&asked, "\n%s\n%s", signed, sum)

	day := at[:len("20060102")]
	scope := day + "/" + region + "/s3/aws4_request"
	key := []byte("AWS4" + k.secret)
	for _, part := range []string{day, region, "s3", "aws4_request", fmt.Sprintf("AWS4-HMAC-SHA256\n%s\n%s\n%x", at, scope, sha256.Sum256([]byte(asked.String())))} {
		m := hmac.New(sha256.New, key)
		m.Write([]byte(part))
		key = m.Sum(nil)
	}
	req.Header.Set("Authorization", fmt.Sprintf("AWS4-HMAC-SHA256 Credential=%s/%s, SignedHeaders=%s, Signature=%x", k.id, scope, signed, key))
}

// escape writes a text into a URL as signatures want it: all but letters, digits, -, _, . and ~
// by their bytes.
func escape(text string) string { return strings.ReplaceAll(url.QueryEscape(text), "+", "%20") }

// at returns where a key and a query lie under a root. What is signed is what is sent.
func at(root url.URL, key string, query url.Values) *url.URL {
	root.Path += key
	root.RawPath = strings.ReplaceAll(escape(root.Path), "%2F", "/")
	var pairs []string
	for name, values := range query {
		for _, v := range values {
			pairs = append(pairs, escape(name)+"="+escape(v))
		}
	}
	slices.Sort(pairs)
	root.RawQuery = strings.Join(pairs, "&")
	return &root
}
