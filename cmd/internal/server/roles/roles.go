// Package roles implements confetti-server serve and analyzer: each role as a service, and its backups. Used by
// cmd/internal/server for operators, and by cmd/internal/server/up.
package roles

import (
	"errors"
	"path/filepath"

	"github.com/confetti-dp/confetti/cmd/internal/daemon"
	"github.com/confetti-dp/confetti/internal/audit"
	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/internal/dap"
	"github.com/confetti-dp/confetti/internal/service/aggregated"
	"github.com/confetti-dp/confetti/internal/service/analyzerd"
	"github.com/confetti-dp/confetti/internal/service/issuer"
	"github.com/confetti-dp/confetti/internal/service/planlog"
	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/service/shelves"
	"github.com/confetti-dp/confetti/internal/service/shufflerd"
	"github.com/confetti-dp/confetti/internal/service/shufflerd/rows"
	"github.com/confetti-dp/confetti/internal/storage/keep/postgres"
	"github.com/confetti-dp/confetti/plan"
)

type Serve struct {
	Shuffler serveShuffler `cmd:"" help:"Mix: take contributions and batches, and hand them on unlinkable."`
	Analyzer serveAnalyzer `cmd:"" help:"Count batches and publish releases."`
	Issuer   serveIssuer   `cmd:"" help:"Sign single-use tokens, one for a respondent and hop."`
	Log      serveLog      `cmd:"" help:"Keep a public log of signed plans, so that everybody is shown the same."`
	Leader   serveLeader   `cmd:"" help:"Add up answers that arrive in shares: take them from devices, and have the helper verify them."`
	Helper   serveHelper   `cmd:"" help:"Add up answers that arrive in shares: verify what the leader brings."`
	Example  serveExample  `cmd:"" help:"Print a role's configuration, with every setting and what it is for."`
	Console  serveConsole  `cmd:"" help:"Show collections, releases and services in a browser."`
}

// configFlags are those of every service.
type configFlags struct{ daemon.Flags }

// run reads the configuration into c, and checks or runs it.
func (f configFlags) run(std terminal.Streams, c daemon.Service) error {
	err := f.Start(c, std.Out, std.Err)
	if _, ok := errors.AsType[*daemon.ConfigError](err); ok {
		return terminal.Usage(err)
	}
	return err
}

type serveShuffler struct {
	configFlags
	SetAside bool `help:"Go on without what is damaged in the folder or database, for good, say what it was, and end." xor:"as"`
	Worker   bool `help:"Take steps of the mixing of large crowds, beside the shuffler of the same configuration." xor:"as"`
}

func (serveShuffler) Help() string {
	return "Example:\n  confetti-server serve shuffler --config shuffler.toml --check"
}

func (c serveShuffler) Run(std terminal.Streams) error {
	if c.Worker {
		return c.run(std, &shufflerd.Worker{Config: shuffler()})
	}
	if c.SetAside {
		return c.run(std, &shufflerd.SetAside{Config: shuffler()})
	}
	config := shuffler()
	return c.run(std, &config)
}

type serveAnalyzer struct {
	configFlags
	Worker bool `help:"Count shards of large batches, beside the analyzer of the same configuration."`
}

func (serveAnalyzer) Help() string {
	return "Example:\n  confetti-server serve analyzer --config analyzer.toml --check"
}

func (c serveAnalyzer) Run(std terminal.Streams) error {
	if c.Worker {
		return c.run(std, &analyzerd.Worker{})
	}
	return c.run(std, theAnalyzer(std.Version))
}

// theAnalyzer writes this program's version into its releases.
func theAnalyzer(version string) *analyzerd.Config {
	return &analyzerd.Config{Program: analyzerd.Program{Software: version, Attack: attack}}
}

// attack returns the audit of a plan, for its release.
func attack(p plan.Plan, state []byte) ([]byte, error) {
	found := audit.Of(p, state, func(string, int, int) {})
	return found.Marshal(), found.False()
}

