// Package scripts adds commands to testscript that the sessions of every program share. Used by tests of
// cmd/confetti and lab/cmd/confetti-lab.
package scripts

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// Sparing lets programs of a session collect garbage as seldom as the test itself does.
func Sparing(e *testscript.Env) {
	if often := os.Getenv("GOGC"); often != "" {
		e.Setenv("GOGC", often)
	}
}

// JSON fails unless stdout was one JSON value and nothing else, with a number between two
// bounds where a path and bounds are given.
func JSON(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 2 || len(args) > 3 {
		ts.Fatalf("usage: json [PATH [LOW HIGH]]")
	}
	d := json.NewDecoder(strings.NewReader(ts.ReadFile("stdout")))
	var v any
	if err := d.Decode(&v); err != nil {
		ts.Fatalf("stdout is not JSON: %v", err)
	}
	if _, err := d.Token(); err != io.EOF {
		ts.Fatalf("stdout goes on after the JSON value")
	}
	if len(args) == 0 {
		return
	}
	for key := range strings.SplitSeq(args[0], ".") {
		object, _ := v.(map[string]any)
		inner, ok := object[key]
		if !ok {
			ts.Fatalf("no %s in the JSON", args[0])
		}
		v = inner
	}
	if len(args) == 1 {
		return
	}
	low, err := strconv.ParseFloat(args[1], 64)
	ts.Check(err)
	high, err := strconv.ParseFloat(args[2], 64)
	ts.Check(err)
	if x, ok := v.(float64); !ok || x < low || x > high {
		ts.Fatalf("%s is %v, want %v to %v", args[0], v, low, high)
	}
}

// Until runs a command again and again, for three minutes, until it succeeds.
func Until(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 {
		ts.Fatalf("usage: until COMMAND [ARGUMENT...]")
	}
	var err error
	pause := 100 * time.Millisecond
	for end := time.Now().Add(3 * time.Minute); time.Now().Before(end); time.Sleep(pause) {
		if err = ts.Exec(args[0], args[1:]...); err == nil {
			return
		}
		pause = min(pause*3/2, time.Second) // a program that asks in vain takes processor time from the one that it waits for
	}
	ts.Check(err)
}

// Exits fails unless a command ends with the exit code that stands before it.
func Exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND [ARGUMENT...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	var exit *exec.ExitError
	if err := ts.Exec(args[1], args[2:]...); errors.As(err, &exit) {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}
