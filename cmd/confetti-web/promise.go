//go:build js && wasm

package main

import (
	"errors"
	"fmt"
	"syscall/js"

	"github.com/confetti-dp/confetti/internal/client/embed"
)

// promise runs f, which may wait, and is what becomes of it. Its errors are JavaScript's,
// with a code.
func promise(f func() (any, error)) js.Value {
	var start js.Func
	start = js.FuncOf(func(_ js.Value, settle []js.Value) any {
		resolve, reject := settle[0], settle[1]
		go func() {
			defer start.Release()
			result, err := f()
			if err != nil {
				e := js.Global().Get("Error").New(err.Error())
				e.Set("code", embed.Code(err))
				reject.Invoke(e)
				return
			}
			resolve.Invoke(result)
		}()
		return nil
	})
	return js.Global().Get("Promise").New(start)
}

// await waits for a promise.
func await(p js.Value) (js.Value, error) {
	type outcome struct {
		value js.Value
		err   error
	}
	done := make(chan outcome, 1)
	kept := js.FuncOf(func(_ js.Value, args []js.Value) any {
		done <- outcome{value: args[0]}
		return nil
	})
	defer kept.Release()
	broken := js.FuncOf(func(_ js.Value, args []js.Value) any {
		done <- outcome{err: errors.New(js.Global().Get("String").Invoke(args[0]).String())}
		return nil
	})
	defer broken.Release()
	p.Call("then", kept, broken)
	o := <-done
	return o.value, o.err
}

// array returns what a Uint8Array holds.
func array(v js.Value) []byte {
	b := make([]byte, v.Get("length").Int())
	js.CopyBytesToGo(b, v)
	return b
}

// uint8Array is bytes as a Uint8Array.
func uint8Array(b []byte) js.Value {
	v := js.Global().Get("Uint8Array").New(len(b))
	js.CopyBytesToJS(v, b)
	return v
}

// thrown is what a call of JavaScript threw, as an error.
func thrown(err *error) {
	if r := recover(); r != nil {
		e, ok := r.(js.Error)
		if !ok {
			panic(r)
		}
		*err = fmt.Errorf("%s", e.Error())
	}
}
