// Package webclient holds the files of @confetti-dp/client as a page loads them, without a build step: its
// JavaScript, and confetti.wasm with what starts it. Used by apps that serve a page, and by
// cmd/internal/server/up.
package webclient

import (
	"context"
	"embed"
	"io/fs"
	"net/http"

	"github.com/confetti-dp/confetti/internal/webmodule"
)

//go:embed index.js metrics.js worker.js device.js store.js
var scripts embed.FS

var client = module.Module{Scripts: scripts, Wasm: "confetti.wasm", Command: "github.com/confetti-dp/confetti/cmd/confetti-web"}

// Files returns all files of the client.
func Files(ctx context.Context) (fs.FS, error) { return client.Files(ctx) }

// Handler serves Files, the module compressed for browsers that take it so.
func Handler(all fs.FS) http.Handler { return client.Handler(all) }
