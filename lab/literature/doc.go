// Package literature computes printed bounds by their published names, each within the domain that it was proved
// for. Used by lab/esa, lab/ldc, lab/papers and lab/sgd, to compare with.
package literature
