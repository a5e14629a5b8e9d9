// Package releasetest publishes what a test has counted. Used by tests of release/verify,
// internal/release/trend, internal/service/console, simulate and cmd/confetti.
package releasetest

import (
	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/release/results"
	"github.com/confetti-dp/confetti/party/analyzer"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/release"
)

// Publish learns from counted crowds and returns their release with its words, as an analyzer does.
func Publish(p *protocol.Protocol, crowds []tally.Crowd, public results.Public) (r release.Release, model question.Model, err error) {
	if model, err = p.Learn(crowds); err != nil {
		return r, nil, err
	}
	if r, err = analyzer.Numbers(p, model, crowds, public); err != nil {
		return r, model, err
	}
	return r, model, analyzer.Write(p, &r)
}
