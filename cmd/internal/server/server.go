// Package server lists the commands of operators: every role as a service, a trial of all of them, and what is asked
// of services. Used by cmd/confetti-server, and by tests of cmd/confetti.
package server

import (
	"reflect"

	"github.com/confetti-dp/confetti/cmd/internal/commands"
	"github.com/confetti-dp/confetti/cmd/internal/server/count"
	"github.com/confetti-dp/confetti/cmd/internal/server/operate"
	"github.com/confetti-dp/confetti/cmd/internal/server/parquet"
	"github.com/confetti-dp/confetti/cmd/internal/server/party"
	"github.com/confetti-dp/confetti/cmd/internal/server/planlog"
	"github.com/confetti-dp/confetti/cmd/internal/server/roles"
	"github.com/confetti-dp/confetti/cmd/internal/server/token"
	"github.com/confetti-dp/confetti/cmd/internal/server/up"
	_ "github.com/confetti-dp/confetti/question/all"
)

// table lists every command.
type table struct {
	Up       up.Command      `cmd:"" group:"Start here" help:"Try everything on this machine: services, tokens, a plan to answer."`
	Serve    roles.Serve     `cmd:"" group:"Run a service" help:"Run a service."`
	Party    party.Command   `cmd:"" group:"Run a service" help:"What an organisation makes for its role, and takes of the others'."`
	Token    token.Command   `cmd:"" group:"Run a service" help:"Bearer tokens, by which services tell who asks."`
	Top      operate.Top     `cmd:"" group:"Look after it" help:"Say what services tell their operator."`
	Alarms   operate.Alarms  `cmd:"" group:"Look after it" help:"What services want looked at, and that it has been."`
	Log      planlog.Command `cmd:"" group:"The public log" help:"The public log of plans, by which everybody is shown the same."`
	Count    count.Command   `cmd:"" group:"Beside others" help:"Count a batch that lies in parts, as a worker of an engine that others run."`
	Analyzer roles.Analyzer  `cmd:"" group:"Look after it" help:"Back an analyzer up, and restore it."`
	Parquet  parquet.Command `cmd:"" group:"Beside others" help:"Tables as Parquet, which are read and written for confetti."`

	commands.Common
}

// Program is confetti-server.
var Program = commands.Program{
	Name:  "confetti-server",
	About: "Run the services of a collection. What people run (ask, answer, look, verify) is confetti.",
	Table: reflect.TypeFor[table](),
	Begin: "confetti-server up trial runs everything on this machine, and prints what to type next.",
}
