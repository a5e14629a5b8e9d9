package main

import (
	"bytes"
	"context"
	"crypto/md5"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// pack is a package of a system: programs, units of services, and the users that they run as.
type pack struct {
	name, about string
	programs    []string
	units       []string // of deploy/systemd
	users       []string
}

var packs = []pack{
	{"confetti", "Ask, answer, look and verify; and run the roles that read", []string{"confetti", "confetti-server"},
		[]string{"confetti-analyzer.service", "confetti-analyzer-worker@.service", "confetti-issuer.service", "confetti-log.service", "confetti-console.service"},
		[]string{"confetti-analyzer", "confetti-issuer", "confetti-log", "confetti-console"}},
	{"confetti-shuffler", "A hop: mixes what it cannot read", []string{"confetti-shuffler", "confetti-shuffler-postgres"},
		[]string{"confetti-shuffler.service", "confetti-shuffler-worker@.service"}, []string{"confetti-shuffler"}},
	{"confetti-aggregator", "An aggregator: adds up shares that it cannot read", []string{"confetti-aggregator", "confetti-aggregator-postgres"},
		[]string{"confetti-leader.service", "confetti-helper.service"}, []string{"confetti-leader", "confetti-helper"}},
}

// maintainer is whom packages name.
const maintainer = "Confetti <confetti@example.org>"

// packages writes them for Debian and for RPM, for each processor of Linux.
func (e edition) packages(ctx context.Context) error {
	shells, err := e.completions(ctx)
	if err != nil {
		return err
	}
	for _, t := range e.targets {
		if t.os != "linux" {
			continue
		}
		for _, p := range packs {
			all, err := e.installed(ctx, t, p, shells)
			if err != nil {
				return err
			}
			for name, write := range map[string]func(target, pack, []file) ([]byte, error){
				p.name + "_" + e.version + "_" + t.arch + ".deb":                   e.deb,
				p.name + "-" + rpmVersion(e.version) + "-1." + rpmArch(t) + ".rpm": e.rpm,
			} {
				text, err := write(t, p, all)
				if err == nil {
					err = os.WriteFile(filepath.Join(e.out, name), text, 0o644)
				}
				if err != nil {
					return fmt.Errorf("%s: %w", name, err)
				}
			}
		}
	}
	return nil
}

// installed returns the files of a package where they lie, without the first slash.
func (e edition) installed(ctx context.Context, t target, p pack, shells []file) (all []file, err error) {
	add := func(name, from string, mode int64) {
		if err == nil {
			var text []byte
			text, err = os.ReadFile(from)
			all = append(all, file{name: name, mode: mode, text: text})
		}
	}
	for _, name := range p.programs {
		add("usr/bin/"+name, filepath.Join(e.folder(t), name), 0o755)
	}
	for _, name := range p.units {
		add("usr/lib/systemd/system/"+name, filepath.Join("deploy/systemd", name), 0o644)
	}
	add("usr/share/doc/"+p.name+"/copyright", "LICENSE", 0o644)
	others, failed := e.licenses(ctx, t, p.programs...)
	all, err = append(all, file{name: "usr/share/doc/" + p.name + "/" + notices, mode: 0o644, text: others}), errors.Join(err, failed)
	var users strings.Builder
	for _, name := range p.users {
		fmt.Fprintf(&users, "u %s - \"%s\" /var/lib/%s\n", name, p.about, name)
	}
	all = append(all, file{name: "usr/lib/sysusers.d/" + p.name + ".conf", mode: 0o644, text: []byte(users.String())})
	if p.name == "confetti" {
		for _, f := range shells {
			if to := map[string]string{"confetti.bash": "usr/share/bash-completion/completions/confetti", "confetti.fish": "usr/share/fish/vendor_completions.d/confetti.fish", "_confetti": "usr/share/zsh/vendor-completions/_confetti"}[path.Base(f.name)]; to != "" {
				all = append(all, file{name: to, mode: 0o644, text: f.text})
			}
		}
	}
	slices.SortFunc(all, func(a, b file) int { return strings.Compare(a.name, b.name) })
	return all, err
}

// deb returns a package for Debian: an ar of a form's number, control files and data, as deb(5) says.
func (e edition) deb(t target, p pack, all []file) ([]byte, error) {
	var sums strings.Builder
	size := 0
	data := []file{{name: "./", mode: 0o755}}
	for _, f := range withFolders(all) {
		size += len(f.text)
		if !f.folder() {
			fmt.Fprintf(&sums, "%x  %s\n", md5.Sum(f.text), f.name)
		}
		f.name = "./" + f.name
		data = append(data, f)
	}
	control := fmt.Sprintf("Package: %s\nVersion: %s\nArchitecture: %s\nMaintainer: %s\nInstalled-Size: %d\nSection: net\nPriority: optional\nHomepage: %s\nDescription: %s\n",
		p.name, strings.Replace(e.version, "-", "~", 1), t.arch, maintainer, (size+1023)/1024, home, p.about)
	var b bytes.Buffer
	b.WriteString("!<arch>\n")
	for _, part := range []struct {
		name string
		text func() ([]byte, error)
	}{
		{"debian-binary", func() ([]byte, error) { return []byte("2.0\n"), nil }},
		{"control.tar.gz", func() ([]byte, error) {
			text, err := tarred(e.at, []file{{name: "./", mode: 0o755}, {name: "./control", mode: 0o644, text: []byte(control)}, {name: "./md5sums", mode: 0o644, text: []byte(sums.String())}})
			return packed(text), err
		}},
		{"data.tar.gz", func() ([]byte, error) {
			text, err := tarred(e.at, data)
			return packed(text), err
		}},
	} {
		text, err := part.text()
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&b, "%-16s%-12d%-6d%-6d%-8s%-10d`\n", part.name, e.at.Unix(), 0, 0, "100644", len(text))
		b.Write(text)
		if len(text)%2 == 1 {
			b.WriteByte('\n')
		}
	}
	return b.Bytes(), nil
}
