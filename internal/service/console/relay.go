package console

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/confetti-dp/confetti/internal/dap"
	"github.com/confetti-dp/confetti/internal/dap/task"
	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/internal/wire/web"
	"github.com/confetti-dp/confetti/plan"
)

// carried is a service that a device of a plan asks, and what it asks there: patterns of net/http.
type carried struct {
	url  string
	asks []string
}

// carriedOf lists whom a device asks that answers the plan, and for what: the analyzer for the public state
// that the plan names, the issuer for tokens, entries or the leader to take its answer, and whoever says
// that the plan was withdrawn for its publisher's word.
func carriedOf(p plan.Plan) (all []carried, err error) {
	ask := func(url, pattern string, values ...string) {
		url = strings.TrimSuffix(url, "/")
		i := slices.IndexFunc(all, func(a carried) bool { return a.url == url })
		if i < 0 {
			i, all = len(all), append(all, carried{url: url})
		}
		if pattern = strings.NewReplacer(values...).Replace(pattern); !slices.Contains(all[i].asks, pattern) {
			all[i].asks = append(all[i].asks, pattern)
		}
	}
	if p.State != "" {
		ask(p.Analyzer.URL, wire.StatePattern, "{state}", p.State)
	}
	if issuer := p.Route.Issuer(); issuer != nil {
		ask(issuer.URL, wire.TokensPattern, "{plan}", p.Name())
		ask(issuer.URL, wire.WithdrawalPattern, "{plan}", p.Name())
	}
	for i, way := range p.Route.Ways() {
		ask(way[0].URL, wire.WithdrawalPattern, "{plan}", p.Name())
		if p.Route.Sum == nil {
			ask(way[0].URL, wire.ContributionPattern, "{plan}", p.Name(), "{instance}", strconv.Itoa(i))
			continue
		}
		tasks, err := task.All(p)
		if err != nil {
			return nil, err
		}
		for _, t := range tasks {
			ask(way[0].URL, dap.ReportsPattern, "{task}", t.ID.String())
		}
	}
	return all, nil
}

// relayPath is below which phones reach services.
const relayPath = "/answer/relay/"

// carry has requests of phones carried to the services of the room's plan: those that a device makes, and
// no others.
func (c *Console) carry(page func(pattern string, h func(http.ResponseWriter, *http.Request) error)) (err error) {
	if c.carried, err = carriedOf(c.o.Poll.Signed.Plan); err != nil {
		return fmt.Errorf("console: %w", err)
	}
	for at, service := range c.carried {
		below := relayPath + strconv.Itoa(at)
		for _, pattern := range service.asks {
			method, path, _ := strings.Cut(pattern, " ")
			page(method+" "+below+path, func(w http.ResponseWriter, r *http.Request) error {
				err := c.relay(w, r, service.url+strings.TrimPrefix(r.URL.Path, below))
				if problem, ok := errors.AsType[*wire.Problem](err); ok { // which a device reads
					web.WriteProblem(w, problem)
					return nil
				}
				return err
			})
		}
	}
	return nil
}

// deviceFile sends a file of the device. Its worker is led to the services by way of the room.
func (c *Console) deviceFile(w http.ResponseWriter, r *http.Request) error {
	room := c.o.Poll
	if room.Device == nil {
		return errNoPage
	}
	w.Header().Set("Content-Security-Policy", answerPolicy)
	w.Header().Set("Cache-Control", "public, max-age=300")
	r = r.Clone(r.Context())
	switch name := r.PathValue("file"); name {
	case "worker.js":
		w.Header().Set("Content-Type", "text/javascript; charset=utf-8")
		_, err := io.WriteString(w, "import \"./relay.js\";\nimport \"./client.js\";\n")
		return err
	case "relay.js":
		urls := make([]string, len(c.carried))
		for i, service := range c.carried {
			urls[i] = service.url
		}
		list, err := json.Marshal(urls)
		if err != nil {
			return err
		}
		w.Header().Set("Content-Type", "text/javascript; charset=utf-8")
		_, err = fmt.Fprintf(w, relayScript, list)
		return err
	case "client.js":
		r.URL.Path = "/worker.js"
	default:
		r.URL.Path = "/" + name
	}
	room.Device.ServeHTTP(w, r)
	return nil
}

// relayScript has requests to the plan's services go by way of the room: a phone has no other
// way to services of a machine that are that machine's own. They have the phone's cookie, which the
// room carries no further.
const relayScript = `const carried = %s;
const ask = self.fetch.bind(self);
self.fetch = (to, how) => {
  const url = String(to instanceof Request ? to.url : to);
  const at = carried.findIndex((base) => url.startsWith(base + "/"));
  return ask(at < 0 ? to : "/answer/relay/" + at + url.slice(carried[at].length), at < 0 ? how : { ...how, credentials: "same-origin" });
};
`

// maxRelayed bounds what is carried either way, in bytes.
const maxRelayed = 16 << 20

// relay carries a request of a phone that has joined to a service of the plan, and the answer back, as
// they come: nothing of either is kept. A phone has one under way.
func (c *Console) relay(w http.ResponseWriter, r *http.Request, to string) error {
	if _, err := wire.PathID(r); err != nil && r.PathValue("id") != "" {
		return errNoPage // its slashes would be the service's
	}
	if cookie, err := r.Cookie(phoneCookie); err != nil || !c.o.Poll.knows(cookie.Value) {
		return wire.Problemf(wire.Unauthenticated, "this phone has not joined the poll")
	}
	if r.ContentLength > maxRelayed {
		return wire.Problemf(wire.TooLarge, "the body has %d bytes; at most %d fit here", r.ContentLength, maxRelayed)
	}
	if err := serve.EnterLong(r); err != nil {
		return err
	}
	ask, err := http.NewRequestWithContext(r.Context(), r.Method, to, serve.Body(w, r, maxRelayed))
	if err != nil {
		return err
	}
	if ask.ContentLength = r.ContentLength; r.ContentLength == 0 {
		ask.Body = http.NoBody
	}
	for _, name := range []string{"Content-Type", "Authorization", "Accept"} {
		if v := r.Header.Get(name); v != "" {
			ask.Header.Set(name, v)
		}
	}
	res, err := c.o.Poll.Carry.Do(ask)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	for _, name := range []string{"Content-Type", "Retry-After", "WWW-Authenticate"} {
		if v := res.Header.Get(name); v != "" {
			w.Header().Set(name, v)
		}
	}
	w.WriteHeader(res.StatusCode)
	if n, err := io.Copy(w, io.LimitReader(res.Body, maxRelayed+1)); err != nil || n > maxRelayed {
		panic(http.ErrAbortHandler) // or half of it would be taken for the whole
	}
	return nil
}
