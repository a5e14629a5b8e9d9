// Package beside starts confetti-server, where it stands beside confetti, for the commands that are in it, and for
// tables as Parquet. Used by cmd/confetti, cmd/confetti/internal/release, cmd/confetti/internal/releases
// and cmd/confetti/internal/study/trends.
package beside

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// program names the program with the commands of operators.
const program = "confetti-server"

// Commands names what confetti-server does.
var Commands = []string{"up", "serve", "party", "token", "top", "alarms", "log", "count", "analyzer", "parquet"}

// About says in the help where these commands are.
func About() string {
	return "Of " + program + ", which is started where it stands beside confetti: " + strings.Join(Commands, ", ") + "."
}

// Has reports whether a command is one of them.
func Has(command string) bool { return slices.Contains(Commands, command) }

// Start has confetti-server do what args say, in the place of this process, and returns the exit
// code where that is not possible.
func Start(args []string, errs io.Writer) int {
	path, err := find()
	code := 1
	if err == nil {
		code, err = start(path, args)
	}
	if err != nil {
		fmt.Fprintln(errs, "confetti:", err)
	}
	return code
}

// find returns the path of the program: in the folder of this one, or of the file that this one is a link to.
func find() (string, error) {
	own, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("it is not known where confetti is, and so where %s is: start %s itself: %w", program, program, err)
	}
	name := program
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	folders := []string{filepath.Dir(own)}
	if real, err := filepath.EvalSymlinks(own); err == nil {
		folders = append(folders, filepath.Dir(real))
	}
	for _, folder := range folders {
		path := filepath.Join(folder, name)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return path, nil
		} else if err != nil && !errors.Is(err, os.ErrNotExist) {
			return "", err
		}
	}
	return "", fmt.Errorf("this is a command of %s, which is not beside confetti in %s. It comes with the same archive or package: put it there. In a checkout: go run ./cmd/%s, or go build -o %s ./cmd/%s", program, folders[0], program, folders[0], program)
}
