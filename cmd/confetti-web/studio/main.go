//go:build js && wasm

// Command studio computes what the console's pages compute in a browser: a question made of somebody's own values,
// and the verification of a release. Used by the worker of internal/service/webstudio.
//
// It speaks JavaScript alone, and asks nobody for anything.
//
// It sets globalThis.confettiStudio, whose functions take texts of JSON, or bytes where it says so, and answer with
// {"result": ...} or {"error": "..."} as text.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"syscall/js"

	"github.com/confetti-dp/confetti/internal/audit"
	"github.com/confetti-dp/confetti/internal/release/results"
	"github.com/confetti-dp/confetti/internal/strictjson"
	"github.com/confetti-dp/confetti/internal/studio"
	"github.com/confetti-dp/confetti/internal/wire/relay"
	"github.com/confetti-dp/confetti/plan"
	_ "github.com/confetti-dp/confetti/question/all"
	"github.com/confetti-dp/confetti/release"
	"github.com/confetti-dp/confetti/release/verify"
)

func main() {
	var sheet *studio.Sheet
	js.Global().Set("confettiStudio", map[string]any{
		// read(bytes, asTable): the values that draw is asked about.
		"read": answering(func(args []js.Value) (any, error) {
			var err error
			sheet, err = studio.Read(bytesOf(args[0]), args[1].Truthy())
			return sheet, err
		}),
		// draw(choice)
		"draw": answering(func(args []js.Value) (any, error) {
			if sheet == nil {
				return nil, errors.New("there are no values yet")
			}
			var c studio.Choice
			if err := strictjson.JSON([]byte(args[0].String()), &c); err != nil {
				return nil, err
			}
			return sheet.Draw(c)
		}),
		// verify(files, state, publishers, again, asked): bytes by name, the bytes of the public state or null, whom
		// somebody expects, as text, whether the collections of an audit are drawn again, and who was asked whether the
		// plan was withdrawn since: their statement is the file of that name.
		"verify": answering(func(args []js.Value) (any, error) {
			e := verify.Evidence{Files: map[string][]byte{}, Version: release.Software(), Answers: results.Again, Words: results.Words}
			names := js.Global().Get("Object").Call("keys", args[0])
			for i := range names.Length() {
				e.Files[names.Index(i).String()] = bytesOf(args[0].Get(names.Index(i).String()))
			}
			var err error
			if e.Trusted, err = verify.Expected(args[2].String()); err != nil {
				return nil, err
			}
			var state []byte
			if args[1].Truthy() {
				state = bytesOf(args[1])
			}
			e.State = func(to io.Writer, name string) error {
				if state == nil {
					return errors.New("the public state that the plan names is not here: confetti release verify looks at it")
				}
				return plan.CopyState(to, bytes.NewReader(state), name)
			}
			if args[4].Truthy() {
				e.Asked = []verify.Asked{{Who: args[4].String(), Withdrawal: e.Files[relay.WithdrawalFile]}}
				delete(e.Files, relay.WithdrawalFile)
			}
			if args[3].Truthy() {
				e.Again = func(p plan.Plan, report audit.Report) error {
					return report.Same(audit.Of(p, state, func(string, int, int) {}))
				}
			}
			return verify.Release(e)
		}),
	})
	select {} // until the worker ends
}

// bytesOf copies a Uint8Array.
func bytesOf(array js.Value) []byte {
	b := make([]byte, array.Length())
	js.CopyBytesToGo(b, array)
	return b
}

// answering returns a function of JavaScript.
func answering(f func([]js.Value) (any, error)) js.Func {
	return js.FuncOf(func(_ js.Value, args []js.Value) any {
		result, err := f(args)
		var answer struct {
			Result any    `json:"result,omitempty"`
			Error  string `json:"error,omitempty"`
		}
		if answer.Result = result; err != nil {
			answer.Result, answer.Error = nil, err.Error()
		}
		text, err := json.Marshal(answer)
		if err != nil {
			return fmt.Sprintf(`{"error":%q}`, "the answer has no JSON form")
		}
		return string(text)
	})
}
