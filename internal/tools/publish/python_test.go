//go:build unix

package main

import (
	"archive/zip"
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"flag"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/internal/testkit/foreign"
)

// environment is one for Python with the package and nothing else, and then with what tests take.
type environment struct {
	t      *testing.T
	dir    string // of the environment
	work   string // an empty folder
	python string
}

// without skips a test for lack of something, unless CONFETTI_PYTHON=require.
func without(t *testing.T, what string, err error) {
	t.Helper()
	if os.Getenv("CONFETTI_PYTHON") == "require" {
		t.Fatalf("%s: %v", what, err)
	}
	t.Skipf("%s: %v", what, err)
}

// empty makes an environment, where this machine has what that takes.
func empty(t *testing.T) environment {
	t.Helper()
	name := os.Getenv("PYTHON")
	if name == "" {
		name = "python3"
	}
	dir := t.TempDir()
	e := environment{t, filepath.Join(dir, "venv"), filepath.Join(dir, "work"), filepath.Join(dir, "venv", "bin", "python")}
	out, err := exec.CommandContext(t.Context(), name, "-m", "venv", e.dir).CombinedOutput()
	if err != nil {
		without(t, "there is no Python here that makes environments: install Debian's python3-venv", errors.Join(err, errors.New(string(out))))
	}
	if err := os.Mkdir(e.work, 0o755); err != nil {
		t.Fatal(err)
	}
	return e
}

// of returns the environment for a part of a test.
func (e environment) of(t *testing.T) environment {
	e.t = t
	return e
}

// run runs the environment's Python in the empty folder, which finds nothing else of this machine by name.
func (e environment) run(env []string, args ...string) (string, error) {
	ctx, stop := context.WithTimeout(e.t.Context(), 10*time.Minute)
	defer stop()
	c := exec.CommandContext(ctx, e.python, args...)
	c.Dir, c.Env = e.work, append([]string{"PATH=" + filepath.Dir(e.python), "HOME=" + e.work, "PYTHONDONTWRITEBYTECODE=1"}, env...)
	out, err := c.CombinedOutput()
	return string(out), err
}

// must runs it, and fails where it fails.
func (e environment) must(env []string, args ...string) string {
	e.t.Helper()
	out, err := e.run(env, args...)
	if err != nil {
		e.t.Fatalf("python %v: %v\n%s", args, err, out)
	}
	return out
}

// trial is one that runs until the test ends.
type trial struct {
	t   *testing.T
	dir string // of the programs
}

