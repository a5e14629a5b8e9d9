// Package metrics implements confetti metrics: from what a team declares in its app's repository to a signed registry,
// typed code, a view of one device and a public page. Used by cmd/confetti, for developers of apps.
package metrics

// Command is a step each, in the order of a release of an app.
type Command struct {
	Check  check  `cmd:"" help:"Say what changes for a person, and what an installation pays; refuse a rise that nobody reviewed."`
	Sign   sign   `cmd:"" help:"Sign the coming seasons, and the registry that the app embeds."`
	Code   code   `cmd:"" help:"Write typed calls for the app, or find that they are of another registry."`
	Device device `cmd:"" help:"Show what the app keeps on this machine, by what chance it would be told, and what was said."`
	Page   page   `cmd:"" help:"Write the public page: what is asked, why, until when, and what it costs."`
}
