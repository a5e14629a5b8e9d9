// Package relaytest runs an oblivious relay, written from RFC 9458 and nothing of ours, that writes down all that it
// sees. Used by tests of client, internal/service/serve and cmd/confetti.
package relaytest

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
)

// Relay is a handler that carries sealed requests. Each of its paths leads to one gateway (section 2).
type Relay struct {
	Gateways map[string]string // addresses of gateways, by path
	Client   *http.Client      // that reaches them
	Twice    bool              // it replays each request, and answers with the second response

	mu      sync.Mutex
	carried []Carried
	says    func(http.ResponseWriter) // in the place of carrying; nil: it carries
}

// Carried is what a relay saw of one request.
type Carried struct {
	From, Path        string // the sender's address without its port; the path at the relay
	Header            http.Header
	Certificate       bool // the sender showed one
	Request, Response []byte
	Status            int // of the gateway
}

// From returns a client that reaches gateways from an address of its own, and trusts those authorities.
func From(address string, roots *x509.CertPool) *http.Client {
	dial := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}
	return &http.Client{Transport: &http.Transport{
		DialContext: dial.DialContext, TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS13}, ForceAttemptHTTP2: true, MaxIdleConnsPerHost: 64,
	}}
}

// Say lets the relay answer by itself from now on; nil: carry again.
func (r *Relay) Say(says func(http.ResponseWriter)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.says = says
}

// Carried returns what was seen until now.
func (r *Relay) Carried() []Carried {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.carried)
}

// ServeHTTP carries a request: its body, its media type, and nothing else of it (section 6.2).
func (r *Relay) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	r.mu.Lock()
	says := r.says
	r.mu.Unlock()
	if says != nil {
		says(w)
		return
	}
	to, known := r.Gateways[q.URL.Path]
	if q.Method != http.MethodPost || q.Header.Get("Content-Type") != "message/ohttp-req" || !known {
		http.Error(w, "a sealed request is wanted", http.StatusBadRequest)
		return
	}
	body, err := io.ReadAll(q.Body)
	if err != nil {
		return
	}
	seen := Carried{Path: q.URL.Path, Header: q.Header.Clone(), Certificate: q.TLS != nil && len(q.TLS.PeerCertificates) > 0, Request: body}
	seen.From, _, _ = net.SplitHostPort(q.RemoteAddr)
	kind := ""
	for range map[bool]int{false: 1, true: 2}[r.Twice] {
		if seen.Status, kind, seen.Response, err = r.carry(q, to, body); err != nil {
			http.Error(w, "the gateway cannot be reached", http.StatusBadGateway)
			return
		}
	}
	r.mu.Lock()
	r.carried = append(r.carried, seen)
	r.mu.Unlock()
	w.Header().Set("Content-Type", kind)
	w.WriteHeader(seen.Status)
	w.Write(seen.Response)
}

func (r *Relay) carry(q *http.Request, to string, body []byte) (status int, kind string, response []byte, err error) {
	on, err := http.NewRequestWithContext(q.Context(), http.MethodPost, to, bytes.NewReader(body))
	if err != nil {
		return 0, "", nil, err
	}
	on.Header.Set("Content-Type", "message/ohttp-req")
	on.Header["User-Agent"] = nil
	answer, err := r.Client.Do(on)
	if err != nil {
		return 0, "", nil, fmt.Errorf("relay: %w", err)
	}
	defer answer.Body.Close()
	response, err = io.ReadAll(answer.Body)
	return answer.StatusCode, answer.Header.Get("Content-Type"), response, err
}