// started starts a trial by the programs of the archive.
func started(t *testing.T) trial {
	t.Helper()
	text, err := os.ReadFile(found(t, "confetti_", ".tar.gz"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	unpack(t, text, dir)
	folders, err := filepath.Glob(filepath.Join(dir, "confetti_*"))
	if err != nil || len(folders) != 1 {
		t.Fatal(folders, err)
	}
	tr := trial{t, folders[0]}
	up := exec.CommandContext(t.Context(), filepath.Join(tr.dir, "confetti"), "up", "trial", "--devices", "120")
	up.Dir, up.Env = tr.dir, []string{"PATH=" + tr.dir, "HOME=" + dir}
	up.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var said bytes.Buffer
	up.Stderr = &said
	out, err := up.StdoutPipe()
	if err == nil {
		err = up.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	t.Cleanup(func() {
		up.Process.Signal(os.Interrupt)
		stop := time.AfterFunc(90*time.Second, func() { syscall.Kill(-up.Process.Pid, syscall.SIGKILL) })
		defer stop.Stop()
		<-ended
		up.Wait()
	})
	ready := make(chan bool, 1)
	go func() {
		defer close(ended)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if strings.Contains(lines.Text(), "in another terminal:") {
				ready <- true
			}
		}
		close(ready)
	}()
	select {
	case is := <-ready:
		if !is {
			t.Fatalf("the trial ended: %s", &said)
		}
	case <-time.After(90 * time.Second):
		t.Fatal("the trial does not begin")
	}
	return tr
}

// do runs confetti beside the trial.
func (tr trial) do(args ...string) string {
	tr.t.Helper()
	return bare(tr.t, tr.dir, filepath.Join(tr.dir, "confetti"), args...)
}

// answer has devices answer, and those send later whose answer could not be sent at once.
func (tr trial) answer(file string) {
	tr.t.Helper()
	for deadline := time.Now().Add(90 * time.Second); ; time.Sleep(time.Second) {
		c := exec.CommandContext(tr.t.Context(), filepath.Join(tr.dir, "confetti"), "submit", file, "--dir", "trial", "--devices")
		c.Dir, c.Env = tr.dir, []string{"PATH=" + tr.dir, "HOME=" + tr.dir}
		out, err := c.CombinedOutput()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			tr.t.Fatalf("%v\n%s", err, out)
		}
	}
}

// counting declares what an app counts, signs it for the trial's parties, and writes its calls into a folder.
func (tr trial) counting() (dir string) {
	tr.t.Helper()
	dir = filepath.Join(tr.dir, "counts")
	text, err := os.ReadFile("docs/examples/metrics/confetti.toml")
	if err == nil {
		err = os.Mkdir(dir, 0o755)
	}
	if err != nil {
		tr.t.Fatal(err)
	}
	keys, err := os.ReadFile(filepath.Join(tr.dir, "trial", "publishers.txt"))
	if err != nil {
		tr.t.Fatal(err)
	}
	now := time.Now().UTC()
	declared := strings.ReplaceAll(string(text), "PUBLISHER", regexp.MustCompile(`(?m)^ed25519:\S+`).FindString(string(keys)))
	declared = regexp.MustCompile(`ends = \S+`).ReplaceAllString(declared, "ends = "+now.AddDate(0, 10, 0).Format(time.DateOnly))
	file := filepath.Join(dir, "confetti.toml")
	sign := []string{"metrics", "sign", file, "--on", now.Format(time.DateOnly), "--parties", "trial/plan.signed.json", "--key", "trial/publisher.json", "--coordinator", "coordinator.json", "--seasons", "1", "--registry", "counts/confetti.registry.json", "--out", "seasons"}
	tr.do("keys", "new", "coordinator.json", "--for", "publisher")
	for _, line := range []string{"", "\n[[reviewed]]\nchange = \"%s\"\nby = \"dpo@example.org\"\non = \"" + now.Format(time.DateOnly) + "\"\nsays = \"Fine.\"\n"} {
		if line != "" {
			c := exec.CommandContext(tr.t.Context(), filepath.Join(tr.dir, "confetti"), sign...)
			c.Dir, c.Env = tr.dir, []string{"HOME=" + tr.dir}
			said, _ := c.CombinedOutput() // it asks for the line of the change that it names
			declared += strings.Replace(line, "%s", regexp.MustCompile(`[0-9a-f]{16}`).FindString(string(said)), 1)
		}
		if err := os.WriteFile(file, []byte(declared), 0o600); err != nil {
			tr.t.Fatal(err)
		}
	}
	tr.do(sign...)
	tr.do("metrics", "code", file, "--registry", "counts/confetti.registry.json", "--python", "counts/counts.py")
	return dir
}

// The package goes into an empty environment without a network, and does there what its page says: it needs nothing else.
func TestThePackageForPython(t *testing.T) {
	wheel := found(t, "confetti_dp-", ".whl")
	e := empty(t)
	e.must(nil, "-m", "pip", "install", "--quiet", "--no-index", "--disable-pip-version-check", wheel)
	if list := strings.Fields(e.must(nil, "-m", "pip", "--disable-pip-version-check", "list", "--format=freeze", "--exclude=pip", "--exclude=setuptools")); len(list) != 1 || list[0] != "confetti-dp==0.9.1.dev0+test.1" {
		t.Errorf("installed is %q", list)
	}
	if before := e.must(nil, "-c", "from pip._vendor.packaging.version import Version as V; print(V('0.9.1.dev0+test.1') < V('0.9.1'))"); before != "True\n" {
		t.Errorf("a version before 0.9.1 comes before it: %s", before)
	}
	if said := bare(t, e.work, filepath.Join(e.dir, "bin", "confetti"), "version"); !strings.HasPrefix(said, "confetti "+tried+"\n") {
		t.Errorf("%q", said)
	}
	root, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	tests := filepath.Join(root, python, "tests")
	tr := started(t)
	at := filepath.Join(tr.dir, "trial")
	counts := tr.counting()
	refused := filepath.Join(tr.dir, "refused")
	foreign.Refused(t, refused)
	unittest := []string{"-W", "error", "-m", "unittest", "discover", "-s", tests, "-t", tests}
	t.Log(e.must([]string{"CONFETTI_TRIAL=" + at, "CONFETTI_COUNTS=" + counts, "CONFETTI_REFUSED=" + refused}, unittest...))
	for _, name := range []string{"trial", "counts"} {
		if err := os.Symlink(filepath.Join(tr.dir, name), filepath.Join(e.work, name)); err != nil {
			t.Fatal(err)
		}
	}
	code := blocks(t, "docs/python.md")
	of := slices.IndexFunc(code, func(c string) bool { return strings.Contains(c, "Release.load") })
	for _, c := range code[:of] {
		t.Log(e.must([]string{"CONFETTI_OFF="}, "-c", "import confetti\n"+c))
	}

	// From here on with what tests take besides, which comes from an index.
	missing := e.takes(filepath.Join(tests, "requirements.txt"))
	if missing == nil {
		t.Run("types", func(t *testing.T) { typed(t, e.of(t)) })
		t.Run("notebooks", func(t *testing.T) {
			books, err := filepath.Glob(filepath.Join(root, "docs/examples/python/*.ipynb"))
			if err != nil || len(books) < 4 {
				t.Fatal(books, err)
			}
			args := []string{filepath.Join(tests, "notebooks.py")}
			if *update {
				args = append(args, "--update")
			}
			e.of(t).must([]string{"PYTHONDONTWRITEBYTECODE="}, append(args, books...)...)
		})
	}
	if err := os.WriteFile(filepath.Join(tr.dir, "some.csv"), []byte("colour\n"+strings.Repeat("green\nblue\n", 52)), 0o600); err != nil {
		t.Fatal(err)
	}
	tr.answer("some.csv")
	tr.do("plan", "close", "--dir", "trial")
	tr.do("release", "fetch", "--dir", "trial", "--out", filepath.Join(e.work, "release"))
	t.Log(e.must([]string{"CONFETTI_CLOSED=" + at}, append(unittest, "-k", "TestTrial")...))
	if missing != nil {
		without(t, "types, notebooks and tables are tested with packages that cannot be had here: "+python+"/tests/requirements.txt", missing)
	}
	for _, c := range code[of:] {
		t.Log(e.must([]string{"PYTHONDONTWRITEBYTECODE="}, "-c", "import confetti\n"+c))
	}
}

// takes installs what a file lists, from an index. A download that is cut off is begun again, twice.
func (e environment) takes(list string) error {
	home, err := os.UserHomeDir()
	if err != nil {
		return err
	}
	for tries := 0; ; tries++ {
		out, err := e.run([]string{"HOME=" + home}, "-m", "pip", "install", "--quiet", "--no-compile", "--disable-pip-version-check", "-r", list)
		if err == nil || tries == 2 {
			return err
		}
		e.t.Log(out)
	}
}

var update = flag.Bool("update", false, "keep what the notebooks print")

// blocks returns what a page prints in Python.
func blocks(t *testing.T, page string) (all []string) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for i, part := range strings.Split(string(text), "```py\n")[1:] {
		code, _, ends := strings.Cut(part, "```")
		if n := strings.Count(code, "\n"); !ends || i == 0 && n > 10 {
			t.Errorf("%s: its first block has %d lines, and is to have ten at most", page, n)
		}
		all = append(all, code)
	}
	if len(all) == 0 {
		t.Errorf("%s has no block in Python", page)
	}
	return all
}

