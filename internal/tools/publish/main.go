// Command publish makes everything of a version, and uploads nothing: archives of programs and of the C library, packages of
// Debian, RPM, Python and pages, images, a formula, a bill of materials and sums. Used by those who publish programs.
//
//	npm ci --prefix web --ignore-scripts
//	go run ./internal/tools/publish v0.1.0 out/v0.1.0
package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	module "github.com/confetti-dp/confetti/internal/webmodule"
)

// everywhere are the platforms that programs are made for.
const everywhere = "linux/amd64,linux/arm64,darwin/amd64,darwin/arm64,windows/amd64,windows/arm64"

func main() {
	platforms := flag.String("platforms", everywhere, "make programs for these alone")
	certificates := flag.String("certificates", "/etc/ssl/certs/ca-certificates.crt", "file of the authorities that images trust")
	flag.Parse()
	if flag.NArg() != 2 {
		fmt.Fprintln(os.Stderr, "usage: go run ./internal/tools/publish [-platforms LIST] VERSION FOLDER, in the root of the repository")
		os.Exit(2)
	}
	if err := run(context.Background(), flag.Arg(0), flag.Arg(1), strings.Split(*platforms, ","), *certificates); err != nil {
		fmt.Fprintln(os.Stderr, "publish:", err)
		os.Exit(1)
	}
}

// target is a system and a processor.
type target struct{ os, arch string }

// program returns the file of a program there.
func (t target) program(name string) string {
	if t.os == "windows" {
		return name + ".exe"
	}
	return name
}

// edition is what is made of a version.
type edition struct {
	version string // without the v
	at      time.Time
	made    string // a folder that goes away: programs, modules, types
	out     string
	targets []target
	trusted []byte                       // authorities
	lists   map[string]map[string]source // of packages, that were asked for before
}

// programs are made for each platform.
var programs = []string{"confetti", "confetti-server", "confetti-shuffler", "confetti-shuffler-postgres", "confetti-aggregator", "confetti-aggregator-postgres"}

// versions are what a tag of a release says.
var versions = regexp.MustCompile(`^v(\d+\.\d+\.\d+(-[0-9a-z.]+)?)$`)

// run makes it in the folder out, which is not there or is empty: whole, or not at all.
func run(ctx context.Context, version, out string, platforms []string, certificates string) (err error) {
	named := versions.FindStringSubmatch(version)
	if named == nil {
		return fmt.Errorf("%q is no version: give one such as v0.1.0", version)
	}
	if entries, err := os.ReadDir(out); err == nil && len(entries) > 0 {
		return fmt.Errorf("%s is not empty: name another folder", out)
	}
	if _, err := os.Stat("web/node_modules/.bin/tsc"); err != nil {
		return errors.New("there is no compiler of types in web/node_modules: run npm ci --prefix web --ignore-scripts, in the root of the repository")
	}
	e := edition{version: named[1], at: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), lists: map[string]map[string]source{}}
	if text := os.Getenv("SOURCE_DATE_EPOCH"); text != "" {
		seconds, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return fmt.Errorf("SOURCE_DATE_EPOCH: %w", err)
		}
		e.at = time.Unix(seconds, 0).UTC()
	}
	for _, p := range platforms {
		if !slices.Contains(strings.Split(everywhere, ","), p) {
			return fmt.Errorf("%q is no platform that programs are made for: choose of %s", p, everywhere)
		}
		system, arch, _ := strings.Cut(p, "/")
		e.targets = append(e.targets, target{system, arch})
	}
	if e.trusted, err = os.ReadFile(certificates); err != nil {
		return fmt.Errorf("the authorities that images trust: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(filepath.Clean(out)), 0o755); err != nil {
		return err
	}
	if e.made, err = os.MkdirTemp("", "confetti-publish-*"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(e.made)) }()
	if e.out, err = os.MkdirTemp(filepath.Dir(filepath.Clean(out)), ".publish-*"); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(e.out))
		}
	}()
	for _, step := range []struct {
		name string
		do   func(context.Context) error
	}{
		{"browser modules", e.modules}, {"programs", e.build}, {"C library", e.libraries}, {"packages for Python", e.wheels}, {"package for pages", e.pages}, {"archives", e.archives}, {"archive for C", e.cArchives}, {"packages", e.packages}, {"images", e.images},
		{"formula", e.formula}, {"bill of materials", e.bill}, {"sums", e.sums},
	} {
		begun := time.Now()
		if err := step.do(ctx); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
		fmt.Fprintf(os.Stderr, "%s (%.0f s)\n", step.name, time.Since(begun).Seconds())
	}
	if err := os.Chmod(e.out, 0o755); err != nil {
		return err
	}
	if err := os.Remove(out); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return os.Rename(e.out, out)
}

