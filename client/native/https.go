package native

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/confetti-dp/confetti/client"
)

// connectTime bounds the part of a request that finds nobody listening.
const connectTime = 15 * time.Second

// Transport speaks HTTP over TLS 1.3: no cookie, no redirect, and no header but those that
// every device sends alike. The zero Transport trusts the system's authorities and shows
// no certificate.
type Transport struct {
	Certificate  *tls.Certificate  // who the respondent is, to those who may know; nil: nobody is told
	Roots        *x509.CertPool    // authorities of the services; nil: the system's
	RoundTripper http.RoundTripper // in the place of the network, Certificate, Roots and Check; nil: none

	// Check refuses services whose certificate is good by Roots, such as all but one of a host; nil: none.
	Check func(tls.ConnectionState) error

	once    sync.Once
	known   *http.Client // shows the certificate
	unknown *http.Client // shows nothing
}

// Do implements client.Transport.
func (t *Transport) Do(ctx context.Context, r client.Request) (client.Response, error) {
	t.open()
	request, err := http.NewRequestWithContext(ctx, r.Method, r.URL, bytes.NewReader(r.Body))
	if err != nil {
		return client.Response{}, err
	}
	if r.Type != "" {
		request.Header.Set("Content-Type", r.Type)
	}
	request.Header.Set("User-Agent", "confetti")
	if r.Authorization != "" {
		request.Header.Set("Authorization", r.Authorization)
	}
	through := t.unknown
	if r.Known {
		through = t.known
	}
	answer, err := through.Do(request)
	if err != nil {
		return client.Response{}, err
	}
	return client.Response{Status: answer.StatusCode, Type: answer.Header.Get("Content-Type"), RetryAfter: answer.Header.Get("Retry-After"), Body: answer.Body}, nil
}

// open makes both clients, at first use.
func (t *Transport) open() {
	t.once.Do(func() { t.known, t.unknown = t.client(t.Certificate), t.client(nil) })
}

func (t *Transport) client(shown *tls.Certificate) *http.Client {
	config := &tls.Config{MinVersion: tls.VersionTLS13, RootCAs: t.Roots, VerifyConnection: t.Check}
	if shown != nil {
		config.Certificates = []tls.Certificate{*shown}
	}
	through := t.RoundTripper
	if through == nil {
		through = &http.Transport{
			Proxy: http.ProxyFromEnvironment, TLSClientConfig: config, ForceAttemptHTTP2: true, DisableCompression: true,
			MaxIdleConnsPerHost: 1, IdleConnTimeout: 30 * time.Second, TLSHandshakeTimeout: connectTime,
			DialContext: (&net.Dialer{Timeout: connectTime}).DialContext,
		}
	}
	return &http.Client{
		Transport: through,
		// What is meant for one party is not carried on to another.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// CloseIdleConnections gives connections back.
func (t *Transport) CloseIdleConnections() {
	t.open()
	t.known.CloseIdleConnections()
	t.unknown.CloseIdleConnections()
}
