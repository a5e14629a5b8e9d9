// Package kmeans makes clusters of private records, and says how many clusters symbols can be told in.
// Measurements of learning to noise use it.
package kmeans
