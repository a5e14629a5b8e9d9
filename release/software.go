package release

import "runtime/debug"

// version is that of a released program, which its build sets.
var version string

// Software returns the name of this program with the module version or the commit that it was built from, as a
// release has it in its provenance.
func Software() string {
	if version != "" {
		return "confetti " + version
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "confetti (unknown build)"
	}
	v := info.Main.Version
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && (v == "" || v == "(devel)") {
			v = "devel " + s.Value[:min(12, len(s.Value))]
		}
	}
	if v == "" {
		v = "devel"
	}
	return "confetti " + v
}
