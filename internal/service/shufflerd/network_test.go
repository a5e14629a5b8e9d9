package shufflerd

import (
	"bytes"
	"crypto/sha256"
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
	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/service/transfer"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/internal/wire/handover"
	"github.com/confetti-dp/confetti/internal/wire/relay"
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
	if strings.Contains(in.URL.Path, "/parts/") {
		w.mu.Lock()
		switch rec.Code {
		case http.StatusCreated:
			w.arrived++
		case http.StatusOK:
			w.again++
		}
		w.mu.Unlock()
	}
	return rec.Result(), nil
}

// answer says what the analyzer has of a crowd.
func (w *world) answer(out http.ResponseWriter, r *http.Request) {
	var held handover.Held
	var crowd uint32
	if _, err := fmt.Sscanf(r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:], "%d", &crowd); err != nil {
		w.t.Error(err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.batches[crowd] != nil {
		held.Received = fmt.Sprintf("%x", w.receipts[crowd][len(w.receipts[crowd])-1].BatchOut)
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
	if r.Header.Get("Content-Type") != wire.BatchType {
		if body = w.gather(out, r, body); body == nil {
			return
		}
		out.WriteHeader(w.count(body))
		return
	}
	h, err := handover.ParseHandover(body)
	if err != nil {
		w.t.Errorf("the analyzer got what it cannot read: %v", err)
		out.WriteHeader(http.StatusBadRequest)
		return
	}
	w.bearsOut(h.Receipts, h.Batch.Head(), h.Digest)
	out.WriteHeader(w.count(body))
}

// bearsOut checks the receipts of a batch.
func (w *world) bearsOut(receipts []relay.SignedReceipt, head envelope.Head, digest [32]byte) {
	var keys []relay.VerifyKey
	for _, p := range w.plan.Route.Mix.Instances[0].Hops {
		k, err := relay.ParseVerifyKey(p.Receipts)
		if err != nil {
			w.t.Error(err)
		}
		keys = append(keys, k)
	}
	if err := handover.CheckChain(receipts, keys, head, digest); err != nil {
		w.t.Errorf("receipts: %v", err)
	}
}

// count keeps a batch that is whole, once.
func (w *world) count(body []byte) int {
	h, err := handover.ParseHandover(body)
	if err != nil {
		w.t.Fatal(err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if before, there := w.batches[h.Batch.Crowd]; there {
		if !bytes.Equal(before, body) {
			w.t.Errorf("crowd %d came a second time, and otherwise", h.Batch.Crowd)
		}
		return http.StatusOK
	}
	w.batches[h.Batch.Crowd], w.receipts[h.Batch.Crowd] = body, h.Receipts
	return http.StatusCreated
}

// gather takes manifests and parts. When a batch is whole it is what a handover of it as
// a whole would be.
func (w *world) gather(out http.ResponseWriter, r *http.Request, body []byte) []byte {
	manifest := r.Header.Get("Content-Type") == wire.PartedType
	rest := bytes.NewReader(body)
	receipts, err := handover.ReadReceipts(rest, manifest)
	if err != nil {
		w.t.Fatalf("the analyzer got what it cannot read: %v", err)
	}
	body = body[len(body)-rest.Len():]
	digest := receipts[len(receipts)-1].BatchOut
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.parts == nil {
		w.parts = map[[32]byte]map[int][]byte{}
	}
	parts := w.parts[digest]
	if !manifest {
		var n int
		fmt.Sscanf(r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:], "%d", &n)
		if parts[n] != nil {
			w.t.Errorf("part %d was sent a second time", n)
		}
		parts[n] = body
		out.WriteHeader(http.StatusCreated)
		return nil
	}
	m, err := handover.ParseManifest(body)
	if err != nil {
		w.t.Fatalf("the analyzer got what it cannot read: %v", err)
	}
	w.bearsOut(receipts, m.Head, m.Digest())
	if parts == nil {
		parts = map[int][]byte{}
		w.parts[digest] = parts
	}
	var missing []int
	whole := bytes.NewBuffer(handover.MarshalHandover(receipts, nil))
	if err := m.Head.Write(whole); err != nil {
		w.t.Fatal(err)
	}
	for n := range m.Parts {
		if parts[n] == nil {
			missing = append(missing, n)
		} else if sha256.Sum256(parts[n]) != m.Parts[n].SHA256 {
			w.t.Errorf("part %d is not the one that the manifest names", n)
		}
		whole.Write(parts[n])
	}
	if len(missing) > 0 {
		transfer.WriteMissing(out, missing)
		return nil
	}
	return whole.Bytes()
}

// read is the payloads that the analyzer has of a crowd, sorted.
func (w *world) read(crowd uint32) []string {
	w.t.Helper()
	body, there := w.batches[crowd]
	if !there {
		return nil
	}
	h, err := handover.ParseHandover(body)
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
