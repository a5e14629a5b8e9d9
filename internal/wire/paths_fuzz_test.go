package wire

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/confetti-dp/confetti/internal/testkit/costlimit"
)

// A path that is read is the one that is written of what was read: nothing has two
// names.
func FuzzPaths(f *testing.F) {
	for _, path := range []string{
		ContributionPath([32]byte{1}, 7, [32]byte{2}), BatchPath([32]byte{1}, 65535, 255, 1<<32-1), PlanPath([32]byte{3}), StatusPath([32]byte{3}),
		"/v1/plans/00/instances/00/contributions/x", "/v1/plans/%30/status", "//v1//plans", "/v1/plans/" + "A", "", "/v1/releases/..%2f.json",
	} {
		f.Add(http.MethodPut, path)
	}
	var found string // what is written of the request that was taken last
	mux := http.NewServeMux()
	take := func(pattern string, read func(*http.Request) (string, error)) {
		mux.HandleFunc(pattern, func(_ http.ResponseWriter, r *http.Request) {
			if path, err := read(r); err == nil {
				found = path
			}
		})
	}
	take(ContributionPattern, func(r *http.Request) (string, error) {
		plan, err := PathPlan(r)
		if err != nil {
			return "", err
		}
		instance, err := PathInstance(r)
		if err != nil {
			return "", err
		}
		id, err := PathID(r)
		return ContributionPath(plan, instance, id), err
	})
	take(BatchPattern, func(r *http.Request) (string, error) {
		l, err := PathLeg(r)
		return BatchPath(l.Plan, l.Instance, l.Hop, l.Crowd), err
	})
	for pattern, path := range map[string]func([32]byte) string{PlanPattern: PlanPath, RegisterPattern: PlanPath, StatusPattern: StatusPath, TokensPattern: TokensPath, ClosePattern: ClosePath} {
		take(pattern, func(r *http.Request) (string, error) {
			plan, err := PathPlan(r)
			return path(plan), err
		})
	}
	f.Fuzz(func(t *testing.T, method, path string) {
		costlimit.Heap(t, costlimit.Factor, len(method)+len(path), func() {
			u, err := url.ParseRequestURI(path)
			if err != nil || u.Path == "" {
				return
			}
			found = ""
			r := &http.Request{Method: method, URL: u, Host: "x", Header: http.Header{}, RequestURI: path}
			mux.ServeHTTP(&nobody{http.Header{}}, r)
			if found != "" && found != u.Path {
				t.Errorf("%q is read as %q", u.Path, found)
			}
		})
	})
}

// nobody takes an answer.
type nobody struct{ header http.Header }

func (n *nobody) Header() http.Header         { return n.header }
func (n *nobody) Write(b []byte) (int, error) { return len(b), nil }
func (n *nobody) WriteHeader(int)             {}
