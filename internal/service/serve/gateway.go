package serve

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/confetti-dp/confetti/internal/keyfile"
	"github.com/confetti-dp/confetti/internal/keyfile/keytext"
	"github.com/confetti-dp/confetti/internal/ohttp"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/internal/wire/web"
	"github.com/confetti-dp/confetti/plan"
)

// A gateway (RFC 9458) stands in a service's own edge: what devices send by a relay is opened here and
// answered by the service's own handlers. Nothing is passed on to anybody, whatever a request names, and
// only the paths that devices use are answered.
const (
	gatewayPattern     = "POST /.well-known/ohttp-gateway"
	gatewayKeysPattern = "GET /.well-known/ohttp-gateway" // RFC 9540
)

// gateway is who may come by relays, and the keys that open what they bring.
type gateway struct {
	keys   *watched[map[string]ohttp.PrivateKey] // by their public halves; old ones beside new ones
	relays []netip.Prefix
}

// openGateway reads the keys of a folder, and the networks of relays; nil without a folder.
func openGateway(folder Path, relays []string) (*gateway, error) {
	if folder == "" {
		if len(relays) > 0 {
			return nil, errors.New("relays come to a gateway, and there is none: set gateway, or leave relays out")
		}
		return nil, nil
	}
	keys, err := watch(func() (map[string]ohttp.PrivateKey, error) { return readGatewayKeys(string(folder)) }, string(folder))
	g := &gateway{keys: keys}
	errs := []error{err, Closed(folder)}
	for _, text := range relays {
		network, err := parseRelay(text)
		g.relays, errs = append(g.relays, network), append(errs, err)
	}
	return g, errors.Join(errs...)
}

// parseRelay reads the network from which a relay comes. One so wide that it is half the world's would
// take everybody for one.
func parseRelay(text string) (netip.Prefix, error) {
	network, err := netip.ParsePrefix(text)
	if err != nil || network != network.Masked() {
		return network, fmt.Errorf("%q is no network of a relay: write 203.0.113.0/24, or 203.0.113.7/32 for one address", text)
	}
	if least := map[bool]int{true: 8, false: 16}[network.Addr().Is4()]; network.Bits() < least {
		return network, fmt.Errorf("%q is too wide to be one relay's: everybody in it would count as one address; name networks of /%d and narrower", text, least)
	}
	return network, nil
}

func readGatewayKeys(folder string) (map[string]ohttp.PrivateKey, error) {
	files, err := keyfile.ReadFolder(folder)
	keys := map[string]ohttp.PrivateKey{}
	for path, f := range files {
		key, unread := ohttp.NewPrivateKey(f.PublicKey, f.PrivateKey)
		if unread != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", path, unread))
			continue
		}
		keys[f.PublicKey] = key
	}
	if err == nil && len(keys) == 0 {
		err = fmt.Errorf("%s has no key: make one there (confetti keys new %s/gateway.json)", folder, folder)
	}
	return keys, err
}

// all returns the keys, always in the same order.
func (g *gateway) all() (keys []ohttp.PrivateKey) {
	found, _ := g.keys.get()
	for _, name := range slices.Sorted(maps.Keys(found)) {
		keys = append(keys, found[name])
	}
	return keys
}

// Relayed refuses a plan in which devices come to a party of this service by a relay, if nothing here opens
// what they would send.
func (c Common) Relayed(p plan.Party) error {
	if p.Relay == nil {
		return nil
	}
	if c.gateway != nil {
		keys, _ := c.gateway.keys.get()
		if _, here := keys[p.Relay.Key]; here {
			return nil
		}
	}
	return wire.Problemf(wire.PlanRefused, "devices come to %s by a relay, and the private key of the gateway that the plan names (%s) is not here: put it into the folder that gateway names, or have the author name a key of it", p.Operator, keytext.ID(p.Relay.Key))
}

// hidden reports whether a pattern is answered to who comes by a relay: what devices send, and what they
// ask when they are told that a plan was withdrawn.
func (c Config) hidden(pattern string) bool {
	return c.kindOf(pattern) == respondents || pattern == wire.WithdrawalPattern
}

// getKeys publishes the keys, for people and programs to compare: a device goes by its plan.
func (s *Server) getKeys(w http.ResponseWriter, r *http.Request) error {
	w.Header().Set("Content-Type", ohttp.KeysType)
	_, err := w.Write(ohttp.Keys(s.config.gateway.all()))
	return err
}

// open returns the handler of what a relay brings. inner answers what is in it.
func (s *Server) open(inner *http.ServeMux) Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		if err := web.CheckType(r.Header.Get("Content-Type"), ohttp.RequestType); err != nil {
			return err
		}
		sealed, err := ReadBody(w, r, ohttp.MaxRequest)
		if err != nil {
			return err
		}
		h, room := held(r), int64(len(sealed)) // for what is in it
		if !h.place.pool.memory.take(room) {
			return overloaded("the bodies under way fill the memory set aside for them")
		}
		h.body += room
		asked, exchange, err := ohttp.Decapsulate(s.config.gateway.all(), sealed)
		if errors.Is(err, ohttp.ErrKey) {
			p := wire.Problemf(wire.BadRequest, "%w", err)
			p.Type = ohttp.KeyProblem
			return p
		}
		answer := &inside{header: http.Header{}}
		if err == nil {
			err = s.answerInside(inner, answer, r, asked)
		}
		if err != nil {
			web.WriteProblem(answer, wire.Problemf(wire.BadRequest, "%w", err))
		}
		body, err := exchange.Seal(answer.response())
		if err != nil {
			return err
		}
		w.Header().Set("Content-Type", ohttp.ResponseType)
		w.Header().Set("Cache-Control", "no-store")
		_, err = w.Write(body)
		return err
	}
}

// answerInside lets the service's handlers answer what came by a relay. They see neither its connection nor
// its certificate: the credential inside says who asks, or nothing does.
func (s *Server) answerInside(inner *http.ServeMux, w http.ResponseWriter, outer *http.Request, asked ohttp.Request) error {
	u, err := url.ParseRequestURI(asked.Path)
	if err != nil || asked.Scheme != "https" || !strings.HasPrefix(asked.Path, "/") {
		return errors.New("the request within is not for https and a path")
	}
	r := (&http.Request{
		Method: asked.Method, URL: u, Proto: "HTTP/2.0", ProtoMajor: 2, Header: http.Header{},
		Body: io.NopCloser(bytes.NewReader(asked.Content)), ContentLength: int64(len(asked.Content)),
	}).WithContext(context.WithValue(outer.Context(), connKey{}, (*connection)(nil)))
	for _, f := range asked.Fields {
		r.Header.Add(f.Name, f.Value)
	}
	s.route(inner, w, r)
	return nil
}

// inside is the answer to what came by a relay, before it is sealed.
type inside struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (w *inside) Header() http.Header { return w.header }

func (w *inside) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
}

func (w *inside) Write(b []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	if w.body.Len()+len(b) > ohttp.MaxResponse/2 {
		return 0, fmt.Errorf("serve: an answer by a relay has more than %d bytes", ohttp.MaxResponse/2)
	}
	return w.body.Write(b)
}

// response returns the answer as it travels.
func (w *inside) response() ohttp.Response {
	w.WriteHeader(http.StatusOK)
	r := ohttp.Response{Status: w.status, Content: w.body.Bytes()}
	for _, name := range slices.Sorted(maps.Keys(w.header)) {
		for _, value := range w.header[name] {
			r.Fields = append(r.Fields, ohttp.Field{Name: strings.ToLower(name), Value: value})
		}
	}
	return r
}
