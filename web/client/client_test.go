package webclient_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/internal/testkit/webtest"
	"github.com/confetti-dp/confetti/web/client"
)

// largest is the most that the module may have, compressed: a page's visitors wait for it. Oblivious
// HTTP took 24 kB of it, for plans that hide addresses; tables of keys took 21 kB, and seal in a third of the time;
// strings took 18 kB, tables 20 kB, experiments and rounds that hang together 68 kB, a code for each error 5 kB.
const largest = 2_806_000

// made are the files of the client, in a folder.
func made(t *testing.T) string {
	t.Helper()
	all, err := webclient.Files(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, only{all, []string{"confetti.wasm", "wasm_exec.js", "index.js", "worker.js", "device.js", "store.js"}}); err != nil {
		t.Fatal(err)
	}
	return dir
}

// only are some files of a file system that does not list them.
type only struct {
	fs.FS
	names []string
}

// ReadDir implements fs.ReadDirFS.
func (o only) ReadDir(string) (all []fs.DirEntry, err error) {
	for _, name := range o.names {
		status, err := fs.Stat(o.FS, name)
		if err != nil {
			return nil, err
		}
		all = append(all, fs.FileInfoToDirEntry(status))
	}
	return all, nil
}

func TestTheModuleIsSmall(t *testing.T) {
	all, err := webclient.Files(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	handler := webclient.Handler(all)
	for _, encoding := range []string{"", "gzip"} {
		r, w := httptest.NewRequest("GET", "/confetti.wasm", nil), httptest.NewRecorder()
		r.Header.Set("Accept-Encoding", encoding)
		handler.ServeHTTP(w, r)
		size := w.Body.Len()
		t.Logf("%q: %d bytes", encoding, size)
		if w.Code != 200 || w.Header().Get("Content-Type") != "application/wasm" || w.Header().Get("Content-Encoding") != encoding || size == 0 {
			t.Errorf("%q: status %d, %v", encoding, w.Code, w.Header())
		}
		if encoding == "gzip" && size > largest {
			t.Errorf("the module has %d bytes compressed, more than %d", size, largest)
		}
	}
	r, w := httptest.NewRequest("GET", "/index.js", nil), httptest.NewRecorder()
	if handler.ServeHTTP(w, r); w.Code != 200 || !strings.HasPrefix(w.Header().Get("Content-Type"), "text/javascript") || !strings.Contains(w.Body.String(), "export async function open") {
		t.Errorf("index.js: status %d, %v", w.Code, w.Header())
	}
}

// The page for developers calls what there is, and builds the module as it is built here.
func TestThePageIsOfThisClient(t *testing.T) {
	text := func(path string) string {
		all, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(all)
	}
	page, index := text("../../docs/browsers.md"), text("index.js")
	_, lines, _ := strings.Cut(page, "```js\n")
	lines, _, _ = strings.Cut(lines, "```")
	calls := regexp.MustCompile(`device\.(\w+)\(`).FindAllStringSubmatch(lines, -1)
	if len(calls) < 6 || strings.Count(lines, "\n") > 10 {
		t.Errorf("the page has %d calls in\n%s", len(calls), lines)
	}
	for _, call := range calls {
		if !regexp.MustCompile(`(?m)^  (async )?` + call[1] + `\(`).MatchString(index) {
			t.Errorf("index.js has no function %s", call[1])
		}
	}
	for _, line := range regexp.MustCompile(`(?m)^    (.*)$`).FindAllStringSubmatch(page, -1) {
		c := exec.CommandContext(t.Context(), "sh", "-c", line[1])
		c.Dir = checkout(t)
		if out, err := c.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", line[1], err, out)
		}
	}
}

