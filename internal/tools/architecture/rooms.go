package architecture

import "strings"

// rooms are the boxes of the picture, each with the folders that it stands for. A folder that
// no room has is a room of its own.
var rooms = []struct {
	name  string
	holds []string
}{
	{"plan", []string{"plan", "internal/plan"}},
	{"account", []string{"account", "internal/account"}},
	{"envelope", []string{"envelope", "internal/envelope"}},
	{"question", []string{"question", "internal/question"}},
	{"protocol", []string{"protocol"}},
	{"client", []string{"client", "internal/client"}},
	{"party/shuffler", []string{"party/shuffler", "internal/shuffler"}},
	{"party/aggregator", []string{"party/aggregator"}},
	{"party/analyzer", []string{"party/analyzer", "internal/analyzer/parts"}},
	{"release", []string{"release", "internal/release/numerals", "internal/release/sheets", "internal/release/pagemarks"}},
	{"release/verify", []string{"release/verify"}},
	{"simulate", []string{"simulate", "internal/simulate"}},
	{"cmd/confetti", []string{"cmd/confetti"}},
	{"cmd/confetti-server", []string{"cmd/confetti-server", "cmd/internal/server"}},
	{"cmd/internal/{plans, services, ...}", []string{"cmd/internal", "internal/cli"}},
	{"cmd/internal/daemon", []string{"cmd/internal/daemon"}},
	{"internal/release", []string{"internal/release"}},
	{"internal/dp", []string{"internal/dp"}},
	{"internal/dp/{noise, sum}", []string{"internal/dp/noise", "internal/dp/sum"}},
	{"internal/dp/sum/sumprivacy", []string{"internal/dp/sum/sumprivacy"}},
	{"internal/learn", []string{"internal/learn"}},
	{"internal/audit", []string{"internal/audit"}},
	{"internal/audit/report", []string{"internal/audit/report"}},
	{"internal/{wire, token, dap}", []string{"internal/wire", "internal/token", "internal/dap"}},
	{"internal/storage", []string{"internal/storage/keep", "internal/storage/blob"}},
	{"internal/service/{serve, registry, ...}", []string{"internal/service/serve", "internal/service/registry", "internal/service/session", "internal/keyfile/partykey"}},
	{"internal/service/shufflerd", []string{"internal/service/shufflerd", "internal/service/inbox"}},
	{"internal/service/{transfer, witness}", []string{"internal/service/transfer", "internal/service/witness"}},
	{"internal/service/analyzerd", []string{"internal/service/analyzerd", "internal/analyzer/shards"}},
	{"internal/service/issuer", []string{"internal/service/issuer"}},
	{"internal/{table, dataset}", []string{"internal/table", "internal/dataset"}},
	{"internal/{rng, prob, clock, ...}", []string{
		"internal/rng", "internal/prob", "internal/clock", "internal/floats", "internal/kernel", "internal/sanitize", "internal/strictjson", "internal/seeded",
		"internal/keyfile", "internal/prio3", "internal/x25519", "internal/nn", "internal/storage/atomicfile", "internal/storage/hashchain",
	}},
}

// roomOf returns the room of a package: that of the nearest folder above it which has one, and
// otherwise the package itself, or the one whose internal part it is.
func roomOf(pkg string) string {
	name, _, _ := strings.Cut(pkg, "/internal/")
	longest := 0
	for _, r := range rooms {
		for _, folder := range r.holds {
			if len(folder) > longest && (pkg == folder || strings.HasPrefix(pkg, folder+"/")) {
				name, longest = r.name, len(folder)
			}
		}
	}
	return name
}

// byRoom returns what each room imports of others.
func byRoom(found Imports) Imports {
	whole := Imports{}
	for pkg, imports := range found {
		name := roomOf(pkg)
		whole[name] = append(whole[name], []string{}...)
		for _, to := range imports {
			if _, ours := found[to]; ours && roomOf(to) != name {
				whole[name] = append(whole[name], roomOf(to))
			}
		}
	}
	return whole
}
