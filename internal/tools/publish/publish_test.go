//go:build unix

package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/confetti-dp/confetti/internal/testkit/webtest"
	"github.com/confetti-dp/confetti/internal/tools/doctest"
	"io/fs"
	"path"
	"regexp"
)

// tried is the version that is made, and scratch where.
const tried = "v0.9.1-test.1"

var scratch string

// speed is how hard what tests make is packed: not at all, as all of it is unpacked again. What is made twice of small
// programs is packed as a version is.
const speed = gzip.NoCompression

func TestMain(m *testing.M) {
	err := os.Chdir("../../..") // the root, where the command is run
	if err == nil {
		scratch, err = os.MkdirTemp("", "confetti-published-*")
	}
	if err != nil {
		panic(err)
	}
	code := m.Run()
	os.RemoveAll(scratch)
	os.Exit(code)
}

// makeInto makes everything for this machine into a folder, and spends no time on packing it.
func makeInto(name string) (string, error) {
	level = speed
	defer func() { level = gzip.BestCompression }()
	out := filepath.Join(scratch, name)
	trusted := filepath.Join(scratch, "authorities")
	if err := os.WriteFile(trusted, []byte("nobody\n"), 0o600); err != nil {
		return "", err
	}
	return out, run(context.Background(), tried, out, []string{native.os + "/" + native.arch}, trusted)
}

var once = sync.OnceValues(func() (string, error) { return makeInto("first") })

// made returns the folder with everything, which is made once for all tests.
func made(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("builds all programs")
	}
	if native.os != "linux" {
		t.Skip("packages and images are made of programs for Linux, and here are none: the command makes them anywhere")
	}
	webtest.Node(t, "web")
	if _, err := exec.LookPath("cc"); err != nil {
		t.Skip("there is no C compiler here, which makes the library of the package for Python: install gcc and libc6-dev")
	}
	out, err := once()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// found returns the one with that beginning and end.
func found(t *testing.T, begins, ends string) string {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(made(t), begins+"*"+ends))
	if err != nil || len(all) != 1 {
		t.Fatalf("%s*%s: %v, %v", begins, ends, all, err)
	}
	return all[0]
}

// bare runs a command that finds nothing of this machine by name.
func bare(t *testing.T, dir, program string, args ...string) string {
	t.Helper()
	c := exec.CommandContext(t.Context(), program, args...)
	c.Dir, c.Env = dir, []string{"PATH=" + dir, "HOME=" + dir, "TMPDIR=" + dir}
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", program, args, err, out)
	}
	return string(out)
}

// needs skips a test where a program is missing, unless CONFETTI_PACKAGES=require.
func needs(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		if _, err := exec.LookPath(name); err != nil {
			if os.Getenv("CONFETTI_PACKAGES") == "require" {
				t.Fatalf("there is no %s here: install Debian's packages dpkg, rpm, rpm2cpio, cpio and pkg-config", name)
			}
			t.Skipf("there is no %s here: install Debian's packages dpkg, rpm, rpm2cpio, cpio and pkg-config", name)
		}
	}
}

