// Command confetti-lab trains features, clusters and encoders on public records, and makes the papers' measurements
// again. Used by authors of plans that name what is trained and by researchers, and by no collection.
package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/confetti-dp/confetti/internal/cli/flags"
	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/internal/once"
	"github.com/confetti-dp/confetti/internal/sanitize"
	"github.com/confetti-dp/confetti/internal/table"
	"github.com/confetti-dp/confetti/internal/table/columnar"
	"github.com/confetti-dp/confetti/lab/cmd/confetti-lab/advise"
	"github.com/confetti-dp/confetti/lab/cmd/confetti-lab/experiment"
	"github.com/confetti-dp/confetti/lab/cmd/confetti-lab/train"
	"github.com/confetti-dp/confetti/lab/crosstabs"
	"github.com/confetti-dp/confetti/lab/heavy"
	_ "github.com/confetti-dp/confetti/question/all"
)

// cli lists every command: those that train on what is public, and measurements.
type cli struct {
	Advise   advise.Command `cmd:"" help:"Compare protocols for a collection: error, cost, privacy; and say which to take."`
	Features train.Features `cmd:"" help:"What models learn from."`
	Clusters train.Clusters `cmd:"" help:"Groups of what is public, in which private labels are counted."`
	Encoder  train.Encoder  `cmd:"" help:"Train an encoder of public records, by whose code devices tell theirs with noise."`
	Audit    train.Audit    `cmd:"" help:"Attack training with noise, and print the epsilon found beside the one claimed."`
	experiment.Command
}

func main() {
	table.Parquet = columnar.Open
	os.Exit(run(os.Args[1:], terminal.Streams{Out: os.Stdout, Err: os.Stderr}))
}

// run is main without the process: it returns the exit code.
func run(args []string, std terminal.Streams) int {
	code, exited := 0, false
	parser := newParser(std, func(c int) { code, exited = c, true })
	if len(args) == 0 {
		args = []string{"--help"}
	}
	ctx, err := parser.Parse(args)
	if exited {
		return code
	}
	failed := 2
	if err == nil {
		failed, err = 1, ctx.Run()
	}
	if err == nil {
		return 0
	}
	fmt.Fprintf(std.Err, "confetti-lab: %s\n", sanitize.Lines(err.Error()))
	if u := (terminal.UsageError{}); errors.As(err, &u) {
		failed = 2
	}
	return failed
}

// newParser reads the command structs; exit is called after --help.
func newParser(std terminal.Streams, exit func(code int)) *kong.Kong {
	parser, err := kong.New(&cli{},
		kong.Name("confetti-lab"),
		kong.Description("What is trained on public records, and the papers' measurements."),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		kong.Writers(std.Out, std.Err),
		kong.Exit(exit),
		kong.Bind(std),
		once.Given(),
		kong.Vars{"strings": strings.Join(heavy.Populations(), ", "), "tables": strings.Join(crosstabs.Populations(), ", "), "kernels": flags.KernelNames(), "bitsums": flags.BitsumNames(), "populations": strings.Join(experiment.Populations(), ", "), "learnable": experiment.Learnable(), "labelled": experiment.Labelled()},
	)
	if err != nil {
		panic("confetti-lab: " + err.Error()) // a fault in the command structs themselves
	}
	return parser
}
