package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

// faults are where a document departs from the schema of CycloneDX 1.6: what it
// requires, what it enumerates, and what must be one of a kind or lead somewhere.
func faults(text []byte) []string {
	var d document
	strict := json.NewDecoder(bytes.NewReader(text))
	strict.DisallowUnknownFields()
	if err := strict.Decode(&d); err != nil {
		return []string{err.Error()}
	}
	var all []string
	want := func(ok bool, fault string) {
		if !ok {
			all = append(all, fault)
		}
	}
	want(d.Format == "CycloneDX", "bomFormat")
	want(d.SpecVersion == "1.6", "specVersion")
	want(d.Version >= 1, "version")
	seen := map[string]bool{}
	for _, c := range append([]component{d.Metadata.Component}, d.Components...) {
		want(slices.Contains([]string{"application", "library"}, c.Type), c.Ref+": type")
		want(c.Name != "", c.Ref+": name")
		want(c.Ref != "" && !seen[c.Ref], c.Ref+": bom-ref is not one of a kind")
		seen[c.Ref] = true
		want(c.Type != "library" || packageURL.MatchString(c.PURL), c.Ref+": purl")
		for _, l := range c.Licenses {
			want((l.License.ID == "") != (l.License.Name == ""), c.Ref+": a license has an id or a name")
			want(l.License.ID == "" || slices.ContainsFunc(words, func(w wording) bool { return w.id == l.License.ID }), c.Ref+": not an identifier of SPDX")
		}
		for _, p := range c.Properties {
			want(p.Name != "", c.Ref+": property without a name")
		}
	}
	depends := map[string]bool{}
	for _, dep := range d.Dependencies {
		want(seen[dep.Ref] && !depends[dep.Ref], dep.Ref+": dependencies")
		depends[dep.Ref] = true
		for i, on := range dep.On {
			want(seen[on] && !slices.Contains(dep.On[:i], on), dep.Ref+": dependsOn "+on)
		}
	}
	return all
}

var packageURL = regexp.MustCompile(`^pkg:golang/[A-Za-z0-9._~/-]+@[A-Za-z0-9.+-]+$`)

// first returns the bill of this tree, which is written once for the tests that read it.
var first = sync.OnceValues(func() ([]byte, error) { return bill("../../..") })

// The bill has the form of its format, holds every module of every command with the
// hash of go.sum, and is the same each time.
func TestTheBillIsWhatItsFormatAsksFor(t *testing.T) {
	text, err := first()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range faults(text) {
		t.Error(f)
	}
	if again, err := bill("../../.."); err != nil || !bytes.Equal(text, again) {
		t.Errorf("a second bill is another one (%v)", err)
	}
	var d document
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	libraries, licensed := 0, 0
	for _, c := range d.Components {
		if c.Type != "library" || c.Name == "std" {
			continue
		}
		libraries++
		if len(c.Properties) == 0 || c.Properties[0].Name != "go.sum" || !strings.HasPrefix(c.Properties[0].Value, "h1:") {
			t.Errorf("%s has no hash", c.Ref)
		}
		if c.Licenses[0].License.ID != "" {
			licensed++
		}
	}
	if libraries < 30 || licensed < libraries*3/4 {
		t.Errorf("of %d modules the licences of %d are identified", libraries, licensed)
	}
	// A believed program is made of fewer modules than the one with every role, of none that it alone has, and the
	// aggregator's plain build of no database.
	of := map[string][]string{}
	for _, dep := range d.Dependencies {
		if _, command, ours := strings.Cut(dep.Ref, "/cmd/"); ours {
			of[command] = dep.On
		}
	}
	whole := of["confetti-server"]
	for _, believed := range []string{"confetti-shuffler", "confetti-aggregator"} {
		if own := of[believed]; len(of) != len(commands) || len(own) == 0 || len(own) >= len(whole) {
			t.Errorf("%d programs, of %d and %d modules", len(of), len(own), len(whole))
		}
		for _, m := range of[believed] {
			if !slices.Contains(whole, m) || believed == "confetti-aggregator" && strings.Contains(m, "pgx") {
				t.Errorf("%s has %s in it", believed, m)
			}
		}
	}
}

// Each thing that the format asks for is missed where it is not there.
func TestABadBillIsCaught(t *testing.T) {
	text, err := first()
	if err != nil {
		t.Fatal(err)
	}
	for old, with := range map[string]string{
		`"bomFormat": "CycloneDX"`:   `"bomFormat": "other"`,
		`"specVersion": "1.6"`:       `"specVersion": "9"`,
		`"version": 1,`:              `"version": 0,`,
		`"type": "library"`:          `"type": "thing"`,
		`"name": "std"`:              `"name": ""`,
		`"purl": "pkg:golang/`:       `"purl": "golang/`,
		`"id": "MIT"`:                `"id": "mit"`,
		`"acknowledgement"`:          `"acknowledged"`,
		`"ref": "github.com/`:        `"ref": "hub.com/`,
		`"bom-ref": "pkg:golang/std`: `"bom-ref": "pkg:golang/sdt`,
	} {
		bad := strings.Replace(string(text), old, with, 1)
		if bad == string(text) || len(faults([]byte(bad))) == 0 {
			t.Errorf("%s in the place of %s is not noticed", with, old)
		}
	}
}

func TestAModuleThatIsNotInGoSumIsNoBill(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "go.sum")
	if err := os.WriteFile(path, []byte("a.b/c v1.0.0 h1:x=\na.b/c v1.0.0/go.mod h1:y=\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	sums, err := readSums(path)
	if err != nil || sums["a.b/c v1.0.0"] != "h1:x=" || sums["a.b/c v1.0.0/go.mod"] != "h1:y=" {
		t.Errorf("%v %v", sums, err)
	}
	if err := os.WriteFile(path, []byte("a.b/c v1.0.0\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := readSums(path); err == nil {
		t.Error("a line without a hash is taken")
	}
}

func TestLicencesAreToldApart(t *testing.T) {
	const bsd = "Redistribution and use in source and binary\nforms, with or without modification, are permitted"
	const mit = "Permission is hereby granted, free of charge, to any person obtaining a copy\nof this ... The above copyright notice and this permission notice shall be included"
	for text, want := range map[string]string{
		bsd: "BSD-2-Clause",
		bsd + " ... may be used to endorse or promote products derived from this": "BSD-3-Clause",
		bsd + " ... All advertising materials mentioning":                         unknown, // of four clauses
		mit:              "MIT",
		mit + "\n" + bsd: unknown, // two in one
		"Apache License\n   Version 2.0, January 2004 ... 3. Grant of Patent License.":             "Apache-2.0",
		"Licensed under the Apache License":                                                        unknown, // a mention
		"Mozilla Public License Version 2.0":                                                       "MPL-2.0",
		"Permission to use, copy, modify, and/or distribute this software for any purpose with or": "ISC",
		"": unknown,
	} {
		if got := identify(text); got != want {
			t.Errorf("%.40q: %s, want %s", text, got, want)
		}
	}
	dir := t.TempDir()
	for name, text := range map[string]string{"LICENSE.txt": mit, "NOTICE": "n", "LICENSE-OTHER": bsd, "main.go": ""} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	id, others, err := licenseOf(dir)
	if err != nil || id != "MIT" || !slices.Equal(others, []string{"LICENSE-OTHER", "NOTICE"}) {
		t.Errorf("%s %v %v", id, others, err)
	}
}
