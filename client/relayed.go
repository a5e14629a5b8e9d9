package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"

	"github.com/confetti-dp/confetti/internal/ohttp"
	"github.com/confetti-dp/confetti/plan"
)

// relayed brings what is for some addresses to relays, sealed to the gateways there.
// It never goes another way: a relay that does not carry is a service that cannot be reached.
type relayed struct {
	Transport
	by map[string]relay // by the host and port of the party's address
}

// relay seals for the gateway of a plan.Relay.
type relay struct {
	operator, url string
	key           ohttp.Key
}

// hide makes what is sent to a party go by its relay, where it has one: bodies of at most so many bytes.
func (t *relayed) hide(p plan.Party, most int64) error {
	r := p.Relay
	if r == nil {
		return nil
	}
	if most > ohttp.MaxRequest-ohttp.Overhead {
		return fmt.Errorf("client: an answer has %d bytes, and at most %d go through a relay: have the author ask for less, or name no relay", most, ohttp.MaxRequest-ohttp.Overhead)
	}
	u, err := url.Parse(p.URL)
	if err != nil {
		return fmt.Errorf("client: the address of %s: %w", p.Operator, err)
	}
	key, err := ohttp.ParseKey(r.Key)
	if err != nil {
		return fmt.Errorf("client: the key of the gateway of %s: %w", p.Operator, err)
	}
	t.by[u.Host] = relay{r.Operator, r.URL, key}
	return nil
}

// Do implements Transport. The relay is shown nothing of the device but where it is: no certificate, and no
// credential that is not sealed. A certificate would be the relay's to see, so that a party behind it
// gets none.
func (t *relayed) Do(ctx context.Context, r Request) (Response, error) {
	u, err := url.Parse(r.URL)
	if err != nil {
		return Response{}, err
	}
	by, hidden := t.by[u.Host]
	if !hidden {
		return t.Transport.Do(ctx, r)
	}
	asked := ohttp.Request{Method: r.Method, Scheme: "https", Authority: u.Host, Path: u.RequestURI(), Content: r.Body}
	for _, f := range []ohttp.Field{{Name: "content-type", Value: r.Type}, {Name: "authorization", Value: r.Authorization}} {
		if f.Value != "" {
			asked.Fields = append(asked.Fields, f)
		}
	}
	sealed, exchange, err := by.key.Encapsulate(asked)
	if err != nil {
		return Response{}, err
	}
	answer, err := by.carry(ctx, t.Transport, sealed)
	if err != nil {
		return Response{}, fmt.Errorf("the relay (%s): %w", by.operator, err)
	}
	said, err := exchange.Open(answer)
	if err != nil {
		return Response{}, fmt.Errorf("by the relay (%s): %w", by.operator, err)
	}
	return Response{Status: said.Status, Type: said.Get("content-type"), RetryAfter: said.Get("retry-after"), Body: io.NopCloser(bytes.NewReader(said.Content))}, nil
}

// carry lets the relay bring a sealed request to the gateway, and returns the sealed response. What a relay says
// by itself is nobody's word about an answer: it is an error that may pass.
func (r relay) carry(ctx context.Context, t Transport, sealed []byte) ([]byte, error) {
	answer, err := t.Do(ctx, Request{Method: "POST", URL: r.url, Type: ohttp.RequestType, Body: sealed})
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, ohttp.MaxResponse+1))
	switch {
	case err != nil:
		return nil, err
	case answer.Status == 400 && bytes.Contains(body, []byte(ohttp.KeyProblem)):
		return nil, errors.New("the gateway behind it does not have the key that the plan names")
	case answer.Status != 200 || answer.Type != ohttp.ResponseType:
		return nil, fmt.Errorf("it answers with status %d, and no sealed response", answer.Status)
	case len(body) > ohttp.MaxResponse:
		return nil, fmt.Errorf("the response has more than %d bytes", ohttp.MaxResponse)
	}
	return body, nil
}
