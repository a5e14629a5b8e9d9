package main

import (
	"flag"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/confetti-dp/confetti/cmd/internal/server"
	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/internal/storage/atomicfile/atomicfiletest"
	"github.com/confetti-dp/confetti/internal/table"
	"github.com/confetti-dp/confetti/internal/table/columnar"
	"github.com/confetti-dp/confetti/internal/testkit/scripts"
	"github.com/confetti-dp/confetti/internal/testkit/webtest"
	document "github.com/confetti-dp/confetti/release"
)

func TestMain(m *testing.M) {
	os.Setenv("GOTMPDIR", atomicfiletest.Memory())                   // where scripts work
	table.Parquet = columnar.Open                                    // of commands that run in this process; main has the other program read
	flag.Set("test.parallel", strconv.Itoa(2*runtime.GOMAXPROCS(0))) // scripts wait half of their time; -parallel says otherwise
	testscript.Main(webtest.Tests{M: m}, map[string]func(){
		"confetti":        main,
		"confetti-server": serving,
	})
}

// serving is confetti-server's main; testscript puts it beside confetti.
func serving() {
	os.Exit(server.Program.Run(os.Args[1:], terminal.Streams{Out: os.Stdout, Err: os.Stderr, Version: document.Software()}))
}

// TestScripts runs the sessions of testdata/script. Beside testscript's own
// commands they have
//
//	exits CODE COMMAND [ARGUMENT...]
//
// which fails unless the command ends with that exit code; its output is there
// for stdout and stderr, as after exec;
//
//	json [PATH [LOW HIGH]]
//
// which fails unless stdout was one JSON value and nothing else, with something
// at the dotted PATH, with a number there from LOW to HIGH;
//
//	until COMMAND [ARGUMENT...]
//
// which runs the command again and again, for three minutes, until it succeeds; and
//
//	table FILE ROWS COLUMNS
//
// which writes made-up records of two classes as .csv or .parquet, with a column
// "class", or as .npy, with the classes in FILE-labels.npy; and
//
//	people FILE ROWS
//
// which writes made-up answers as a spreadsheet would;
//
//	ports NAME...
//
// which makes a free port of this machine the value of each name. $STATES has public states that
// confetti-lab has made: clusters of tables like the above, encoders, features.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Setup: func(e *testscript.Env) error {
			scripts.Sparing(e)
			e.Setenv("DEVICES", strconv.Itoa(*studied))
			states, err := filepath.Abs("testdata/states")
			e.Setenv("STATES", states)
			return err
		},
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": scripts.Exits, "json": scripts.JSON, "table": makeTable, "columns": columns, "images": images, "network": network, "inferred": inferred, "people": people, "until": scripts.Until,
			"keep": keep, "prepend": prepend, "logged": logged, "ports": scripts.Ports,
		},
	})
}

// studied is how many devices take part in the study of gradients: CI has no time for the
// thousands that a release is tried with.
var studied = flag.Int("studied", 60, "devices of the study of gradients")