type serveIssuer struct{ configFlags }

func (serveIssuer) Help() string {
	return "Example:\n  confetti-server serve issuer --config issuer.toml --check"
}

func (c serveIssuer) Run(std terminal.Streams) error { return c.run(std, theIssuer()) }

type serveLog struct{ configFlags }

func (serveLog) Help() string {
	return "Example:\n  confetti-server serve log --config log.toml --check"
}

func (c serveLog) Run(std terminal.Streams) error { return c.run(std, theLog()) }

type serveLeader struct {
	configFlags
	byFiles
	Worker bool `help:"Add up shards of plans that have closed, beside the leader of the same configuration." xor:"as"`
}

// byFiles gives --files to aggregators without a network between them.
type byFiles struct {
	Files string `help:"Count what has closed without a network to the other aggregator, by files in this folder, and end: docs/scale-counting.md." type:"path" placeholder:"DIR" xor:"as"`
}

// aggregator returns the service of a role.
func (f byFiles) aggregator(role dap.Role) daemon.Service {
	if f.Files != "" {
		return &aggregated.Files{Config: *aggregator(role), Folder: f.Files}
	}
	return aggregator(role)
}

func (serveLeader) Help() string {
	return "Example:\n  confetti-server serve leader --config leader.toml --check"
}

func (c serveLeader) Run(std terminal.Streams) error {
	if c.Worker {
		return c.run(std, &aggregated.Worker{Config: *aggregator(dap.Leader)})
	}
	return c.run(std, c.aggregator(dap.Leader))
}

type serveHelper struct {
	configFlags
	byFiles
}

func (serveHelper) Help() string {
	return "Example:\n  confetti-server serve helper --config helper.toml --check"
}

func (c serveHelper) Run(std terminal.Streams) error {
	return c.run(std, c.aggregator(dap.Helper))
}

// shuffler returns one whose shelves may lie in PostgreSQL.
func shuffler() shufflerd.Config { return shufflerd.Config{Connect: postgres.Start} }

// theIssuer returns one whose shelves may lie in PostgreSQL.
func theIssuer() *issuer.Config {
	return &issuer.Config{Server: shelves.Server{Connect: postgres.Start}}
}

// theLog returns one whose shelves may lie in PostgreSQL.
func theLog() *planlog.Config {
	return &planlog.Config{Server: shelves.Server{Connect: postgres.Start}}
}

// aggregator returns one whose shelves may lie in PostgreSQL.
func aggregator(role dap.Role) *aggregated.Config {
	return &aggregated.Config{Role: role, Place: shelves.Place{Server: shelves.Server{Connect: postgres.Start}}}
}

// Where a role keeps things whose configuration a command writes, beside that.
const (
	MarksFolder   = "marks"   // of an issuer
	ShelvesFolder = "shelves" // of aggregators and analyzers
	QueueFolder   = "queue"   // of shufflers
)

// Make makes what a role keeps things in, without which it would not start, in the folder of a
// party whose keys were just made.
func Make(role, folder string) error {
	switch role {
	case "issuer":
		return issuer.Make(filepath.Join(folder, MarksFolder))
	case "shuffler":
		return rows.Make(filepath.Join(folder, QueueFolder))
	case "leader", "helper", "analyzer":
		return shelves.Make(filepath.Join(folder, ShelvesFolder))
	}
	return nil
}

// Load reads the configuration of a role, shuffler, leader, helper, analyzer or issuer, as
// serve does.
func Load(role, path, version string) (daemon.Service, error) {
	var c daemon.Service
	switch role {
	case "shuffler":
		config := shuffler()
		c = &config
	case "analyzer":
		c = theAnalyzer(version)
	case "issuer":
		c = theIssuer()
	case "leader":
		c = aggregator(dap.Leader)
	case "helper":
		c = aggregator(dap.Helper)
	}
	return c, serve.ReadConfig(path, c)
}
