package account

// Hooks has a field for each hook. The accountant finds hooks by assertion, so that a method
// whose signature changes would be passed over in silence, and with it what it charges. Each
// mechanism's package therefore puts its events into the fields of theirs, which compiles
// only while they have the hooks; TestEveryEventHasItsHooks holds who must have which.
type Hooks struct {
	Profile       profiler
	Distributions plder
	Lattice       latticed
	Renyi         rdper
	Reduce        reducer
	Certificate   certifier
	Together      joiner
	Losses        sender
	Opened        openable
	BesideMessage companion
	Dominated     dominator
	Replaced      replaceable
}
