// Package kmeans makes clusters of private records, and computes how many clusters symbols can be told in. Used by
// lab/ltn.
package kmeans
