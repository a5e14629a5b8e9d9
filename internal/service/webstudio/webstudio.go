// Package webstudio holds the files of what the console's pages compute in a browser: confetti-studio.wasm, what
// starts it, and the scripts round it. Used by cmd/internal/server/roles.
package webstudio

import (
	"context"
	"embed"
	"net/http"

	"github.com/confetti-dp/confetti/internal/webmodule"
)

//go:embed index.js worker.js
var scripts embed.FS

// wasm is the module's file.
const wasm = "confetti-studio.wasm"

var studio = module.Module{Scripts: scripts, Wasm: wasm, Command: "github.com/confetti-dp/confetti/cmd/confetti-web/studio"}

// Handler serves the files, the module compressed for browsers that take it so.
func Handler(ctx context.Context) (http.Handler, error) {
	files, err := studio.Files(ctx)
	if err != nil {
		return nil, err
	}
	return studio.Handler(files), nil
}
