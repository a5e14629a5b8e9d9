//go:build js && wasm

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"syscall/js"

	"github.com/confetti-dp/confetti/client"
	"github.com/confetti-dp/confetti/internal/client/embed"
)

// fetch is the client.Transport of browsers. A browser adds headers of its own, such as
// which one it is (docs/limits-software.md).
type fetch struct{}

// Do implements client.Transport.
func (fetch) Do(ctx context.Context, r client.Request) (answer client.Response, err error) {
	defer thrown(&err)
	headers := map[string]any{}
	if r.Type != "" {
		headers["Content-Type"] = r.Type
	}
	if r.Authorization != "" {
		headers["Authorization"] = r.Authorization
	}
	abort := js.Global().Get("AbortController").New()
	// What is meant for one party is not carried on to another, and nothing says who asks.
	how := map[string]any{
		"method": r.Method, "headers": headers, "redirect": "error", "credentials": "omit", "cache": "no-store", "referrerPolicy": "no-referrer",
		"mode": "cors", "signal": abort.Get("signal"),
	}
	if len(r.Body) > 0 {
		how["body"] = uint8Array(r.Body)
	}
	stop := context.AfterFunc(ctx, func() { abort.Call("abort") })
	v, err := await(js.Global().Call("fetch", r.URL, how))
	if err != nil {
		stop()
		return answer, errors.Join(ctx.Err(), why(r.URL, err))
	}
	header := func(name string) string {
		if h := v.Get("headers").Call("get", name); !h.IsNull() {
			return h.String()
		}
		return ""
	}
	answer = client.Response{Status: v.Get("status").Int(), Type: header("Content-Type"), RetryAfter: header("Retry-After"), Body: io.NopCloser(eof{})}
	if body := v.Get("body"); !body.IsNull() {
		answer.Body = &stream{reader: body.Call("getReader"), stop: stop}
	}
	return answer, nil
}

// What a browser does not tell apart, and a page can: both are a failed fetch.
var (
	errOrigin = errors.New("the service does not let pages of this origin ask: have its operator name the origin in origins, or start a trial with --origin")
	errAway   = errors.New("the service cannot be reached, or this browser does not know its certificate: open its address in a tab, and try again")
)

// why finds out whether a service is there and lets this page not ask. It asks for what everybody may see, without
// anything of the device, and cannot read the answer.
func why(address string, err error) error {
	u, parsed := url.Parse(address)
	if parsed != nil {
		return err
	}
	_, silent := await(js.Global().Call("fetch", u.Scheme+"://"+u.Host+"/healthz", map[string]any{"mode": "no-cors", "credentials": "omit", "cache": "no-store", "referrerPolicy": "no-referrer"}))
	if silent != nil {
		return fmt.Errorf("%w: %s: %w", errAway, u.Host, err)
	}
	return &embed.Error{As: embed.Origin, Err: fmt.Errorf("%w %s: %s: %w", errOrigin, js.Global().Get("origin").String(), u.Host, err)}
}

type eof struct{}

func (eof) Read([]byte) (int, error) { return 0, io.EOF }

// stream is a ReadableStream.
type stream struct {
	reader js.Value
	rest   []byte
	stop   func() bool
}

// Read implements io.Reader.
func (s *stream) Read(b []byte) (n int, err error) {
	defer thrown(&err)
	for len(s.rest) == 0 {
		chunk, err := await(s.reader.Call("read"))
		if err != nil {
			return 0, err
		}
		if chunk.Get("done").Bool() {
			return 0, io.EOF
		}
		s.rest = array(chunk.Get("value"))
	}
	n = copy(b, s.rest)
	s.rest = s.rest[n:]
	return n, nil
}

// Close implements io.Closer.
func (s *stream) Close() (err error) {
	defer thrown(&err)
	s.stop()
	_, err = await(s.reader.Call("cancel"))
	return err
}
