package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// unknown stands where a licence is not one of those that are told apart.
const unknown = "NOASSERTION"

// wording is what the text of a licence has, and what it has not.
type wording struct {
	id       string // of SPDX
	has, not []string
}

var words = []wording{
	{id: "Apache-2.0", has: []string{"apache license version 2.0, january 2004", "grant of patent license"}},
	{id: "MPL-2.0", has: []string{"mozilla public license version 2.0"}},
	{id: "MIT", has: []string{"permission is hereby granted, free of charge, to any person obtaining a copy", "the above copyright notice and this permission notice"}},
	{id: "ISC", has: []string{"permission to use, copy, modify, and/or distribute this software for any purpose"}},
	{id: "BSD-3-Clause", has: []string{"redistribution and use in source and binary forms", "endorse or promote products derived from"}, not: []string{"all advertising materials"}},
	{id: "BSD-2-Clause", has: []string{"redistribution and use in source and binary forms"}, not: []string{"endorse or promote", "all advertising materials"}},
}

// identify returns the SPDX identifier of a licence by its text. A text that is none of
// those we know, or holds several, is unknown: somebody has to read it.
func identify(text string) string {
	text = strings.Join(strings.Fields(strings.ToLower(text)), " ")
	found := unknown
	for _, w := range words {
		in := func(s string) bool { return strings.Contains(text, s) }
		if !slices.ContainsFunc(w.has, func(s string) bool { return !in(s) }) && !slices.ContainsFunc(w.not, in) {
			if found != unknown {
				return unknown
			}
			found = w.id
		}
	}
	return found
}

// licenseOf identifies the licence of a module by the file that has its name in its
// folder, and lists the other files that speak of licences there.
func licenseOf(dir string) (id string, others []string, err error) {
	files, err := os.ReadDir(dir)
	if err != nil {
		return "", nil, err
	}
	id = unknown
	for _, f := range files {
		name := strings.ToLower(f.Name())
		base := strings.TrimSuffix(strings.TrimSuffix(name, ".md"), ".txt")
		switch {
		case f.IsDir():
		case slices.Contains([]string{"license", "licence", "copying"}, base) && id == unknown:
			text, err := os.ReadFile(filepath.Join(dir, f.Name()))
			if err != nil {
				return "", nil, err
			}
			id = identify(string(text))
		case strings.HasPrefix(name, "licen") || strings.HasPrefix(name, "copying") || strings.HasPrefix(name, "notice"):
			others = append(others, f.Name())
		}
	}
	return id, others, nil
}
