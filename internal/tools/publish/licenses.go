package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	module "github.com/confetti-dp/confetti/internal/webmodule"
)

// notices is the file with what one must say of others' code, beside what is built of it.
const notices = "LICENSES-of-others"

// licenseFile matches the names of files with licences and notices.
var licenseFile = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|patents)(\.(md|txt))?$`)

// licensesIn returns the licences and notices in a folder of others' code, and refuses a folder without any.
func licensesIn(name, dir string) (text string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}
	for _, entry := range entries {
		if entry.IsDir() || !licenseFile.MatchString(entry.Name()) {
			continue
		}
		b, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		if err != nil {
			return "", err
		}
		text += fmt.Sprintf("==== %s: %s\n\n%s\n\n", name, entry.Name(), strings.TrimSpace(string(b)))
	}
	if text == "" {
		return "", fmt.Errorf("%s has no licence beside its code: nobody may publish it", name)
	}
	return text, nil
}

// inPages is where the modules are for that programs have in themselves.
var inPages = target{"js", "wasm"}

// source is where a package lies: in a module of others with its folder, or in ours.
type source struct {
	module, dir string
	deps        []string // of a program
}

// listed returns the packages of what is built for a platform, by their import paths. It asks once.
func (e edition) listed(ctx context.Context, t target, c bool) (map[string]source, error) {
	key := fmt.Sprint(t, c)
	if all, there := e.lists[key]; there {
		return all, nil
	}
	env, args := []string{"GOOS=" + t.os, "GOARCH=" + t.arch}, []string{"list", "-deps", "-f", "{{.ImportPath}}\t{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}}\t{{.Dir}}{{else}}\t{{end}}{{else}}\t{{end}}\t{{if eq .Name \"main\"}}{{join .Deps \" \"}}{{end}}"}
	switch {
	case c:
		env, args = append(env, "CGO_ENABLED=1"), append(args, "-tags=libconfetti", "./cmd/libconfetti")
	case t == inPages:
		args = slices.AppendSeq(args, maps.Values(module.Inside))
	default:
		for _, name := range programs {
			args = append(args, "./cmd/"+name)
		}
	}
	out, err := e.tool(ctx, env, "go", args...)
	if err != nil {
		return nil, err
	}
	all := map[string]source{}
	for line := range strings.Lines(string(out)) {
		if f := strings.Split(strings.TrimSuffix(line, "\n"), "\t"); len(f) == 4 {
			all[f[0]] = source{f[1], f[2], strings.Fields(f[3])}
		}
	}
	e.lists[key] = all
	return all, nil
}

// licenses returns the licences of all code of others that programs of a platform are built of, and the modules in them: Go's,
// those of modules, and those of what is copied to internal/third_party. A name is that of a folder in cmd.
func (e edition) licenses(ctx context.Context, t target, names ...string) ([]byte, error) {
	const commands, withModules = "github.com/confetti-dp/confetti/cmd/", "github.com/confetti-dp/confetti/internal/webmodule"
	root, err := e.tool(ctx, nil, "go", "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	folders := map[string]string{"Go": strings.TrimSpace(string(root))}
	var add func(t target, program string, c bool) error
	add = func(t target, program string, c bool) error {
		all, err := e.listed(ctx, t, c)
		if err != nil {
			return err
		}
		of, there := all[program]
		if !there {
			return fmt.Errorf("%s is not among what is built for %s/%s", program, t.os, t.arch)
		}
		if slices.Contains(of.deps, withModules) {
			for _, inside := range module.Inside {
				if err := add(inPages, inside, false); err != nil {
					return err
				}
			}
		}
		for _, path := range of.deps {
			if of := all[path]; of.module != "" {
				folders[of.module] = of.dir
			}
			if _, copied, is := strings.Cut(path, "/internal/third_party/"); is {
				name, _, _ := strings.Cut(copied, "/")
				folders[name+", copied"] = filepath.Join("internal", "third_party", name)
			}
		}
		return nil
	}
	for _, name := range names {
		err = errors.Join(err, add(t, commands+name, name == "libconfetti"))
	}
	var all strings.Builder
	for _, name := range slices.SortedFunc(maps.Keys(folders), func(a, b string) int { return cmp.Compare(strings.ToLower(a), strings.ToLower(b)) }) {
		text, failed := licensesIn(name, folders[name])
		err = errors.Join(err, failed)
		all.WriteString(text)
	}
	return []byte(all.String()), err
}