// typed checks the package as strictly as can be, a program that uses it, and one that misuses it.
func typed(t *testing.T, e environment) {
	const program = `import confetti
import counts

made = confetti.simulate({"drink": ["tea", "mate"]}, "drink", epsilon=1.0, minimum=2)
errs: float = made.rmse
total: float = sum(s.epsilon for s in confetti.Release.load("release").guarantees)
columns: list[str] = list(made.to_pandas().columns)


def ask(store: confetti.Store) -> str:
    with confetti.open("plan", publishers=["key"], store=store) as device:
        outcome = device.report(drink="tea")
        if outcome.next is not None:
            return outcome.next.isoformat()
    return outcome.status


def count() -> None:
    stop = counts.start("folder")
    counts.theme.set("dark")
    counts.export_used.add()
    counts.start_seconds.set(1.2)
    stop()
`
	for name, c := range map[string]struct{ old, new string }{"right": {}, "wrong": {"errs: float", "errs: str"}, "misspelt": {"made.rmse", "made.rms"}, "lacking": {", epsilon=1.0", ""}, "purple": {`"dark"`, `"purple"`}} {
		if err := os.WriteFile(filepath.Join(e.work, name+".py"), []byte(strings.Replace(program, c.old, c.new, 1)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := e.run([]string{"MYPYPATH=counts"}, "-m", "mypy", "--strict", "-p", "confetti", "-m", "right", "-m", "counts"); err == nil {
		t.Log(out)
	} else {
		t.Error(out)
	}
	out, err := e.run([]string{"MYPYPATH=counts"}, "-m", "mypy", "--strict", "-m", "wrong", "-m", "misspelt", "-m", "lacking", "-m", "purple")
	for _, name := range []string{"wrong", "misspelt", "lacking", "purple"} {
		if err == nil || !strings.Contains(out, name+".py:") {
			t.Errorf("%s passes: %s", name, out)
		}
	}
}

// recorded compares the files of a wheel with what its RECORD says of them.
func recorded(all map[string][]byte) (bad []string) {
	lines := map[string]string{}
	for name, text := range all {
		if strings.HasSuffix(name, ".dist-info/RECORD") {
			for line := range strings.Lines(string(text)) {
				of, rest, _ := strings.Cut(strings.TrimSpace(line), ",")
				lines[of] = rest
			}
		}
	}
	for name, text := range all {
		sum := sha256.Sum256(text)
		want := "sha256=" + strings.TrimRight(base64.URLEncoding.EncodeToString(sum[:]), "=") + "," + strconv.Itoa(len(text))
		if strings.HasSuffix(name, "/RECORD") {
			want = ","
		}
		if lines[name] != want {
			bad = append(bad, name)
		}
		delete(lines, name)
	}
	return append(bad, slices.Sorted(maps.Keys(lines))...)
}

// A wheel is the same each time, in the order of names and of one time, and its RECORD has the digest of each file.
func TestTheWheel(t *testing.T) {
	path := found(t, "confetti_dp-", ".whl")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	z, err := zip.NewReader(bytes.NewReader(text), int64(len(text)))
	if err != nil {
		t.Fatal(err)
	}
	e := edition{version: strings.TrimPrefix(tried, "v"), at: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), made: t.TempDir(), lists: map[string]map[string]source{}}
	all := map[string][]byte{}
	var names []string
	for _, f := range z.File {
		r, err := f.Open()
		if err == nil {
			all[f.Name], err = io.ReadAll(r)
		}
		if err != nil || !f.Modified.Equal(e.at) {
			t.Errorf("%s of %v: %v", f.Name, f.Modified, err)
		}
		names = append(names, f.Name)
	}
	if last := len(names) - 1; !slices.IsSorted(names[:last]) || !strings.HasSuffix(names[last], "RECORD") || !slices.Contains(names, "confetti/py.typed") {
		t.Errorf("%q", names)
	}
	for name, text := range all {
		if strings.HasSuffix(name, "/scripts/confetti") {
			program := filepath.Join(t.TempDir(), "confetti")
			if err := os.WriteFile(program, text, 0o700); err != nil {
				t.Fatal(err)
			}
			if bad := unnamed(t, all["confetti_dp-"+pythonVersion(e.version)+".dist-info/"+notices], program); len(bad) > 0 {
				t.Errorf("the package has code of %q without a licence", bad)
			}
		}
	}
	if bad := recorded(all); len(bad) > 0 {
		t.Errorf("RECORD is wrong of %q", bad)
	}
	all["confetti/__init__.py"], all["confetti/planted.py"] = []byte("planted"), nil
	if bad := recorded(all); len(bad) != 2 {
		t.Errorf("of two files that RECORD does not have it finds %q", bad)
	}
	if err := os.MkdirAll(e.folder(native), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range all {
		_, of, put := strings.Cut(name, ".data/scripts/")
		if !put {
			of, put = strings.CutPrefix(name, "confetti/lib/")
		}
		if put {
			if err := os.WriteFile(filepath.Join(e.folder(native), of), text, 0o755); err != nil {
				t.Fatal(err)
			}
		}
	}
	defer func(l int) { level = l }(level)
	level = speed
	if name, again, err := e.wheel(t.Context(), native); err != nil || name != filepath.Base(path) || !bytes.Equal(again, text) {
		t.Errorf("%s, %v: made again it is another", name, err)
	}
}

// A tag is what the files themselves need: the newest symbol of glibc, or the oldest macOS.
func TestTags(t *testing.T) {
	// A header of mach-o/loader.h, and one command: LC_BUILD_VERSION of macOS 12.3, made by nothing of ours.
	mac := append(binary.LittleEndian.AppendUint32(nil, 0xfeedfacf), make([]byte, 28)...)
	binary.LittleEndian.PutUint32(mac[4:], 0x0100000c) // arm64
	binary.LittleEndian.PutUint32(mac[12:], 2)         // a program
	without := bytes.Clone(mac)
	binary.LittleEndian.PutUint32(mac[16:], 1)
	binary.LittleEndian.PutUint32(mac[20:], 24)
	for _, n := range []uint32{0x32, 24, 1, 12<<16 | 3<<8, 0, 0} {
		mac = binary.LittleEndian.AppendUint32(mac, n)
	}
	for _, c := range []struct {
		t    target
		text []byte
		want string
	}{
		{target{"darwin", "arm64"}, mac, "macosx_12_3_arm64"},
		{target{"darwin", "arm64"}, without, ""},
		{target{"windows", "amd64"}, nil, "win_amd64"},
		{target{"linux", "amd64"}, []byte("#!/bin/sh\n"), ""},
	} {
		if got, err := tagged(c.t, c.text); got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%v: %q, %v", c.t, got, err)
		}
	}
	for version, want := range map[string]string{"0.1.0": "0.1.0", "0.9.1-test.1": "0.9.1.dev0+test.1"} {
		if got := pythonVersion(version); got != want {
			t.Errorf("%s: %s", version, got)
		}
	}
	// What the linker of this machine made: objdump reads the same of it.
	if native.os != "linux" {
		return
	}
	for _, path := range []string{"/bin/sh", "/usr/bin/objdump"} {
		text, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		out, err := exec.CommandContext(t.Context(), "objdump", "-T", path).Output()
		if err != nil {
			t.Skip("there is no objdump here to compare with: install Debian's binutils")
		}
		newest := [2]int{}
		for _, said := range regexp.MustCompile(`\*UND\*.*GLIBC_(\d+)\.(\d+)`).FindAllStringSubmatch(string(out), -1) {
			major, _ := strconv.Atoi(said[1])
			minor, _ := strconv.Atoi(said[2])
			if v := [2]int{major, minor}; slices.Compare(v[:], newest[:]) > 0 {
				newest = v
			}
		}
		if got, err := glibc(text); err != nil || got != newest || newest == [2]int{} {
			t.Errorf("%s: %v, %v; objdump says %v", path, got, err, newest)
		}
	}
}
