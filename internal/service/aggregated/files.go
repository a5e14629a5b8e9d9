package aggregated

import (
	"bufio"
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/confetti-dp/confetti/internal/dap"
	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/storage/atomicfile"
	"github.com/confetti-dp/confetti/internal/wire/web"
	"github.com/confetti-dp/confetti/plan"
)

// Two aggregators without a network between them count by files that somebody carries. What a leader asks of its helper
// lies in a folder as a request, and what the helper answers beside it. All else is as it is over a network: each has its
// own shelves, where names are spent, jobs are added and noise is drawn once.
//
//	PLAN.plan        the signed plan
//	NAME.request     what is asked, as HTTP/1.1 writes it
//	NAME.answer      what is answered
//
// The name is that of the request's bytes. A request and an answer begin with a task and an HMAC-SHA256 under the credential
// that the leader shows for it, which is in no file.

// The names of files end so.
const (
	planFile    = ".plan"
	requestFile = ".request"
	answerFile  = ".answer"
)

// errWaits is the error of what the helper has not answered yet.
var errWaits = errors.New("the helper's answer is not in the folder yet")

// Files is an aggregator that counts what has closed by files in a folder, as far as they go, and ends.
type Files struct {
	Config
	Folder string `toml:"-"`
}

// Open reads what the configuration names.
func (c Files) Open(log *slog.Logger) (serve.Opened, error) {
	opened, err := serve.Open(log, c.open, c.verify, c.count)
	if c.Role == dap.Leader && c.Database == "" {
		err = errors.Join(errors.New("a leader that counts by files has its shelves in a folder: set database, and leave url out"), err)
	}
	return opened, err
}

// count does what the files of the folder allow.
func (c Files) count(ctx context.Context, http serve.Config, o Options) error {
	if err := os.MkdirAll(c.Folder, 0o700); err != nil {
		return err
	}
	if c.Database == "" {
		o.Lease = lease
	}
	o.Files = c.Folder
	s, err := c.start(ctx, o)
	if err != nil {
		return err
	}
	defer s.o.Store.Close()
	if c.Role == dap.Leader {
		return s.askFiles(ctx)
	}
	http.Routes, http.Private, http.Visited, http.Handed = s.Routes(), private, visited, handed
	server, err := serve.New(http)
	if err != nil {
		return err
	}
	return s.answerFiles(ctx, server)
}

// askFiles carries all plans as far as the answers in the folder go, and writes what is still to be asked. When nothing is,
// it removes all files.
func (s *Service) askFiles(ctx context.Context) error {
	err := without(s.Step(ctx), errWaits)
	requests, unread := s.named(requestFile)
	if err = errors.Join(err, unread); err != nil {
		return err
	}
	waiting := 0
	for _, path := range requests {
		if _, err := os.Stat(strings.TrimSuffix(path, requestFile) + answerFile); errors.Is(err, fs.ErrNotExist) {
			waiting++
		}
	}
	if waiting > 0 {
		s.o.Log.Info("requests wait for the helper: have it answer them by --files, and start again", "requests", waiting)
		return nil
	}
	for _, kind := range []string{requestFile, answerFile, planFile} {
		paths, err := s.named(kind)
		for _, path := range paths {
			err = errors.Join(err, os.Remove(path))
		}
		if err != nil {
			return err
		}
	}
	s.o.Log.Info("nothing waits for the helper")
	return nil
}

// without returns what else is in a joined error.
func without(err, known error) error {
	if all, ok := err.(interface{ Unwrap() []error }); ok {
		var left []error
		for _, one := range all.Unwrap() {
			left = append(left, without(one, known))
		}
		return errors.Join(left...)
	}
	if errors.Is(err, known) {
		return nil
	}
	return err
}

// named returns the paths of the files of a kind, in order.
func (s *Service) named(kind string) ([]string, error) {
	all, err := os.ReadDir(s.o.Files)
	var paths []string
	for _, one := range all {
		if name := one.Name(); strings.HasSuffix(name, kind) && !strings.HasPrefix(name, atomicfile.Unfinished) {
			paths = append(paths, filepath.Join(s.o.Files, name))
		}
	}
	return paths, err
}

// sealFile returns the bytes of a file: what it is of, and under which credential nobody else could write it.
func (s *Service) sealFile(t dap.TaskID, name string, text []byte) []byte {
	return slices.Concat(t[:], s.fileCode(t, name, text), text)
}

