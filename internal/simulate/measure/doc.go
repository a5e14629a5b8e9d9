// Package measure drafts plans of simulated collections, and says how far their answers are from the
// truth: errors of counts, accuracies, and what the records allow without any privacy. The
// commands that simulate use it, and the lab.
package measure
