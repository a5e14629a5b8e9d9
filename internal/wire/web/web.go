// Package web reads and writes the problems of internal/wire over net/http. Used by internal/service and
// cmd/internal/services, and not by a device in a browser.
package web

import (
	"encoding/json"
	"errors"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/confetti-dp/confetti/internal/wire"
)

// AsProblem returns the problem in the error, or wire.Internal with nothing of the error
// in it: what a service did not foresee may hold anything.
func AsProblem(err error) *wire.Problem {
	if p, ok := errors.AsType[*wire.Problem](err); ok {
		return p
	}
	if tooLarge, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return wire.Problemf(wire.TooLarge, "the body has more than %d bytes", tooLarge.Limit)
	}
	return wire.Problemf(wire.Internal, "no more is said here")
}

// WriteProblem answers a request with the problem in the error.
func WriteProblem(w http.ResponseWriter, err error) {
	p := AsProblem(err)
	body, jsonErr := json.Marshal(p)
	if jsonErr != nil {
		panic("web: " + jsonErr.Error()) // strings and numbers always encode
	}
	h := w.Header()
	h.Set("Content-Type", wire.ProblemType)
	h.Set("Cache-Control", "no-store")
	if p.RetryAfter > 0 {
		h.Set("Retry-After", strconv.FormatInt(int64((p.RetryAfter+time.Second-1)/time.Second), 10))
	}
	if p.Accept != "" {
		h.Set("Accept", p.Accept)
	}
	if p.Code == wire.Unauthenticated {
		h.Set("WWW-Authenticate", "Bearer, PrivateToken")
	}
	w.WriteHeader(p.Status)
	w.Write(append(body, '\n'))
}

// ReadProblem returns the problem that a response reports; nil for a status below
// 400 (wire.ReadProblem). The response's body is read, not closed.
func ReadProblem(r *http.Response) *wire.Problem {
	if r.StatusCode < 400 {
		return nil
	}
	return wire.ReadProblem(r.StatusCode, r.Header.Get("Content-Type"), r.Header.Get("Retry-After"), r.Body)
}

// CheckType refuses a request whose body is, by its header Content-Type, of none of the wanted types, versions and, of
// DAP, messages.
func CheckType(contentType string, wanted ...string) error {
	if slices.Contains(wanted, contentType) {
		return nil // as everybody writes it
	}
	gotType, gotParams, err := mime.ParseMediaType(contentType)
	for _, want := range wanted {
		wantType, wantParams, _ := mime.ParseMediaType(want)
		if err == nil && gotType == wantType && gotParams["version"] == wantParams["version"] && gotParams["message"] == wantParams["message"] {
			return nil
		}
	}
	p := wire.Problemf(wire.UnsupportedMediaType, "the body must be %s", strings.Join(wanted, " or "))
	p.Accept = strings.Join(wanted, ", ")
	return p
}
