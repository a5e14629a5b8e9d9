// Package measure drafts plans of simulated collections and measures how far their answers are from the truth. Used
// by internal/simulate/collection, cmd/confetti/internal/collect and lab.
package measure
