package serve

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/confetti-dp/confetti/internal/wire"
)

// A script of a page may ask a service only where the service names the page's origin (the
// CORS protocol of the Fetch standard). That guards the browser's owner and no service: whoever is
// no browser writes any Origin. So the paths of respondents and those that are public
// anyway answer the origins of the configuration, each by its name. No path answers every
// origin, and none takes a browser's own credentials, cookies and certificates: a page
// shows a credential that it was given, or none.

// public are the patterns, beside those of respondents, that a page may read.
var public = []string{
	wire.PlanPattern, wire.PlansPattern, wire.StatusPattern, wire.WithdrawalPattern, wire.ReleasesPattern, wire.ReleasePattern,
	wire.StatePattern, wire.StudyPattern, wire.LoggedPattern,
}

const (
	shownHeaders   = "Authorization, Content-Type, Accept"
	exposedHeaders = "Retry-After, Accept, Confetti-Versions"
	preflightTime  = "600" // seconds for which a browser need not ask again
)

// checkOrigin refuses what no browser writes as the origin of a page that came over a
// connection that nobody could change.
func checkOrigin(origin string) error {
	u, err := url.Parse(origin)
	switch {
	case origin == "*" || origin == "null":
		return fmt.Errorf("%q is every page, or any: name the origins of your pages", origin)
	case err != nil || u.Host == "" || u.Scheme+"://"+u.Host != origin || strings.ToLower(origin) != origin || strings.ContainsAny(origin, "*, \t"):
		return fmt.Errorf("%q is no origin: write scheme and host as a browser does, such as https://app.example.org, without a path and in lower case", origin)
	case u.Scheme != "https" && !(u.Scheme == "http" && Local(u.Hostname())):
		return fmt.Errorf("%q: whoever is on the way could write the page: only https is taken, and http of this machine", origin)
	case u.Port() == "" && strings.HasSuffix(u.Host, ":"), u.Scheme == "https" && u.Port() == "443", u.Scheme == "http" && u.Port() == "80":
		return fmt.Errorf("%q: a browser leaves out the port that the scheme has anyway", origin)
	}
	return nil
}

// CheckOrigins joins what is wrong with all.
func CheckOrigins(all []string) error {
	var errs []error
	for i, o := range all {
		if errs = append(errs, checkOrigin(o)); slices.Contains(all[:i], o) {
			errs = append(errs, fmt.Errorf("%q stands there twice", o))
		}
	}
	return errors.Join(errs...)
}

// page is what a browser says of the script that asks.
type page struct {
	origin string // one of the configuration; otherwise empty
	asks   string // of a preflight: the method to come
}

type pageKey struct{}

// keepPage keeps it from what is forgotten of every request. No handler of a service sees it.
func (s *Server) keepPage(r *http.Request) *http.Request {
	all := r.Header["Origin"]
	if len(all) != 1 || !slices.Contains(s.config.Origins, all[0]) {
		return r
	}
	return r.WithContext(context.WithValue(r.Context(), pageKey{}, page{all[0], r.Header.Get("Access-Control-Request-Method")}))
}

func pageOf(r *http.Request) page {
	p, _ := r.Context().Value(pageKey{}).(page)
	return p
}

// paged is whether pages of the configuration's origins may use a pattern.
func (s *Server) paged(pattern string) bool {
	return len(s.config.Origins) > 0 && (s.config.kindOf(pattern) == respondents || slices.Contains(public, pattern))
}

// readable lets the page that asks read what the handler answers, its problems too.
// Whatever keeps answers on the way must tell origins apart.
func readable(h Handler) Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		w.Header().Add("Vary", "Origin")
		if p := pageOf(r); p.origin != "" {
			w.Header().Set("Access-Control-Allow-Origin", p.origin)
			w.Header().Set("Access-Control-Expose-Headers", exposedHeaders)
		}
		return h(w, r)
	}
}

// handlePreflights answers what browsers ask before a script's request, for the paths of these
// patterns. They are counted nowhere: the number of a plan's respondents may be private.
func (s *Server) handlePreflights(mux *http.ServeMux, patterns []string) {
	methods := map[string][]string{} // by path
	for _, pattern := range patterns {
		method, path, _ := strings.Cut(pattern, " ")
		methods[path] = append(methods[path], method)
	}
	for path, of := range methods {
		slices.Sort(of)
		mux.HandleFunc("OPTIONS "+path, func(w http.ResponseWriter, r *http.Request) {
			routed := w.(*unrouted)
			routed.found = true
			h := routed.answer.Header()
			h.Add("Vary", "Origin, Access-Control-Request-Method, Access-Control-Request-Headers")
			if p := pageOf(r); p.origin != "" && slices.Contains(of, p.asks) {
				h.Set("Access-Control-Allow-Origin", p.origin)
				h.Set("Access-Control-Allow-Methods", strings.Join(of, ", "))
				h.Set("Access-Control-Allow-Headers", shownHeaders)
				h.Set("Access-Control-Max-Age", preflightTime)
			}
			routed.answer.WriteHeader(http.StatusNoContent)
		})
	}
}
