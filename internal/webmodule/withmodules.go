//go:build withmodules

package module

import "embed"

// made is what Overlay names.
//
//go:embed confetti.wasm.gz confetti-studio.wasm.gz wasm_exec.js
var made embed.FS

func init() { inside = made }
