package webclient_test

import (
	"bytes"
	"flag"
	"fmt"
	"go/ast"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"

	"github.com/confetti-dp/confetti/internal/testkit/foreign"
	"github.com/confetti-dp/confetti/internal/testkit/webtest"
	"github.com/confetti-dp/confetti/web/client"
)

// largest is the most that the module may have, compressed: a page's visitors wait for it. Oblivious
// HTTP took 24 kB of it, for plans that hide addresses; tables of keys took 21 kB, and seal in a third of the time;
// strings took 18 kB, tables 20 kB, experiments and correlated rounds 68 kB, a code for each error 5 kB,
// an app that counts 91 kB, vectors with Gaussian noise 9 kB, an accountant that remembers 4 kB, and remembering
// correlated rounds 1 kB. A release packs it 26 kB smaller.
const largest = 2_951_000

// made are the files of the client, in a folder.
func made(t *testing.T) string {
	t.Helper()
	all, err := webclient.Files(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, only{all, []string{"confetti.wasm", "wasm_exec.js", "index.js", "metrics.js", "worker.js", "device.js", "store.js"}}); err != nil {
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

// What a device is made of compiles where there is neither a disk nor a socket: here, as in a page, which has it too. All of it
// but Go's own is read as the compiler reads it; no code is made of it, which nothing would run.
func TestTheDeviceBuildsWithoutASystem(t *testing.T) {
	root, env := filepath.Join("..", ".."), append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0")
	list := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", "./client", "./internal/client/words")
	list.Dir, list.Env = root, env
	paths, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	const mode = packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports | packages.NeedDeps | packages.NeedSyntax | packages.NeedTypes | packages.NeedTypesInfo | packages.NeedTypesSizes
	all, err := packages.Load(&packages.Config{Context: t.Context(), Mode: mode, Dir: root, Env: env}, strings.Fields(string(paths))...)
	if err != nil || len(all) < 40 {
		t.Fatalf("%d packages: %v", len(all), err)
	}
	packages.Visit(all, nil, func(p *packages.Package) {
		for _, e := range p.Errors {
			t.Errorf("%s: %v", p.PkgPath, e)
		}
	})
	for _, p := range all {
		for _, file := range p.Syntax {
			for _, d := range file.Decls {
				if f, is := d.(*ast.FuncDecl); is && f.Body == nil && len(p.OtherFiles) == 0 {
					t.Errorf("%s: %s has no body here", p.PkgPath, f.Name)
				}
			}
		}
	}
}

// trial is a collection of a trial's services.
type trial struct{ *foreign.Trial }

func collect(t *testing.T, devices int, asked ...string) *trial {
	return &trial{foreign.Collect(t, filepath.Join("..", ".."), devices, asked...)}
}

// allow has the trial's services answer the pages of an origin.
func (c *trial) allow(origin string) {
	c.T.Helper()
	c.Stop()
	configs, err := filepath.Glob(filepath.Join(c.Dir, "*", "*.toml"))
	if err != nil || len(configs) == 0 {
		c.T.Fatal(configs, err)
	}
	for _, name := range configs {
		text, err := os.ReadFile(name)
		if err != nil {
			c.T.Fatal(err)
		}
		text = bytes.Replace(text, []byte("[http]\n"), fmt.Appendf(nil, "[http]\norigins = [%q]\n", origin), 1)
		if err := os.WriteFile(name, text, 0o600); err != nil {
			c.T.Fatal(err)
		}
	}
	c.Start()
}

// run runs a test of Node, and fails where that fails or skips.
func (c *trial) run(node, file string, env ...string) {
	c.T.Helper()
	run := exec.CommandContext(c.T.Context(), node, "--test", file)
	run.Env = append(append(os.Environ(), "CONFETTI_TRIAL="+c.Dir, "NODE_EXTRA_CA_CERTS="+filepath.Join(c.Dir, "authority.crt")), env...)
	out, err := run.CombinedOutput()
	if err != nil || bytes.Contains(out, []byte("# SKIP")) {
		c.T.Fatalf("%v\n%s", err, out)
	}
	io.Copy(c.T.Output(), bytes.NewReader(out))
}

var devices = flag.Int("devices", 60, "of Node that answer one plan, and as many of Go")

// Devices in Node and devices of Go answer one plan, and the analyzer counts each once,
// though those of Node are killed in between.
func TestDevicesOfNodeAndOfGoAreCountedOnceEach(t *testing.T) {
	node := webtest.Node(t, "..")
	each := *devices
	c := collect(t, 2*each+3)
	c.Submit(each)
	c.run(node, "test/device.test.js", "CONFETTI_WEB_FILES="+made(t), fmt.Sprint("CONFETTI_EACH=", each))
	if n := c.Respondents(); n != 2*each+2 {
		t.Errorf("%d respondents are counted, not %d", n, 2*each+2)
	}
}

// WebAssembly proves how long a vector is: two aggregators of Go take its shares, and the sums count each device once.
func TestWebAssemblyProvesItsVector(t *testing.T) {
	node := webtest.Node(t, "..")
	const wasm, others = 3, 20
	c := collect(t, wasm+others, "vector", "--features", "3", "--classes", "tea,coffee", "--sums", "classes", "--hostile", "--epsilon", "4", "--minimum", "20")
	values := filepath.Join(t.TempDir(), "values.jsonl")
	if err := os.WriteFile(values, bytes.Repeat([]byte("{\"features\": [0.6, -0.8, 0], \"class\": \"tea\"}\n"), others), 0o600); err != nil {
		t.Fatal(err)
	}
	c.Confetti("submit", values, "--dir", c.Dir, "--devices")
	c.run(node, "test/proved.test.js", "CONFETTI_WEB_FILES="+made(t), fmt.Sprint("CONFETTI_FIRST=", others))
	if n := c.Respondents(); n != wasm+others {
		t.Errorf("%d respondents are counted, not %d", n, wasm+others)
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
	(&trial{&foreign.Trial{T: t}}).run(node, "test/store.test.js", "CONFETTI_PAGE="+page(t)+"/", "CONFETTI_CHROMIUM="+program)
}

// Devices in Chromium, of which some workers and then the whole browser are killed, are
// counted once each beside devices of Go.
func TestDevicesOfChromiumAreCountedOnceEach(t *testing.T) {
	node, program, at := webtest.Node(t, ".."), chromium(t), page(t)
	const others, devices = 100, 8
	c := collect(t, others+devices+1)
	c.allow(at)
	c.Submit(others)
	c.run(node, "test/chromium.test.js", "CONFETTI_PAGE="+at+"/", "CONFETTI_CHROMIUM="+program, fmt.Sprint("CONFETTI_FIRST=", others), fmt.Sprint("CONFETTI_EACH=", devices))
	if n := c.Respondents(); n != others+devices+1 {
		t.Errorf("%d respondents are counted, not %d", n, others+devices+1)
	}
}
