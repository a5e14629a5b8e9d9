package main

// The part of CycloneDX 1.6 that is written, in the order of its schema.

type document struct {
	Format      string `json:"bomFormat"`
	SpecVersion string `json:"specVersion"`
	Version     int    `json:"version"`
	Metadata    struct {
		Component component `json:"component"`
	} `json:"metadata"`
	Components   []component  `json:"components"`
	Dependencies []dependency `json:"dependencies"`
}

type component struct {
	Type       string     `json:"type"`
	Ref        string     `json:"bom-ref"`
	Name       string     `json:"name"`
	Version    string     `json:"version,omitempty"`
	Licenses   []choice   `json:"licenses,omitempty"`
	PURL       string     `json:"purl,omitempty"`
	Properties []property `json:"properties,omitempty"`
}

type choice struct {
	License license `json:"license"`
}

// license has an identifier of SPDX, or else a name.
type license struct {
	ID              string `json:"id,omitempty"`
	Name            string `json:"name,omitempty"`
	Acknowledgement string `json:"acknowledgement,omitempty"`
}

// property go.sum is the hash of a module's files as go.sum has it: of the list of
// their names and hashes, which is not the hash of any one file.
type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type dependency struct {
	Ref string   `json:"ref"`
	On  []string `json:"dependsOn,omitempty"`
}

// library returns the component of a Go module. A package URL and a name for references
// are the same text.
func library(path, version string) component {
	purl := "pkg:golang/" + path + "@" + version
	return component{Type: "library", Ref: purl, Name: path, Version: version, PURL: purl}
}
