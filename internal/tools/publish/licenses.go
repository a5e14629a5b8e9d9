package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

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

// licenses returns the licences of all code of others that a package is built of: Go's, those of modules, and those of what
// is copied to internal/third_party. Flags are those of the build.
func (e edition) licenses(ctx context.Context, env []string, flags ...string) ([]byte, error) {
	root, err := e.tool(ctx, nil, "go", "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	const form = "{{.ImportPath}}\t{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}}\t{{.Dir}}{{end}}{{end}}"
	listed, err := e.tool(ctx, env, "go", append([]string{"list", "-deps", "-f", form}, flags...)...)
	if err != nil {
		return nil, err
	}
	folders := map[string]string{"Go": strings.TrimSpace(string(root))}
	for line := range strings.Lines(string(listed)) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(fields) == 3 {
			folders[fields[1]] = fields[2]
		}
		if _, copied, is := strings.Cut(fields[0], "/internal/third_party/"); is {
			name, _, _ := strings.Cut(copied, "/")
			folders[name+", copied"] = filepath.Join("internal", "third_party", name)
		}
	}
	var all strings.Builder
	for _, name := range slices.SortedFunc(maps.Keys(folders), func(a, b string) int { return cmp.Compare(strings.ToLower(a), strings.ToLower(b)) }) {
		text, err := licensesIn(name, folders[name])
		if err != nil {
			return nil, err
		}
		all.WriteString(text)
	}
	return []byte(all.String()), nil
}
