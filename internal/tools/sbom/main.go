// Command sbom writes the bill of materials of our programs, as CycloneDX 1.6 in JSON, from the tree, go.sum and the
// Go version alone. Used by CI and by those who publish programs.
//
//	go run ./internal/tools/sbom out/confetti.cdx.json
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Commands are the programs that are shipped, as packages of the main module.
var commands = []string{"cmd/confetti", "cmd/confetti-server", "cmd/confetti-shuffler", "cmd/confetti-shuffler-postgres", "cmd/confetti-aggregator", "cmd/confetti-aggregator-postgres"}

// platform is that of the container images. Other systems link the same modules, but
// for a few of the standard library's neighbours.
var platform = []string{"GOOS=linux", "GOARCH=amd64", "CGO_ENABLED=0", "GOFLAGS=-mod=readonly"}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: go run ./internal/tools/sbom FILE, in the root of the repository")
		os.Exit(2)
	}
	b, err := bill(".")
	if err == nil {
		err = os.MkdirAll(filepath.Dir(os.Args[1]), 0o755)
	}
	if err == nil {
		err = os.WriteFile(os.Args[1], b, 0o644)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

// module is what go list tells of one.
type module struct {
	Path, Version, Dir string
	Main               bool
	Replace            *module
}

// bill returns the document of the tree in a folder.
func bill(root string) ([]byte, error) {
	goVersion, err := goTool(root, "env", "GOVERSION")
	if err != nil {
		return nil, err
	}
	sums, err := readSums(filepath.Join(root, "go.sum"))
	if err != nil {
		return nil, err
	}
	std := library("std", strings.TrimSpace(string(goVersion)))
	std.Licenses = []choice{{license{ID: "BSD-3-Clause", Acknowledgement: "declared"}}}
	components := map[string]component{std.Ref: std}
	doc := document{Format: "CycloneDX", SpecVersion: "1.6", Version: 1}
	linked, main, err := linkedIn(root)
	if err != nil {
		return nil, err
	}
	for _, name := range commands {
		program := component{Type: "application", Ref: main + "/" + name, Name: name[len("cmd/"):], Licenses: []choice{{license{ID: "Apache-2.0", Acknowledgement: "declared"}}}}
		components[program.Ref] = program
		of := dependency{Ref: program.Ref, On: []string{std.Ref}}
		for _, m := range linked[name] {
			c := library(m.Path, m.Version)
			sum, listed := sums[m.Path+" "+m.Version]
			if !listed {
				return nil, fmt.Errorf("%s %s is not in go.sum", m.Path, m.Version)
			}
			c.Properties = []property{{"go.sum", sum}}
			id, others, err := licenseOf(m.Dir)
			if err != nil {
				return nil, err
			}
			c.Licenses = []choice{{license{ID: id, Acknowledgement: "declared"}}}
			if id == unknown {
				c.Licenses = []choice{{license{Name: unknown}}}
			}
			for _, o := range others {
				c.Properties = append(c.Properties, property{"license-file", o})
			}
			components[c.Ref] = c
			of.On = append(of.On, c.Ref)
		}
		slices.Sort(of.On)
		doc.Dependencies = append(doc.Dependencies, of)
		doc.Metadata.Component = component{Type: "application", Ref: main, Name: main, Licenses: program.Licenses}
	}
	all := dependency{Ref: doc.Metadata.Component.Ref}
	for _, d := range doc.Dependencies {
		all.On = append(all.On, d.Ref)
	}
	doc.Dependencies = append(doc.Dependencies, all)
	for _, c := range components {
		doc.Components = append(doc.Components, c)
	}
	slices.SortFunc(doc.Components, func(a, b component) int { return strings.Compare(a.Ref, b.Ref) })
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err = e.Encode(doc)
	return b.Bytes(), err
}

// linkedIn returns the modules, but ours, of which each command has packages in it, by the command, and the path of ours.
func linkedIn(root string) (linked map[string][]module, main string, err error) {
	args := []string{"list", "-deps", "-json=ImportPath,Deps,Module"}
	for _, command := range commands {
		args = append(args, "./"+command)
	}
	text, err := goTool(root, args...)
	if err != nil {
		return nil, "", err
	}
	type listed struct {
		ImportPath string
		Deps       []string
		Module     *module
	}
	all := map[string]listed{}
	for d := json.NewDecoder(bytes.NewReader(text)); ; {
		var p listed
		if err := d.Decode(&p); err == io.EOF {
			break
		} else if err != nil {
			return nil, "", err
		}
		if all[p.ImportPath] = p; p.Module != nil && p.Module.Main {
			main = p.Module.Path
		}
	}
	linked = map[string][]module{}
	for _, command := range commands {
		seen := map[string]bool{}
		for _, path := range all[main+"/"+command].Deps {
			switch m := all[path].Module; {
			case m == nil || m.Main: // of the standard library, or ours
			case m.Replace != nil:
				return nil, "", fmt.Errorf("%s is replaced: a bill names what is published", m.Path)
			case !seen[m.Path]:
				seen[m.Path] = true
				linked[command] = append(linked[command], *m)
			}
		}
	}
	return linked, main, nil
}

func goTool(root string, args ...string) ([]byte, error) {
	var errs bytes.Buffer
	c := exec.Command("go", args...)
	c.Dir, c.Stderr, c.Env = root, &errs, append(os.Environ(), platform...)
	out, err := c.Output()
	if err != nil {
		return nil, fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, &errs)
	}
	return out, nil
}

// readSums returns the hash of each module's content by path and version, of go.sum.
func readSums(path string) (map[string]string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	sums := map[string]string{}
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if len(f) != 3 || !strings.HasPrefix(f[2], "h1:") {
			return nil, errors.New(path + ": a line that is not module, version and hash")
		}
		sums[f[0]+" "+f[1]] = f[2] // go.mod files have a version of their own, which ends in /go.mod
	}
	return sums, nil
}
