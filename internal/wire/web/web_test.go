package web

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/internal/testkit/costlimit"
	"github.com/confetti-dp/confetti/internal/wire"
)

func TestCheckType(t *testing.T) {
	for got, ok := range map[string]bool{
		wire.ContributionType: true, "Application/vnd.confetti.contribution;version=2": true, "": false, wire.BatchType: false,
		"application/vnd.confetti.contribution": false, "application/vnd.confetti.contribution; version=1": false, "application/json": false, "/": false,
	} {
		r := httptest.NewRequest("PUT", "/", nil)
		r.Header.Set("Content-Type", got)
		err := CheckType(r.Header.Get("Content-Type"), wire.ContributionType)
		if (err == nil) != ok {
			t.Errorf("%q: %v", got, err)
		}
		if err != nil {
			w := httptest.NewRecorder()
			WriteProblem(w, err)
			if w.Code != http.StatusUnsupportedMediaType || w.Header().Get("Accept") != wire.ContributionType {
				t.Errorf("%q: status %d, Accept %q", got, w.Code, w.Header().Get("Accept"))
			}
		}
	}
}

func TestProblemsComeBack(t *testing.T) {
	for _, k := range wire.Kinds {
		w := httptest.NewRecorder()
		sent := wire.Problemf(k.Code, "a \"detail\"\n%w", os.ErrNotExist)
		sent.RetryAfter = 1500 * time.Millisecond
		WriteProblem(w, fmt.Errorf("wrapped: %w", sent))
		got := ReadProblem(w.Result())
		if got == nil || w.Code != k.Status || got.Status != k.Status || got.Code != k.Code || got.Detail != sent.Detail || got.Remedy != k.Remedy || got.Title != k.Title || got.RetryAfter != 2*time.Second || got.Retry() != k.Retry {
			t.Errorf("%s came back as %+v", k.Code, got)
		}
		if !errors.Is(sent, os.ErrNotExist) {
			t.Error("the cause is lost on the side that made it")
		}
	}
	w := httptest.NewRecorder()
	WriteProblem(w, errors.New("a secret"))
	if p := ReadProblem(w.Result()); p.Code != wire.Internal || strings.Contains(w.Body.String(), "secret") {
		t.Errorf("an unforeseen error gave %s", w.Body)
	}
	if p := AsProblem(fmt.Errorf("x: %w", &http.MaxBytesError{Limit: 5})); p.Code != wire.TooLarge {
		t.Errorf("a body over its limit gave %v", p)
	}
	// What proxies on the way answer is no document of ours.
	for _, c := range []struct {
		status  int
		header  string
		body    string
		retries bool
	}{{502, "text/html", "<html>", true}, {404, "application/problem+json", "{", false}, {503, "application/problem+json", `{"code":"of-later","status":200}`, true}, {429, "application/problem+json", strings.Repeat(" ", wire.MaxProblem) + "{}", true}} {
		w := httptest.NewRecorder()
		w.Header().Set("Content-Type", c.header)
		w.WriteHeader(c.status)
		w.WriteString(c.body)
		if p := ReadProblem(w.Result()); p == nil || p.Status != c.status || p.Retry() != c.retries {
			t.Errorf("%d %s gave %v", c.status, c.body[:1], p)
		}
	}
	if p := ReadProblem(&http.Response{StatusCode: 201}); p != nil {
		t.Error("a success is a problem")
	}
}

func FuzzReadProblem(f *testing.F) {
	f.Add(409, `{"type":"urn:confetti:problem:batch-taken","title":"t","status":409,"code":"batch-taken","remedy":"r"}`, "1")
	f.Add(503, "<html>", "Wed, 21 Oct 2026 07:28:00 GMT")
	f.Fuzz(func(t *testing.T, status int, body, retry string) {
		costlimit.Heap(t, costlimit.Factor, len(body)+len(retry), func() {
			r := &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {wire.ProblemType}, "Retry-After": {retry}}, Body: io.NopCloser(strings.NewReader(body))}
			p := ReadProblem(r)
			if (p != nil) != (status >= 400) || p != nil && (p.Status != status || p.RetryAfter < 0 || p.RetryAfter > 1<<20*time.Second) {
				t.Errorf("status %d gave %+v", status, p)
			}
		})
	})
}