func (s *Service) fileCode(t dap.TaskID, name string, text []byte) []byte {
	h := hmac.New(sha256.New, s.o.Pair.Bearer(t))
	fmt.Fprintf(h, "confetti/files %s %d\n", name, len(text))
	h.Write(text)
	return h.Sum(nil)
}

// openFile returns what sealFile was given.
func (s *Service) openFile(path string) (t dap.TaskID, text []byte, err error) {
	b, err := atomicfile.Read(path)
	if err != nil {
		return t, nil, err
	}
	if len(b) >= len(t)+sha256.Size {
		t, text = dap.TaskID(b), b[len(t)+sha256.Size:]
		if hmac.Equal(b[len(t):len(t)+sha256.Size], s.fileCode(t, filepath.Base(path), text)) {
			return t, text, nil
		}
	}
	return t, nil, fmt.Errorf("%s is changed, or of aggregators with another secret: remove it, and have it written again", path)
}

// byFile returns the answer to a request of a crowd's, or writes the request.
func (s *Service) byFile(c *crowd, r *http.Request) (*http.Response, error) {
	r.Header.Del("Authorization") // what is carried proves where it is from by itself
	var b bytes.Buffer
	if err := r.Write(&b); err != nil {
		return nil, err
	}
	name := fmt.Sprintf("%x", sha256.Sum256(b.Bytes()))
	t, text, err := s.openFile(filepath.Join(s.o.Files, name+answerFile))
	if err == nil && t != c.ID {
		err = errors.New("an answer of another task")
	}
	if err == nil {
		return http.ReadResponse(bufio.NewReader(bytes.NewReader(text)), r)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	signed, _ := s.plans.Signed(c.of.hash)
	err = errors.Join(
		atomicfile.Replace(filepath.Join(s.o.Files, c.of.name+planFile), signed.Marshal(), 0o600),
		atomicfile.Replace(filepath.Join(s.o.Files, name+requestFile), s.sealFile(c.ID, name+requestFile, b.Bytes()), 0o600),
	)
	if err != nil {
		return nil, err
	}
	return nil, errWaits
}

// answerFiles takes the plans of the folder, and answers the requests there that have no answer.
func (s *Service) answerFiles(ctx context.Context, h http.Handler) error {
	plans, err := s.named(planFile)
	if err != nil {
		return err
	}
	requests, err := s.named(requestFile)
	if err != nil {
		return err
	}
	var errs []error
	of := func(path string, err error) {
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", path, err))
		}
	}
	for _, path := range plans {
		text, err := atomicfile.Read(path)
		if err == nil {
			var signed plan.Signed
			if signed, err = plan.ParseSigned(text); err == nil {
				err = s.Load(ctx, signed)
			}
		}
		of(path, err)
	}
	answered := 0
	for _, path := range requests {
		to := strings.TrimSuffix(path, requestFile) + answerFile
		if _, err := os.Stat(to); err == nil {
			continue
		}
		err := s.answerFile(ctx, h, path, to)
		if err == nil {
			answered++
		}
		of(path, err)
	}
	s.o.Log.Info("requests of the leader are answered", "requests", answered)
	return errors.Join(errs...)
}

// answerFile answers a request as if it came over a network. An answer that a later one may differ from is not written.
func (s *Service) answerFile(ctx context.Context, h http.Handler, path, to string) error {
	t, text, err := s.openFile(path)
	if err != nil {
		return err
	}
	r, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(text)))
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+base64.RawURLEncoding.EncodeToString(s.o.Pair.Bearer(t)))
	a := &answered{header: http.Header{}, status: http.StatusOK}
	h.ServeHTTP(a, r.WithContext(ctx))
	res := &http.Response{StatusCode: a.status, ProtoMajor: 1, ProtoMinor: 1, Header: a.header, ContentLength: int64(a.body.Len()), Body: io.NopCloser(bytes.NewReader(a.body.Bytes()))}
	if p := web.ReadProblem(res); p != nil && !slices.Contains(refusals, p.Code) {
		return p
	}
	res.Body = io.NopCloser(bytes.NewReader(a.body.Bytes()))
	var b bytes.Buffer
	if err := res.Write(&b); err != nil {
		return err
	}
	return atomicfile.Replace(to, s.sealFile(t, filepath.Base(to), b.Bytes()), 0o600)
}

// answered keeps what a handler writes.
type answered struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (a *answered) Header() http.Header         { return a.header }
func (a *answered) WriteHeader(status int)      { a.status = status }
func (a *answered) Write(b []byte) (int, error) { return a.body.Write(b) }
