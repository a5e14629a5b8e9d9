package bucket

import (
	"net/http"
	"net/url"
	"time"
)

// SetPatience is how long a service may say nothing.
func (b *Bucket) SetPatience(d time.Duration) { b.patience = d }

// SetWait is how long a request waits before its second try.
func (b *Bucket) SetWait(d time.Duration) { b.wait = d }

// SetTransport answers requests in the service's place.
func (b *Bucket) SetTransport(t http.RoundTripper) { b.http.Transport = t }

// FirstWait is between the first two tries of a request.
const FirstWait = firstWait

// Sign signs a request.
func Sign(req *http.Request, id, secret, session, region, sum string, now time.Time) {
	keys{id, secret, session}.sign(req, region, sum, now)
}

// At is where a key and a query lie.
func At(root, key string, query url.Values) *url.URL {
	u, err := url.Parse(root)
	if err != nil {
		panic(err)
	}
	return at(*u, key, query)
}
