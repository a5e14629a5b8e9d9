package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// home is where archives are published.
const home = "https://github.com/confetti-dp/confetti"

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// formula writes Homebrew's, of the archives of macOS and Linux that were made.
func (e edition) formula(context.Context) error {
	var b strings.Builder
	fmt.Fprintf(&b, "class Confetti < Formula\n  desc \"Statistics from many devices, without anybody seeing a person's answer\"\n  homepage %q\n  version %q\n  license \"Apache-2.0\"\n", home, e.version)
	for _, system := range []struct{ os, name string }{{"darwin", "macos"}, {"linux", "linux"}} {
		var each strings.Builder
		for _, processor := range []struct{ arch, name string }{{"amd64", "intel"}, {"arm64", "arm"}} {
			if !slices.Contains(e.targets, target{system.os, processor.arch}) {
				continue
			}
			name := "confetti_" + e.version + "_" + system.os + "_" + processor.arch + ".tar.gz"
			text, err := os.ReadFile(filepath.Join(e.out, name))
			if err != nil {
				return err
			}
			fmt.Fprintf(&each, "    on_%s do\n      url %q\n      sha256 %q\n    end\n", processor.name, home+"/releases/download/v"+e.version+"/"+name, digest(text))
		}
		if each.Len() > 0 {
			fmt.Fprintf(&b, "\n  on_%s do\n%s  end\n", system.name, each.String())
		}
	}
	b.WriteString("\n  def install\n    bin.install Dir[\"confetti*\"].select { |f| File.file?(f) }\n    prefix.install \"LICENSES-of-others\"\n    bash_completion.install \"completions/confetti.bash\" => \"confetti\"\n    fish_completion.install \"completions/confetti.fish\"\n    zsh_completion.install \"completions/_confetti\"\n  end\n\n  test do\n    assert_match version.to_s, shell_output(\"#{bin}/confetti version\")\n  end\nend\n")
	return os.WriteFile(filepath.Join(e.out, "confetti.rb"), []byte(b.String()), 0o644)
}

// pages writes the package for pages, as npm reads it.
func (e edition) pages(ctx context.Context) error {
	types := filepath.Join(e.made, "types")
	if _, err := e.tool(ctx, nil, "web/node_modules/.bin/tsc", "-p", "web/client/tsconfig.types.json", "--outDir", types); err != nil {
		return err
	}
	text, err := os.ReadFile("web/client/package.json")
	if err != nil {
		return err
	}
	var about map[string]any
	if err := json.Unmarshal(text, &about); err != nil {
		return err
	}
	about["version"] = e.version
	delete(about, "private") // it keeps a checkout from being published by mistake
	delete(about, "scripts")
	delete(about, "devDependencies")
	if text, err = json.MarshalIndent(about, "", "  "); err != nil {
		return err
	}
	all := []file{{name: "package/package.json", mode: 0o644, text: append(text, '\n')}}
	add := func(name, from string) {
		if err == nil {
			text, err = os.ReadFile(from)
			all = append(all, file{name: "package/" + name, mode: 0o644, text: text})
		}
	}
	for _, name := range []string{"index.js", "metrics.js", "worker.js", "device.js", "store.js", "files.mjs", "README.md"} {
		add(name, filepath.Join("web/client", name))
	}
	add("LICENSE", "LICENSE")
	others, failed := e.licenses(ctx, inPages, "confetti-web")
	if failed != nil {
		return failed
	}
	all = append(all, file{name: "package/" + notices, mode: 0o644, text: others})
	add("confetti.wasm", filepath.Join(e.made, "web", "confetti.wasm"))
	add("wasm_exec.js", filepath.Join(e.made, "web", "wasm_exec.js"))
	entries, failed := os.ReadDir(types)
	if failed != nil {
		return failed
	}
	for _, entry := range entries {
		add("types/"+entry.Name(), filepath.Join(types, entry.Name()))
	}
	if err != nil {
		return err
	}
	slices.SortFunc(all, func(a, b file) int { return strings.Compare(a.name, b.name) })
	archive, err := tarred(e.at, all)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(e.out, e.client()), packed(archive), 0o644)
}

// client names the package for pages.
func (e edition) client() string { return "confetti-dp-client-" + e.version + ".tgz" }
