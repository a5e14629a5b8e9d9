package commands

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/confetti-dp/confetti/internal/cli/terminal"
)

// Common is what each table has beside its own commands.
type Common struct {
	Flag       kong.VersionFlag `name:"version" help:"Print the version."`
	Help       help             `cmd:"" group:"About this program" help:"Say what a command does, with an example."`
	Version    version          `cmd:"" group:"About this program" help:"Say which version this is, and what it was built from."`
	Completion completion       `cmd:"" group:"About this program" help:"Print what makes a shell complete commands, flags and files."`
	Words      completeWords    `cmd:"" name:"complete-words" hidden:"" help:"Print what the last word may become, for the shell."`
}

type help struct {
	Command []string `arg:"" optional:"" help:"A command, such as version; without it all of them are listed."`
}

func (help) Help() string { return "Example:\n  ${program} help version" }

func (c help) Run(std terminal.Streams, p Program) error {
	return ended(p.Run(append(c.Command, "--help"), std))
}

// ended is the exit code of a command that another one has run.
type ended int

// Error implements error; nobody reads it.
func (e ended) Error() string { return "ended" }

type version struct {
	terminal.Form
}

func (version) Help() string { return "Example:\n  ${program} version --json" }

func (c version) Run(std terminal.Streams) error {
	result := struct {
		Version string `json:"version"`
		Commit  string `json:"commit,omitempty"`
		Time    string `json:"time,omitempty"` // of the commit
		Go      string `json:"go"`
		System  string `json:"system"`
	}{Version: strings.TrimPrefix(std.Version, "confetti "), Go: runtime.Version(), System: runtime.GOOS + "/" + runtime.GOARCH}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				result.Commit = s.Value
			case "vcs.time":
				result.Time = s.Value
			}
		}
	}
	words := fmt.Sprintf("%s\n%s, %s\n", std.Version, result.Go, result.System)
	if result.Commit != "" {
		words += fmt.Sprintf("commit %s of %s\n", result.Commit, result.Time)
	}
	return c.Print(std, result, "%s", words)
}

type completion struct {
	Shell string `arg:"" enum:"bash,zsh,fish,powershell" help:"bash, zsh, fish or powershell."`
}

func (completion) Help() string {
	return `A shell that has read it asks the program itself what a word may become.

Example:
  ${program} completion bash

In bash, for this session: eval "$(${program} completion bash)"
In zsh: source <(${program} completion zsh)
In fish: ${program} completion fish | source
In PowerShell: ${program} completion powershell | Out-String | Invoke-Expression
`
}

func (c completion) Run(std terminal.Streams, p Program) error {
	_, err := fmt.Fprint(std.Out, strings.ReplaceAll(shells[c.Shell], "PROGRAM", p.Name))
	return err
}

type completeWords struct {
	Typed []string `arg:"" optional:"" help:"The words that are typed, the one to complete last."`
}

func (completeWords) Help() string {
	return "Each line is a word, a tab and what it is; :files stands for names of files.\n\nExample:\n  ${program} complete-words -- ver"
}

func (c completeWords) Run(std terminal.Streams, p Program) error {
	none := func(int) {}
	for _, line := range p.complete(p.Parser(p.All(), terminal.Streams{}, none).Model.Node, c.Typed) {
		if _, err := fmt.Fprintln(std.Out, line); err != nil {
			return err
		}
	}
	return nil
}
