// Package datasets reads public data sets that only measurements use: populations, texts, loans and vectors of
// words. Used by lab/esa, lab/kde, lab/learn and lab/ltn.
package datasets
