// Package commands parses the command line of a program that is a table of commands, runs the one that was asked
// for, and chooses the exit code. Used by cmd/confetti and cmd/internal/server.
package commands

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/internal/once"
	"github.com/confetti-dp/confetti/internal/sanitize"
	"github.com/confetti-dp/confetti/internal/strictjson"
)

// Program is a table of commands.
type Program struct {
	Name, About string
	// Table is a struct with a field for each command: a struct with a Run method, whose fields are
	// its flags.
	Table reflect.Type
	Vars  kong.Vars // what helps and enums of the table name
	// Others are commands that another program does, which this one starts.
	Others []string
	// Begin says what to try first, above the commands of the first group.
	Begin string
}

// Run parses args, runs the command, and returns the exit code.
func (p Program) Run(args []string, std terminal.Streams) int {
	code, exited := 0, false
	args = whole(args)
	parser := p.Parser(p.Only(args), std, func(c int) { code, exited = c, true })
	if len(args) == 0 {
		args = []string{"--help"}
	}
	ctx, err := parser.Parse(args)
	if exited {
		return code // --help or --version has printed
	}
	if err != nil {
		fmt.Fprintf(std.Err, "%s: %s\n", p.Name, sanitize.Lines(err.Error()))
		var e *kong.ParseError
		if errors.As(err, &e) {
			at := parser.Model.Node
			if chosen := e.Context.Selected(); chosen != nil {
				at = chosen
			}
			fmt.Fprintf(std.Err, "Try: %s --help\n", at.FullPath())
		}
		return 2
	}
	if err := ctx.Run(); err != nil {
		if e, is := errors.AsType[ended](err); is {
			return int(e)
		}
		fmt.Fprintf(std.Err, "%s: %s\n", p.Name, sanitize.Lines(err.Error()))
		var u terminal.UsageError
		if errors.As(err, &u) {
			return 2
		}
		if _, others := errors.AsType[terminal.UnfinishedError](err); others {
			return 3
		}
		return 1
	}
	return 0
}

// About returns the command that a line is about, without a help before it, and without what a shell asks before
// a command that it completes: "" where there is none.
func About(args []string) string {
	switch {
	case len(args) > 1 && args[0] == "help":
		return args[1]
	case len(args) > 3 && args[0] == "complete-words": // --, the command, a word
		if args[2] == "help" {
			return args[3]
		}
		return args[2]
	case len(args) > 0:
		return args[0]
	}
	return ""
}

// whole reads a number below zero behind a flag as the flag's: no flag's letter is a digit, and whoever takes the
// number says what is wrong with it.
func whole(args []string) []string {
	var all []string
	for i, a := range args {
		if a == "--" {
			return append(all, args[i:]...)
		}
		if _, err := strconv.ParseFloat(a, 64); err == nil && a[0] == '-' && i > 0 && strings.HasPrefix(args[i-1], "--") && !strings.Contains(args[i-1], "=") {
			all[len(all)-1] += "=" + a
			continue
		}
		all = append(all, a)
	}
	return all
}

// First is the group of commands that a newcomer begins with.
const First = "Start here"

// Names returns the commands of the table, in its order.
func (p Program) Names() (all []string) {
	for i := range p.Table.NumField() {
		if f := p.Table.Field(i); !f.Anonymous {
			all = append(all, strings.ToLower(f.Name))
		}
	}
	return all
}

// All returns the whole table, for Parser.
func (p Program) All() any { return reflect.New(p.Table).Interface() }

// Only returns the table with the one command that args begin with, or all of it if they begin
// with none: to read the flags of all commands takes longer than most take.
func (p Program) Only(args []string) any {
	for i := range p.Table.NumField() {
		f := p.Table.Field(i)
		if len(args) > 0 && !f.Anonymous && strings.ToLower(f.Name) == args[0] {
			version, _ := reflect.TypeFor[Common]().FieldByName("Flag")
			return reflect.New(reflect.StructOf([]reflect.StructField{within(f, args[1:]), version})).Interface()
		}
	}
	if len(args) > 0 && slices.Contains([]string{"help", "version", "completion", "complete-words"}, args[0]) {
		return new(Common)
	}
	return p.All()
}

// within leaves of a command's commands the one that args begin with, and of that one's the next. A command that does
// something itself, or has flags for its commands, keeps them all.
func within(f reflect.StructField, args []string) reflect.StructField {
	if len(args) == 0 || f.Type.Kind() != reflect.Struct || reflect.PointerTo(f.Type).NumMethod() > 0 {
		return f
	}
	var one []reflect.StructField
	for i := range f.Type.NumField() {
		c := f.Type.Field(i)
		if _, is := c.Tag.Lookup("cmd"); !is || c.Anonymous {
			return f
		}
		if name := c.Tag.Get("name"); name == args[0] || name == "" && strings.ToLower(c.Name) == args[0] {
			one = append(one, within(c, args[1:]))
		}
	}
	if len(one) == 1 {
		f.Type = reflect.StructOf(one)
	}
	return f
}

// Parser reads a table; exit is called after --help and --version.
func (p Program) Parser(table any, std terminal.Streams, exit func(code int)) *kong.Kong {
	parser, err := kong.New(table,
		kong.Name(p.Name),
		kong.Description(p.About),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		kong.Writers(std.Out, std.Err),
		kong.Exit(exit),
		kong.Bind(std, p),
		kong.ExplicitGroups([]kong.Group{{Key: First, Title: First, Description: p.Begin}}),
		once.Given(),
		kong.TypeMapper(reflect.TypeFor[time.Time](), kong.MapperFunc(moment)),
		kong.Vars{"version": std.Version, "program": p.Name}.CloneWith(p.Vars),
	)
	if err != nil {
		panic(p.Name + ": " + err.Error()) // a fault in the command structs themselves
	}
	for _, c := range parser.Model.Children {
		c.Detail = strings.ReplaceAll(c.Detail, "${program}", p.Name)
	}
	return parser
}

// moment reads a flag's time.
func moment(d *kong.DecodeContext, target reflect.Value) error {
	var text string
	if err := d.Scan.PopValueInto("time", &text); err != nil {
		return err
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return strictjson.Told(err)
	}
	target.Set(reflect.ValueOf(at))
	return nil
}