// checkout is a folder from which the tree can be built, and which can be written to.
func checkout(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	entries, err := os.ReadDir(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if err := os.Symlink(filepath.Join(root, e.Name()), filepath.Join(dir, e.Name())); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// What a device is made of runs where there is neither a disk nor a socket.
func TestTheDeviceBuildsWithoutASystem(t *testing.T) {
	for _, system := range []string{"js", "wasip1"} {
		build := exec.CommandContext(t.Context(), "go", "build", "./client", "./internal/client/words")
		build.Dir, build.Env = filepath.Join("..", ".."), append(os.Environ(), "GOOS="+system, "GOARCH=wasm", "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", system, err, out)
		}
	}
	vet := exec.CommandContext(t.Context(), "go", "vet", "./cmd/confetti-web")
	vet.Dir, vet.Env = filepath.Join("..", ".."), append(os.Environ(), "GOOS=js", "GOARCH=wasm", "CGO_ENABLED=0")
	if out, err := vet.CombinedOutput(); err != nil {
		t.Errorf("vet: %v\n%s", err, out)
	}
}

// trial is a collection of a trial's services, with the program that runs it.
type trial struct {
	t       *testing.T
	program string
	dir     string
	stop    func()
}

// collect starts confetti up with so many devices, on loopback.
func collect(t *testing.T, devices int) *trial {
	t.Helper()
	c := &trial{t: t, program: filepath.Join(t.TempDir(), "confetti"), dir: filepath.Join(t.TempDir(), "trial")}
	build := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Dir(c.program), "./cmd/confetti", "./cmd/confetti-server")
	build.Dir = filepath.Join("..", "..")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	c.start("--devices", strconv.Itoa(devices), "--closes", "1h")
	return c
}

// start runs confetti up until it is ready.
func (c *trial) start(flags ...string) {
	c.t.Helper()
	up := exec.Command(c.program, append([]string{"up", c.dir}, flags...)...)
	var said lines
	up.Stdout, up.Stderr = &said, &said
	if err := up.Start(); err != nil {
		c.t.Fatal(err)
	}
	c.stop = sync.OnceFunc(func() {
		up.Process.Signal(os.Interrupt)
		up.Wait()
	})
	c.t.Cleanup(c.stop)
	for deadline := time.Now().Add(time.Minute); !strings.Contains(said.String(), "To watch:"); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			c.t.Fatalf("the trial does not start:\n%s", said.String())
		}
	}
}

// lines is what a program has said so far.
type lines struct {
	mu  sync.Mutex
	all bytes.Buffer
}

// Write implements io.Writer.
func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.Write(b)
}

// String is all of it.
func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.String()
}

