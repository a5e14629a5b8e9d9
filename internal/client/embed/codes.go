package embed

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"

	"github.com/confetti-dp/confetti/client"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/plan"
)

// Codes that the programs round a device give themselves.
const (
	BadOptions  = "bad-options"
	Certificate = "certificate"
	Origin      = "origin"
	Ended       = "ended"
	Registry    = "registry"
	WrongType   = "wrong-type"
	Failed      = "failed"
)

// Error is an error whose code is known where it is made.
type Error struct {
	As  string
	Err error
}

// Error says what the error says.
func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns the error.
func (e *Error) Unwrap() error { return e.Err }

// Code returns the code.
func (e *Error) Code() string { return e.As }

// kinds give an error its code that does not say one: the first that it is.
var kinds = []struct {
	is   error
	code string
}{
	{client.ErrNotOptedIn, "not-opted-in"}, {client.ErrOff, "off"}, {client.ErrAnswered, "answered"}, {client.ErrNotOpen, "not-open"}, {client.ErrClosed, "closed"},
	{plan.ErrUntrusted, "publisher"}, {client.ErrCredential, "credential"}, {client.ErrFull, "full"}, {client.ErrDelayed, "delay"},
	{context.Canceled, "cancelled"}, {context.DeadlineExceeded, "cancelled"},
}

// Code returns what a program may branch on; docs/embedding.md has all of them.
func Code(err error) string {
	// A request's own limit ends it too: what was not reached says so itself.
	if c, ok := errors.AsType[interface {
		error
		Code() string
	}](err); ok {
		return c.Code()
	}
	for _, k := range kinds {
		if errors.Is(err, k.is) {
			return k.code
		}
	}
	if _, ok := errors.AsType[*client.SpentError](err); ok {
		return "spent"
	}
	if _, ok := errors.AsType[*client.DroppedError](err); ok {
		return "dropped"
	}
	if _, ok := errors.AsType[*client.OtherRoundError](err); ok {
		return "other-round"
	}
	if p, ok := errors.AsType[*wire.Problem](err); ok {
		if p.Code == wire.NotOpen {
			return "not-open"
		}
		return "refused"
	}
	return Failed
}

// Reply returns what f gives as a text of JSON: {"ok": ...}, or {"error": {"code", "message"}}. A panic of f becomes
// an error too: whoever called from another language cannot catch it.
func Reply(f func() (any, error)) (text []byte) {
	defer func() {
		if recover() != nil { // with what it says: that may be of an answer
			text = failure(&Error{"bug", errors.New("a bug of this program at " + place() + ": please report it; what is kept is whole, and other calls go on")})
		}
	}()
	result, err := f()
	if err != nil {
		return failure(err)
	}
	text, err = json.Marshal(map[string]any{"ok": result})
	if err != nil {
		return failure(err)
	}
	return text
}

// place returns where a panic began that is being recovered.
func place() string {
	at := make([]uintptr, 64)
	frames := runtime.CallersFrames(at[:runtime.Callers(1, at)])
	for panicked := false; ; {
		f, more := frames.Next()
		inside := strings.HasPrefix(f.Function, "runtime.")
		if panicked && !inside || !more {
			return fmt.Sprintf("%s, line %d", f.Function, f.Line)
		}
		panicked = panicked || inside
	}
}

func failure(err error) []byte {
	// Of texts alone: this cannot fail.
	text, _ := json.Marshal(map[string]any{"error": map[string]string{"code": Code(err), "message": strings.ToValidUTF8(err.Error(), "?")}})
	return text
}
