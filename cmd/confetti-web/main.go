//go:build js && wasm

// Command confetti-web runs a device in a browser: package client as WebAssembly, in a worker, for JavaScript alone.
// Used by the package @confetti-dp/client, which web/client serves.
//
// It sets globalThis.confettiDevice(store, options), which answers with a promise of the device that the options
// name, and confettiMetrics, which does so of an app that counts; docs/browsers.md has what is above it.
package main

import (
	"syscall/js"

	_ "github.com/confetti-dp/confetti/question/all"
)

func main() {
	js.Global().Set("confettiDevice", js.FuncOf(func(_ js.Value, args []js.Value) any {
		return promise(func() (any, error) { return open(store{args[0]}, args[1].String()) })
	}))
	js.Global().Set("confettiMetrics", js.FuncOf(func(_ js.Value, args []js.Value) any {
		return promise(func() (any, error) { return count(store{args[0]}, args[1].String()) })
	}))
	select {} // until the worker ends
}