// confetti runs a command of the program.
func (c *trial) confetti(args ...string) string {
	c.t.Helper()
	out, err := exec.CommandContext(c.t.Context(), c.program, args...).CombinedOutput()
	if err != nil {
		c.t.Fatalf("confetti %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// respondents closes the collection, and is how many the release counts.
func (c *trial) respondents() int {
	c.t.Helper()
	c.confetti("plan", "close", "--dir", c.dir)
	out := filepath.Join(c.t.TempDir(), "release")
	c.confetti("release", "fetch", "--dir", c.dir, "--out", out)
	c.confetti("release", "verify", out, "--publishers", filepath.Join(c.dir, "publishers.txt"))
	text, err := os.ReadFile(filepath.Join(out, "release.json"))
	if err != nil {
		c.t.Fatal(err)
	}
	var release struct {
		Headline []struct {
			Name  string
			Value float64
		}
	}
	if err := json.Unmarshal(text, &release); err != nil || len(release.Headline) == 0 || release.Headline[0].Name != "respondents" {
		c.t.Fatalf("%v\n%s", err, text)
	}
	return int(release.Headline[0].Value)
}

// allow has the trial's services answer the pages of an origin.
func (c *trial) allow(origin string) {
	c.t.Helper()
	c.stop()
	configs, err := filepath.Glob(filepath.Join(c.dir, "*", "*.toml"))
	if err != nil || len(configs) == 0 {
		c.t.Fatal(configs, err)
	}
	for _, name := range configs {
		text, err := os.ReadFile(name)
		if err != nil {
			c.t.Fatal(err)
		}
		text = bytes.Replace(text, []byte("[http]\n"), fmt.Appendf(nil, "[http]\norigins = [%q]\n", origin), 1)
		if err := os.WriteFile(name, text, 0o600); err != nil {
			c.t.Fatal(err)
		}
	}
	c.start()
}

// submit answers as so many devices of Go.
func (c *trial) submit(devices int) {
	c.t.Helper()
	var values strings.Builder
	values.WriteString("colour\n")
	for i := range devices {
		fmt.Fprintln(&values, []string{"red", "green", "blue"}[i%3])
	}
	file := filepath.Join(c.t.TempDir(), "values.csv")
	if err := os.WriteFile(file, []byte(values.String()), 0o600); err != nil {
		c.t.Fatal(err)
	}
	c.confetti("submit", file, "--dir", c.dir, "--devices")
}

// run runs a test of Node, and fails where that fails or skips.
func (c *trial) run(node, file string, env ...string) {
	c.t.Helper()
	run := exec.CommandContext(c.t.Context(), node, "--test", file)
	run.Env = append(append(os.Environ(), "CONFETTI_TRIAL="+c.dir, "NODE_EXTRA_CA_CERTS="+filepath.Join(c.dir, "authority.crt")), env...)
	out, err := run.CombinedOutput()
	if err != nil || bytes.Contains(out, []byte("# SKIP")) {
		c.t.Fatalf("%v\n%s", err, out)
	}
	io.Copy(c.t.Output(), bytes.NewReader(out))
}

var devices = flag.Int("devices", 60, "of Node that answer one plan, and as many of Go")

// Devices in Node and devices of Go answer one plan, and the analyzer counts each once,
// though those of Node are killed in between.
func TestDevicesOfNodeAndOfGoAreCountedOnceEach(t *testing.T) {
	node := webtest.Node(t, "..")
	each := *devices
	c := collect(t, 2*each+2)
	c.submit(each)
	c.run(node, "test/device.test.js", "CONFETTI_WEB_FILES="+made(t), fmt.Sprint("CONFETTI_EACH=", each))
	if n := c.respondents(); n != 2*each+1 {
		t.Errorf("%d respondents are counted, not %d", n, 2*each+1)
	}
}

// page serves the client's files to a browser, below /client/.
func page(t *testing.T) string {
	t.Helper()
	all, err := webclient.Files(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/client/", http.StripPrefix("/client", webclient.Handler(all)))
	mux.HandleFunc("/{$}", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; connect-src 'self' https:")
		io.WriteString(w, "<!DOCTYPE html><title>A device</title>")
	})
	served := httptest.NewServer(mux)
	t.Cleanup(served.Close)
	return served.URL
}

// chromium is its program; where there is none the test is skipped, unless CONFETTI_NODE=require.
func chromium(t *testing.T) string {
	t.Helper()
	program, err := exec.LookPath("chromium")
	if err != nil {
		if os.Getenv("CONFETTI_NODE") == "require" {
			t.Fatal("there is no chromium here: install Debian's package")
		}
		t.Skip("there is no chromium here: install Debian's package chromium")
	}
	return program
}

func TestABrowsersStoreAppends(t *testing.T) {
	node, program := webtest.Node(t, ".."), chromium(t)
	(&trial{t: t}).run(node, "test/store.test.js", "CONFETTI_PAGE="+page(t)+"/", "CONFETTI_CHROMIUM="+program)
}

// Devices in Chromium, of which some workers and then the whole browser are killed, are
// counted once each beside devices of Go.
func TestDevicesOfChromiumAreCountedOnceEach(t *testing.T) {
	node, program, at := webtest.Node(t, ".."), chromium(t), page(t)
	const others, devices = 100, 8
	c := collect(t, others+devices+1)
	c.allow(at)
	c.submit(others)
	c.run(node, "test/chromium.test.js", "CONFETTI_PAGE="+at+"/", "CONFETTI_CHROMIUM="+program, fmt.Sprint("CONFETTI_FIRST=", others), fmt.Sprint("CONFETTI_EACH=", devices))
	if n := c.respondents(); n != others+devices+1 {
		t.Errorf("%d respondents are counted, not %d", n, others+devices+1)
	}
}
