// Package literature has printed bounds by their published names, to compare with. Each enforces
// the domain that it was proved for. Those that something shipped uses are in package theorems.
package literature
