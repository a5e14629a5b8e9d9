package blobtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/internal/storage/blob/bucket"
)

// Keys of the service, which no error and no log may show.
const (
	KeyID  = "KEYIDOFTESTS"
	Secret = "secret-of-tests-that-nobody-may-see"
)

// Service is an S3-compatible service on loopback with a bucket for one test: the program
// s3server, a process, and before it a door that breaks what it is told to break.
type Service struct {
	process *exec.Cmd
	folder  string
	door    *httptest.Server
	through *httputil.ReverseProxy

	held   sync.RWMutex // by each request that is passed on, and by whoever changes the folder
	mu     sync.Mutex
	fault  func(*http.Request) Fault
	closed chan struct{}
}

// Fault is what becomes of a request.
type Fault int

const (
	None   Fault = iota
	Refuse       // it is answered 503, and not done
	Half         // half of its body comes, and then nothing
	Cut          // half of the answer comes, and then nothing
	Forget       // it is done, and nothing is answered
	Flip         // a bit of its body, if it has one, is another one when it comes
	Stall        // nothing is done and nothing is answered, until whoever asks goes
	Lose         // a 404 comes from something before the service
)

// Start starts a service, which goes with the test, and puts its keys into the environment.
// The test is skipped where the program cannot be built, as without its modules and a network,
// unless CONFETTI_S3=require.
func Start(t testing.TB) *Service {
	t.Helper()
	t.Setenv("AWS_ACCESS_KEY_ID", KeyID)
	t.Setenv("AWS_SECRET_ACCESS_KEY", Secret)
	t.Setenv("AWS_REGION", "us-east-1")
	program, err := program()
	if err != nil {
		if os.Getenv("CONFETTI_S3") == "require" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	dir := t.TempDir()
	for _, name := range []string{"buckets/parts", "said"} { // a bucket of the service is a folder
		if err := os.MkdirAll(filepath.Join(dir, filepath.FromSlash(name)), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	sockets, err := os.MkdirTemp("", "s3-") // short, since the path of a socket may not be long
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(sockets) })
	address := filepath.Join(sockets, "socket") // no port, which others could take before the service does
	s := &Service{folder: filepath.Join(dir, "buckets", "parts"), process: exec.Command(program, filepath.Join(dir, "buckets"), filepath.Join(dir, "said"), address), closed: make(chan struct{})}
	var said bytes.Buffer
	s.process.Stdout, s.process.Stderr = &said, &said
	end, err := s.process.StdinPipe()
	if err == nil {
		err = s.process.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{MaxIdleConnsPerHost: 16, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", address)
	}}
	s.through = &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(&url.URL{Scheme: "http", Host: "service"})
			r.Out.Host = r.In.Host // which is signed
		},
		Transport: transport,
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) {
			panic(http.ErrAbortHandler) // as a service does that is not there
		},
	}
	s.door = httptest.NewServer(s)
	t.Cleanup(func() {
		close(s.closed)
		s.door.CloseClientConnections()
		s.door.Close()
		transport.CloseIdleConnections()
		end.Close()
		s.process.Process.Kill()
		s.process.Wait()
	})
	for deadline := time.Now().Add(90 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		if res, err := (&http.Client{Transport: transport}).Get("http://service/health"); err == nil {
			res.Body.Close()
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the service does not get ready: %s", &said)
		}
	}
	return s
}

// At returns the URL of a part of the bucket.
func (s *Service) At(name string) string { return "s3://parts/of/" + name + "?endpoint=" + s.door.URL }

// Open opens a part of the bucket; its connections go with the test.
func (s *Service) Open(t testing.TB, name string) *bucket.Bucket {
	t.Helper()
	b, err := bucket.Open(s.At(name))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b
}

// Folder returns where the service keeps the bucket, with a file for each of its objects.
func (s *Service) Folder() string { return s.folder }

// Break has something become of each request from now on; nil: nothing.
func (s *Service) Break(fault func(*http.Request) Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = fault
}

func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	fault := None
	if s.fault != nil {
		fault = s.fault(r)
	}
	s.mu.Unlock()
	switch fault {
	case Refuse:
		w.WriteHeader(http.StatusServiceUnavailable)
		io.WriteString(w, "<Error><Code>SlowDown</Code><Message>"+Secret+"</Message></Error>") // which no error of ours repeats
	case Half:
		r.Body = io.NopCloser(io.MultiReader(io.LimitReader(r.Body, r.ContentLength/2), broken{}))
		s.pass(w, r)
	case Cut:
		answer := httptest.NewRecorder()
		s.pass(answer, r)
		body := answer.Body.Bytes()
		for name, values := range answer.Header() {
			w.Header()[name] = values
		}
		if w.Header().Get("Content-Length") == "" {
			w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		}
		w.WriteHeader(answer.Code)
		w.Write(body[:len(body)/2])
		if len(body) > 0 {
			panic(http.ErrAbortHandler)
		}
	case Forget:
		s.pass(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler)
	case Flip:
		body, err := io.ReadAll(r.Body)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		if len(body) > 0 {
			body[len(body)/2] ^= 1
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		s.pass(w, r)
	case Stall:
		io.Copy(io.Discard, r.Body)
		select {
		case <-r.Context().Done():
		case <-s.closed:
		}
	case Lose:
		http.NotFound(w, r)
	default:
		s.pass(w, r)
	}
}

// pass hands a request on to the program, but not while the folder is changed.
func (s *Service) pass(w http.ResponseWriter, r *http.Request) {
	s.held.RLock()
	defer s.held.RUnlock()
	s.through.ServeHTTP(w, r)
}

// Alone changes the folder while no request is under way: requests that come meanwhile wait.
func (s *Service) Alone(change func(folder string)) {
	s.held.Lock()
	defer s.held.Unlock()
	change(s.folder)
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errors.New("the connection ends") }

// Kill ends the service at once, for good.
func (s *Service) Kill() { s.process.Process.Kill() }

// program is the service's, built once.
var program = sync.OnceValues(func() (string, error) {
	root, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/confetti-dp/confetti").Output() // of the module below ours too that asks
	if err != nil {
		return "", fmt.Errorf("no S3-compatible service: go does not run here: %w", err)
	}
	module := filepath.Join(strings.TrimSpace(string(root)), "internal", "storage", "blob", "blobtest", "testdata", "s3server")
	build := exec.Command("go", "tool", "-n", "s3server") // which builds it, and keeps it in its cache
	build.Dir = module
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-mod=readonly -trimpath -buildvcs=false", "GOWORK=off")
	var said bytes.Buffer // that modules come, too
	build.Stderr = &said
	out, err := build.Output()
	if err != nil {
		return "", fmt.Errorf("no S3-compatible service: %s cannot be built: %w: %s", module, err, bytes.TrimSpace(said.Bytes()))
	}
	return strings.TrimSpace(string(out)), nil
})
