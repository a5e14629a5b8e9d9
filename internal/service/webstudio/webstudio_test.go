package webstudio

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
)

// mostBytes bounds the module as a browser loads it, compressed; with the check of a release's
// answers, which learns from its tables anew, with an accountant that keeps laws and transforms, and with
// the readers of strings, of tables and of experiments, whose questions are made there too, with what a lift takes.
// A release packs it 40 kB smaller.
const mostBytes = 4_360_000

// The module is no larger than it has to be, and its scripts are there.
func TestTheModuleIsServed(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles the module")
	}
	handler, err := Handler(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{wasm, "index.js", "worker.js", "wasm_exec.js"} {
		r := httptest.NewRequest(http.MethodGet, "/"+name, nil)
		r.Header.Set("Accept-Encoding", "gzip")
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		n, err := io.Copy(io.Discard, w.Body)
		if err != nil || w.Code != http.StatusOK || n == 0 {
			t.Errorf("%s: %d, %d bytes, %v", name, w.Code, n, err)
		}
		if t.Logf("%s: %d bytes", name, n); name == wasm && n > mostBytes {
			t.Errorf("the module has %d bytes, of at most %d", n, mostBytes)
		}
	}
}
