package shufflerd

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/internal/serve"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/internal/wire/web"
)

// RoundTrip is the network.
func (w *world) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		defer r.Body.Close()
	}
	rec := httptest.NewRecorder()
	host := r.URL.Host
	in := r.Clone(r.Context())
	in.RequestURI = r.URL.RequestURI()
	if r.URL.Path == "/healthz" && w.date.IsZero() {
		return nil, errors.New("no route to host")
	}
	if r.URL.Path == "/healthz" {
		rec.Header().Set("Date", w.date.UTC().Format(http.TimeFormat))
		return rec.Result(), nil
	}
	if host == "analyzer.test" {
		if w.cut {
			return nil, errors.New("no route to host")
		}
		if w.elsewhere {
			rec.WriteHeader(http.StatusFound)
			return rec.Result(), nil
		}
		if w.refuse != nil && r.Method == http.MethodPut {
			web.WriteProblem(rec, w.refuse())
			return rec.Result(), nil
		}
		w.analyze(rec, in)
		if w.unheard {
			return nil, errors.New("connection reset")
		}
		return rec.Result(), nil
	}
	var hop int
	if _, err := fmt.Sscanf(host, "hop%d.test", &hop); err != nil || hop >= len(w.hops) || w.hops[hop] == nil {
		return nil, errors.New("no route to host")
	}
	w.hops[hop].server.ServeHTTP(rec, in)
	return rec.Result(), nil
}

// answer says what the analyzer has of a crowd.
func (w *world) answer(out http.ResponseWriter, r *http.Request) {
	var held wire.Held
	var crowd uint32
	if _, err := fmt.Sscanf(r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:], "%d", &crowd); err != nil {
		w.t.Error(err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if body := w.batches[crowd]; body != nil {
		h, err := wire.ParseHandover(body)
		if err != nil {
			w.t.Error(err)
		}
		held.Received = fmt.Sprintf("%x", h.Digest)
	}
	serve.WriteJSON(out, held)
}

// analyze is an analyzer that takes every crowd once.
func (w *world) analyze(out http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet {
		w.answer(out, r)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		w.t.Error(err)
	}
	h, err := wire.ParseHandover(body)
	if err != nil {
		w.t.Errorf("the analyzer got what it cannot read: %v", err)
		out.WriteHeader(http.StatusBadRequest)
		return
	}
	var keys []wire.VerifyKey
	for _, p := range w.plan.Route.Mix.Instances[0].Hops {
		k, err := wire.ParseVerifyKey(p.Receipts)
		if err != nil {
			w.t.Error(err)
		}
		keys = append(keys, k)
	}
	if err := wire.CheckChain(h.Receipts, keys, h.Batch.Head(), h.Digest); err != nil {
		w.t.Errorf("receipts: %v", err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if before, there := w.batches[h.Batch.Crowd]; there {
		if !bytes.Equal(before, body) {
			w.t.Errorf("crowd %d came a second time, and otherwise", h.Batch.Crowd)
		}
		out.WriteHeader(http.StatusOK)
		return
	}
	w.batches[h.Batch.Crowd], w.receipts[h.Batch.Crowd] = body, h.Receipts
	out.WriteHeader(http.StatusCreated)
}

// read is the payloads that the analyzer has of a crowd, sorted.
func (w *world) read(crowd uint32) []string {
	w.t.Helper()
	body, there := w.batches[crowd]
	if !there {
		return nil
	}
	h, err := wire.ParseHandover(body)
	if err != nil {
		w.t.Fatal(err)
	}
	o, err := envelope.NewOpener(w.analyzer, w.plan.Hash(), 0, h.Batch.Hop, envelope.X25519.Size(1, w.plan.Envelopes.PayloadBytes))
	if err != nil {
		w.t.Fatal(err)
	}
	var all []string
	for _, e := range h.Batch.Envelopes {
		p, err := o.Open(crowd, e)
		if err != nil {
			w.t.Fatal(err)
		}
		all = append(all, string(p))
	}
	slices.Sort(all)
	return all
}

// grep lists the files below a folder that contain the text.
func grep(t testing.TB, dir, text string) (files []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if bytes.Contains(data, []byte(text)) {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