func unpack(t *testing.T, text []byte, dir string) {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err == io.EOF {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		to := filepath.Join(dir, h.Name)
		if h.Typeflag == tar.TypeDir {
			err = os.MkdirAll(to, 0o755)
		} else if h.Typeflag == tar.TypeSymlink {
			err = os.Symlink(h.Linkname, to)
		} else if text, failed := io.ReadAll(r); failed != nil {
			err = failed
		} else {
			err = errors.Join(os.MkdirAll(filepath.Dir(to), 0o755), os.WriteFile(to, text, os.FileMode(h.Mode)))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// The same programs give the same archives, packages, images, formula and sums, for every platform; that sources give
// the same programs is tested where their bill is made. Sums are those of the files.
func TestTwoMakingsAreTheSame(t *testing.T) {
	var all [2]map[string]string
	lists := map[string]map[string]source{} // of the tree, which is the same
	for i := range all {
		e := edition{lists: lists, version: "0.9.1-test.1", at: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), made: t.TempDir(), out: t.TempDir(), trusted: []byte("nobody\n")}
		for p := range strings.SplitSeq(everywhere, ",") {
			system, arch, _ := strings.Cut(p, "/")
			e.targets = append(e.targets, target{system, arch})
		}
		for _, of := range e.targets {
			if err := os.MkdirAll(e.folder(of), 0o755); err != nil {
				t.Fatal(err)
			}
			for _, name := range programs {
				if err := os.WriteFile(filepath.Join(e.folder(of), of.program(name)), []byte("#!/bin/sh\necho "+name+" $@\n"), 0o755); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := os.WriteFile(filepath.Join(e.out, e.client()), []byte("a package\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{library, static} {
			if err := os.WriteFile(filepath.Join(e.folder(native), name), []byte("a library\n"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		for _, step := range []func(context.Context) error{e.archives, e.cArchives, e.packages, e.images, e.formula, e.sums} {
			if err := step(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		entries, err := os.ReadDir(e.out)
		if err != nil {
			t.Fatal(err)
		}
		all[i] = map[string]string{}
		for _, entry := range entries {
			text, err := os.ReadFile(filepath.Join(e.out, entry.Name()))
			if err != nil {
				t.Fatal(err)
			}
			all[i][entry.Name()] = string(text)
		}
	}
	forC := 0
	if native.linked() {
		forC = 1
	}
	if len(all[0]) != 6+forC+2*2*len(packs)+len(roles)+3 {
		t.Errorf("%d files are made", len(all[0]))
	}
	for name, text := range all[0] {
		if all[1][name] != text {
			t.Errorf("%s is another one", name)
		}
		if line := digest([]byte(text)) + "  " + name + "\n"; name != "SHA256SUMS" && !strings.Contains(all[0]["SHA256SUMS"], line) {
			t.Errorf("SHA256SUMS lacks %q", line)
		}
	}
}

// astray lists links between pages and to pictures that lead nowhere; what leads to code is of a checkout.
func astray(tree fs.FS) (bad []string) {
	fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		text, failed := fs.ReadFile(tree, name)
		if err != nil || failed != nil || path.Ext(name) != ".md" {
			return err
		}
		for _, link := range regexp.MustCompile(`\]\(([^):#]+\.(?:md|svg|png|yaml))(?:#[^)]*)?\)`).FindAllStringSubmatch(string(text), -1) {
			to := path.Join(path.Dir(name), link[1])
			if strings.Contains(to, "/") && !strings.HasPrefix(to, "docs/") {
				continue
			}
			if _, err := fs.Stat(tree, to); err != nil {
				bad = append(bad, name+": "+link[1])
			}
		}
		return nil
	})
	return bad
}

// unnamed lists whose code programs have, by what the linker wrote into them, that a file with licences does not name.
func unnamed(t *testing.T, licenses []byte, files ...string) (missing []string) {
	t.Helper()
	for _, file := range files {
		info, err := buildinfo.ReadFile(file)
		if err != nil || len(info.Deps) == 0 {
			t.Fatalf("%s: %v, and it is built of %d modules", file, err, len(info.Deps))
		}
		for _, d := range info.Deps {
			if name := d.Path + " " + d.Version; !bytes.Contains(licenses, []byte("==== "+name+": ")) && !slices.Contains(missing, name) {
				missing = append(missing, name)
			}
		}
	}
	if !bytes.Contains(licenses, []byte("==== Go: LICENSE\n")) {
		missing = append(missing, "Go")
	}
	return missing
}

// Who has the archive alone sees the whole loop, and phones answer a poll: the modules are inside.
func TestTheArchiveIsAllThatIsNeeded(t *testing.T) {
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
	dir = folders[0]
	confetti := filepath.Join(dir, "confetti")
	if said := bare(t, dir, confetti, "version"); !strings.HasPrefix(said, "confetti "+tried+"\n") {
		t.Errorf("%q", said)
	}
	for _, name := range programs {
		if text, err := os.ReadFile(filepath.Join(dir, name)); err != nil || bytes.Contains(text, []byte(scratch)) {
			t.Errorf("%s: %v, or it names the folder where it was made", name, err)
		}
	}
	var all []string
	for _, name := range programs {
		all = append(all, filepath.Join(dir, name))
	}
	others, err := os.ReadFile(filepath.Join(dir, notices))
	if bad := unnamed(t, others, all...); err != nil || len(bad) > 0 || !bytes.Contains(others, []byte("==== circl, copied: LICENSE\n")) {
		t.Errorf("%v; the archive has code of %q without a licence", err, bad)
	}
	e := edition{lists: map[string]map[string]source{}}
	if again, err := e.licenses(t.Context(), native, programs...); err != nil || !bytes.Equal(again, others) {
		t.Errorf("licences are others where they are gathered again: %v", err)
	}
	if bad := unnamed(t, bytes.ReplaceAll(others, []byte("==== gonum.org"), nil), all...); len(bad) != 1 {
		t.Errorf("of one licence that is missing it finds %q", bad)
	}
	if hop, err := e.licenses(t.Context(), native, "confetti-shuffler"); err != nil || bytes.Contains(hop, []byte("gonum.org")) || len(unnamed(t, hop, filepath.Join(dir, "confetti-shuffler"))) > 0 {
		t.Errorf("a hop's licences are not its own: %v", err)
	}
	if bad := astray(os.DirFS(dir)); len(bad) > 0 {
		t.Errorf("pages lead to pages that are not there: %q", bad)
	}
	if err := os.WriteFile(filepath.Join(dir, "planted.md"), []byte("[nowhere](docs/nowhere.md#there)"), 0o644); err != nil || len(astray(os.DirFS(dir))) != 1 {
		t.Errorf("a link that leads nowhere is not found: %v", err)
	}
	walked(t, dir)
	if _, err := os.Stat(filepath.Join(dir, "confetti-demo", "densities.parquet")); err != nil {
		t.Error(err)
	}
	if page, err := os.ReadFile(filepath.Join(dir, "confetti-demo", "release.html")); err != nil || len(page) < 10_000 {
		t.Errorf("the demo's page: %v, %d bytes", err, len(page))
	}

	browser := webtest.Browser(t)
	begun := time.Now()
	up := exec.CommandContext(t.Context(), confetti, "up", "poll", "--ask", "What do you drink?", "--answers", "tea,coffee,mate", "--people", "2")
	var said bytes.Buffer
	up.Dir, up.Env, up.Stderr = dir, []string{"PATH=" + dir, "HOME=" + dir}, &said
	out, err := up.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := up.Start(); err != nil {
		t.Fatal(err)
	}
	stop := time.AfterFunc(5*time.Minute, func() { up.Process.Kill() })
	defer stop.Stop()
	printed := ""
	for buffer := make([]byte, 1<<12); !strings.Contains(printed, "Phones open http") && !strings.Contains(printed, "Phones cannot"); {
		n, err := out.Read(buffer)
		if printed += string(buffer[:n]); err != nil {
			break
		}
	}
	open := regexp.MustCompile(`Phones open (http\S+)\n`).FindStringSubmatch(printed)
	go io.Copy(io.Discard, out)
	defer up.Wait()
	defer up.Process.Signal(os.Interrupt)
	if open == nil {
		t.Fatalf("%s\n%s", printed, &said)
	}
	t.Logf("the code is printed after %v", time.Since(begun).Round(time.Millisecond))
	var phones []*webtest.Tab
	for i, choice := range []string{"mate", "tea"} {
		phone := webtest.Open(t, browser, webtest.Phone, chromedp.WithNewBrowserContext())
		phone.TrustAnybody()
		phone.Do(chromedp.Navigate(open[1]), webtest.Until(`document.querySelector("#answer button")?.disabled === false`), chromedp.Click(`input[value="`+choice+`"]`))
		pressed := time.Now()
		phone.Do(chromedp.Click("#answer button"), chromedp.WaitVisible("#said"))
		t.Logf("phone %d is thanked %v after the press", i+1, time.Since(pressed).Round(time.Millisecond))
		if text := webtest.Ask(phone, chromedp.Text("#outcome")); !strings.HasPrefix(text, "Sent.") {
			t.Fatalf("phone %d says %q", i+1, text)
		}
		if text := webtest.Ask(phone, chromedp.Text("#told")); !strings.HasPrefix(text, "You chose “"+choice+"”. Your phone said: ") {
			t.Errorf("phone %d reads %q", i+1, text)
		}
		phones = append(phones, phone)
	}
	begun = time.Now()
	bare(t, dir, confetti, "plan", "close", "--dir", "poll")
	for i, phone := range phones { // nobody touches them
		phone.Do(webtest.Until(`!!document.querySelector("#result .rows li") && document.querySelector("#when").hidden`))
		if text := webtest.Ask(phone, chromedp.Text("#result")); !strings.Contains(text, "Of 2 answers") {
			t.Errorf("phone %d reads %q", i+1, text)
		}
	}
	t.Logf("phones have the result %v after it was closed", time.Since(begun).Round(time.Millisecond))
	if found := phones[0].Found(); len(found) > 0 {
		t.Errorf("a phone's browser complains: %q", found)
	}
}

// everyday are programs that every machine has; a reader of pages finds no others, and neither Go nor git.
var everyday = []string{"awk", "cat", "cp", "gzip", "mkdir", "mktemp", "sed", "tar"}

// others are lines for a checkout alone, as their page says, and for Node, which a test of the examples types.
var others = regexp.MustCompile(`^go (build|test) |\b(npm|node) |\bpublic\b`)

// walked types the pages for beginners, line by line, as who has the archive alone: with an empty home and without the
// programs of a checkout. It logs what each page took.
func walked(t *testing.T, dir string) {
	t.Helper()
	tools := t.TempDir()
	for _, name := range everyday {
		at, err := exec.LookPath(name)
		if err == nil {
			err = os.Symlink(at, filepath.Join(tools, name))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, way := range []struct {
		folder string // of the archive; "": another one, that is empty
		least  int
		pages  []string
	}{
		{".", 14, []string{"README.md", "docs/tables.md"}}, {"", 4, []string{"docs/tutorials/table.md"}},
		{"", 8, []string{"docs/tutorials/room.md"}}, {"", 14, []string{"docs/tutorials/app.md"}},
		{"docs/examples", 1, []string{"docs/examples/README.md"}},
	} {
		s := doctest.NewSession(t, dir, doctest.Patience(t))
		var lines []doctest.Command
		for _, page := range way.pages {
			lines = append(lines, doctest.CommandsIn(t, dir, page)...)
		}
		enter := `cd ` + way.folder
		if way.folder == "" {
			enter = `PATH="$PWD:$PATH"; cd "$(mktemp -d)"`
		} else if way.folder != "." {
			enter = `PATH="$PWD:$PATH"; ` + enter
		}
		if _, err := s.Run(`export PATH=` + tools + `; unset GOCACHE GOMODCACHE GOPATH; ` + enter); err != nil {
			t.Fatal(err)
		}
		n, begun := 0, time.Now()
		for _, l := range lines {
			if others.MatchString(l.Text) {
				continue
			}
			text, _, _ := strings.Cut(l.Text, " && python3 -m http.server")
			text = strings.Replace(text, "go run ./cmd/confetti ", "./confetti ", 1) // as the first page says
			var err error
			if n++; strings.HasPrefix(text, "confetti up ") {
				err = s.Start(text, "in another terminal:")
			} else {
				_, err = s.Run(text)
			}
			if err != nil {
				t.Fatalf("%s\n%v", l, err)
			}
		}
		if n < way.least {
			t.Errorf("%v: only %d lines are typed", way.pages, n)
		}
		t.Logf("%v: %d lines, %.1f s, no error", way.pages, n, time.Since(begun).Seconds())
		if err := s.End(); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "docs/examples/page/confetti/index.js")); err != nil {
		t.Error(err)
	}
}

// Debian's own tool unpacks the packages; their sums hold and their programs run.
func TestTheDebianPackages(t *testing.T) {
	needs(t, "dpkg", "dpkg-deb", "md5sum")
	for _, p := range packs {
		deb, dir := found(t, p.name+"_", ".deb"), t.TempDir()
		for _, args := range [][]string{{"-x", deb, dir}, {"-e", deb, filepath.Join(dir, "DEBIAN")}} {
			if out, err := exec.CommandContext(t.Context(), "dpkg-deb", args...).CombinedOutput(); err != nil {
				t.Fatalf("dpkg-deb %v: %v\n%s", args, err, out)
			}
		}
		check := exec.CommandContext(t.Context(), "md5sum", "-c", "DEBIAN/md5sums")
		check.Dir = dir
		if out, err := check.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", p.name, err, out)
		}
		if out, err := exec.CommandContext(t.Context(), "dpkg-deb", "-f", deb, "Version", "Architecture").Output(); err != nil || !strings.Contains(string(out), "0.9.1~test.1") || !strings.Contains(string(out), native.arch) {
			t.Errorf("%s: %v, %s", p.name, err, out)
		}
		installed(t, p, dir)
	}
}

// RPM's own tools find the digests right, and unpack the packages.
func TestTheRPMPackages(t *testing.T) {
	needs(t, "rpm", "rpm2cpio", "cpio")
	for _, p := range packs {
		all, dir := found(t, p.name+"-0.9.1", ".rpm"), t.TempDir()
		if out, err := exec.CommandContext(t.Context(), "rpm", "-K", all).CombinedOutput(); err != nil || !strings.Contains(string(out), "digests OK") {
			t.Errorf("%s: %v\n%s", p.name, err, out)
		}
		if out, err := exec.CommandContext(t.Context(), "rpm", "-qp", "--qf", "%{NAME} %{VERSION} %{ARCH}", all).Output(); err != nil || string(out) != p.name+" 0.9.1~test.1 "+rpmArch(native) {
			t.Errorf("%s: %v, %s", p.name, err, out)
		}
		if out, err := exec.CommandContext(t.Context(), "sh", "-c", `rpm2cpio "$1" | (cd "$2" && cpio -idm)`, "sh", all, dir).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", p.name, err, out)
		}
		installed(t, p, dir)
		text, err := os.ReadFile(all)
		if err != nil {
			t.Fatal(err)
		}
		text[len(text)-1] ^= 1 // another payload
		broken := filepath.Join(dir, "broken.rpm")
		if err := os.WriteFile(broken, text, 0o600); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.CommandContext(t.Context(), "rpm", "-K", broken).CombinedOutput(); err == nil {
			t.Errorf("a changed package passes: %s", out)
		}
	}
}

// installed runs the programs of a package, and looks at the units.
func installed(t *testing.T, p pack, dir string) {
	t.Helper()
	for _, name := range p.programs {
		if said := bare(t, dir, filepath.Join(dir, "usr/bin", name), "--help"); !strings.Contains(said, name) {
			t.Errorf("%s: %s", name, said)
		}
	}
	others, err := os.ReadFile(filepath.Join(dir, "usr/share/doc", p.name, notices))
	for _, name := range p.programs {
		if bad := unnamed(t, others, filepath.Join(dir, "usr/bin", name)); err != nil || len(bad) > 0 {
			t.Errorf("%v: %s has code of %q without a licence", err, name, bad)
		}
	}
	for _, name := range p.units {
		unit, err := os.ReadFile(filepath.Join(dir, "usr/lib/systemd/system", name))
		if err != nil {
			t.Error(err)
		}
		_, after, _ := strings.Cut(string(unit), "ExecStart=/usr/bin/")
		if program, _, _ := strings.Cut(after, " "); !slices.Contains(p.programs, program) {
			t.Errorf("%s starts %s, which is not in %s", name, program, p.name)
		}
	}
}

// Each image is a layout whose digests hold, and its program runs in nothing but its own files.
func TestTheImages(t *testing.T) {
	for _, role := range roles {
		blobs := map[string][]byte{}
		text, err := os.ReadFile(found(t, role.program+"_0", ".oci.tar"))
		if err != nil {
			t.Fatal(err)
		}
		for r := tar.NewReader(bytes.NewReader(text)); ; {
			h, err := r.Next()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			b, err := io.ReadAll(r)
			if err != nil {
				t.Fatal(err)
			}
			blobs[strings.TrimPrefix(h.Name, "blobs/sha256/")] = b
		}
		blob := func(d descriptor) []byte {
			name := strings.TrimPrefix(d.Digest, "sha256:")
			if b := blobs[name]; b == nil || digest(b) != name || len(b) != d.Size {
				t.Fatalf("%s: %s is not there, or is another", role.program, d.Digest)
			}
			return blobs[name]
		}
		var index struct{ Manifests []descriptor }
		var manifest struct {
			Config descriptor
			Layers []descriptor
		}
		var config struct {
			Config struct {
				User       string
				Entrypoint []string
			}
			RootFS struct {
				DiffIDs []string `json:"diff_ids"`
			}
		}
		if err := json.Unmarshal(blobs["index.json"], &index); err != nil || len(index.Manifests) != 1 {
			t.Fatal(err)
		}
		if err := json.Unmarshal(blob(index.Manifests[0]), &manifest); err != nil || len(manifest.Layers) != 1 {
			t.Fatal(err)
		}
		if err := json.Unmarshal(blob(manifest.Config), &config); err != nil || config.Config.User != "65532:65532" {
			t.Fatal(err, config)
		}
		layer := blob(manifest.Layers[0])
		z, err := gzip.NewReader(bytes.NewReader(layer))
		if err != nil {
			t.Fatal(err)
		}
		if plain, err := io.ReadAll(z); err != nil || config.RootFS.DiffIDs[0] != "sha256:"+digest(plain) {
			t.Errorf("%s: the layer is another than its configuration says: %v", role.program, err)
		}
		if os.Getuid() != 0 {
			continue // to run it in its own root takes root's rights
		}
		root := t.TempDir()
		unpack(t, layer, root)
		others, err := os.ReadFile(filepath.Join(root, "usr/share/doc", role.program, notices))
		if bad := unnamed(t, others, filepath.Join(root, "usr/bin", role.program)); err != nil || len(bad) > 0 {
			t.Errorf("%v: the image %s has code of %q without a licence", err, role.program, bad)
		}
		if err := os.Chmod(root, 0o755); err != nil {
			t.Fatal(err)
		}
		c := exec.CommandContext(t.Context(), config.Config.Entrypoint[0], "--help")
		c.Dir, c.Env = "/", []string{}
		c.SysProcAttr = &syscall.SysProcAttr{Chroot: root, Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		if out, err := c.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", role.program, err, out)
		}
	}
}

// The package for pages goes into an empty project, without a network; a program in TypeScript that uses it
// compiles, and one that misuses it does not. Its files are those that a page loads.
func TestThePackageForPages(t *testing.T) {
	archive := found(t, "confetti-dp-client-", ".tgz")
	needs(t, "npm")
	root, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	do := func(want bool, name string, args ...string) {
		t.Helper()
		c := exec.CommandContext(t.Context(), name, args...)
		c.Dir = dir
		if out, err := c.CombinedOutput(); (err == nil) != want {
			t.Fatalf("%s %v: %v\n%s", name, args, err, out)
		}
	}
	write("package.json", `{"type": "module", "private": true}`)
	do(true, "npm", "install", "--offline", "--ignore-scripts", "--no-audit", "--no-fund", archive)
	const program = `import { open, DeviceError, type Outcome } from "@confetti-dp/client";
export async function ask(plan: string, publishers: string[], bearer: string, drink: string): Promise<Outcome> {
  const device = await open({ plan, publishers, bearer, delay: 0 });
  try {
    return await device.report({ drink }, { consent: true });
  } catch (e) {
    if (e instanceof DeviceError && e.code === "answered") return { status: "sent", parts: 0 };
    throw e;
  } finally {
    device.close();
  }
}
`
	others, err := os.ReadFile(filepath.Join(dir, "node_modules/@confetti-dp/client", notices))
	if err != nil || !bytes.Contains(others, []byte("==== Go: LICENSE\n")) || !bytes.Contains(others, []byte("==== golang.org/x/crypto v")) {
		t.Errorf("the package for pages lacks licences: %v", err)
	}
	write("ask.ts", program)
	tsc := func(want bool) {
		t.Helper()
		do(want, filepath.Join(root, "web/node_modules/.bin/tsc"), "--strict", "--noEmit", "--module", "nodenext", "--moduleResolution", "nodenext", "--target", "es2022", "--lib", "es2022,dom", "ask.ts")
	}
	tsc(true)
	write("ask.ts", strings.Replace(program, "bearer, delay: 0", "bearer: 7", 1))
	tsc(false)
	do(true, filepath.Join(dir, "node_modules/.bin/confetti-files"), "public")
	for _, name := range []string{"index.js", "metrics.js", "worker.js", "device.js", "store.js", "wasm_exec.js", "confetti.wasm"} {
		a, err := os.ReadFile(filepath.Join(dir, "public", name))
		b, missing := os.ReadFile(filepath.Join(dir, "node_modules/@confetti-dp/client", name))
		if err != nil || missing != nil || !bytes.Equal(a, b) || len(a) == 0 {
			t.Errorf("%s: %v, %v", name, err, missing)
		}
	}
}

// The formula names the archive that was made, by its sum.
func TestTheFormula(t *testing.T) {
	archive, err := os.ReadFile(found(t, "confetti_", ".tar.gz"))
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(made(t), "confetti.rb"))
	if err != nil || !strings.Contains(string(text), digest(archive)) || strings.Count(string(text), "url ") != 1 {
		t.Errorf("%v\n%s", err, text)
	}
}

// What cannot be made is refused, and nothing is left of it.
func TestRefusals(t *testing.T) {
	full := t.TempDir()
	if err := os.WriteFile(filepath.Join(full, "there"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ version, out, platform, says string }{
		{"0.1.0", "out", "linux/amd64", "no version"},
		{"v0.1", "out", "linux/amd64", "no version"},
		{"v0.1.0", full, "linux/amd64", "not empty"},
	} {
		if err := run(t.Context(), c.version, c.out, []string{c.platform}, "/dev/null"); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%v: %v", c, err)
		}
	}
}
