// Package datasets reads public data sets that only measurements use: populations, texts, loans and
// vectors of words.
package datasets