// tool runs a program of others in the root.
func (e edition) tool(ctx context.Context, env []string, name string, args ...string) ([]byte, error) {
	c := exec.CommandContext(ctx, name, args...)
	c.Env = append(append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-mod=readonly"), env...)
	out, err := c.Output()
	if err != nil {
		var said []byte
		if failed, is := errors.AsType[*exec.ExitError](err); is {
			said = failed.Stderr
		}
		return nil, fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, said)
	}
	return out, nil
}

// modules makes what browsers load.
func (e edition) modules(ctx context.Context) error {
	dir := filepath.Join(e.made, "web")
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	for file, command := range module.Inside {
		if err := (module.Module{Wasm: file, Command: command}).Make(ctx, dir); err != nil {
			return err
		}
		text, err := os.ReadFile(filepath.Join(dir, file))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, file+".gz"), packed(text), 0o644)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// build makes the programs, stripped, with the modules inside.
func (e edition) build(ctx context.Context) error {
	overlay, err := module.Overlay(filepath.Join(e.made, "web"))
	if err != nil {
		return err
	}
	file := filepath.Join(e.made, "overlay.json")
	if err := os.WriteFile(file, overlay, 0o644); err != nil {
		return err
	}
	for _, t := range append(slices.Clone(e.targets), native) {
		dir := e.folder(t)
		if _, err := os.Stat(dir); err == nil {
			continue // the native one is among them
		}
		args := []string{"build", "-trimpath", "-buildvcs=false", "-tags=withmodules", "-overlay=" + file, "-ldflags=-s -w -X github.com/confetti-dp/confetti/release.version=v" + e.version, "-o", dir + string(filepath.Separator)}
		all := programs
		if !slices.Contains(e.targets, t) {
			all = programs[:1] // to ask it for what shells read
		}
		for _, name := range all {
			args = append(args, "./cmd/"+name)
		}
		if _, err := e.tool(ctx, []string{"GOOS=" + t.os, "GOARCH=" + t.arch}, "go", args...); err != nil {
			return fmt.Errorf("%s/%s: %w", t.os, t.arch, err)
		}
	}
	return nil
}

var native = target{runtime.GOOS, runtime.GOARCH}

// folder returns where the programs of a platform are.
func (e edition) folder(t target) string { return filepath.Join(e.made, t.os+"_"+t.arch) }

// read returns a program.
func (e edition) read(t target, name string) ([]byte, error) {
	return os.ReadFile(filepath.Join(e.folder(t), t.program(name)))
}

// completions returns what shells read, by their usual files.
func (e edition) completions(ctx context.Context) (all []file, err error) {
	for _, s := range []struct{ shell, name string }{{"bash", "confetti.bash"}, {"fish", "confetti.fish"}, {"powershell", "confetti.ps1"}, {"zsh", "_confetti"}} {
		text, err := e.tool(ctx, nil, filepath.Join(e.folder(native), native.program("confetti")), "completion", s.shell)
		if err != nil {
			return nil, err
		}
		all = append(all, file{name: path.Join("completions", s.name), mode: 0o644, text: text})
	}
	return all, nil
}

// bill writes the bill of materials.
func (e edition) bill(ctx context.Context) error {
	_, err := e.tool(ctx, nil, "go", "run", "./internal/tools/sbom", filepath.Join(e.out, "confetti_"+e.version+".cdx.json"))
	return err
}

// sums writes the digest of each file, as sha256sum -c reads them.
func (e edition) sums(context.Context) error {
	entries, err := os.ReadDir(e.out)
	if err != nil {
		return err
	}
	var text strings.Builder
	for _, entry := range entries {
		b, err := os.ReadFile(filepath.Join(e.out, entry.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&text, "%s  %s\n", digest(b), entry.Name())
	}
	return os.WriteFile(filepath.Join(e.out, "SHA256SUMS"), []byte(text.String()), 0o644)
}

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
