package terminal

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"unicode"
)

// WriteJSON ends with a newline; fields keep their order.
func WriteJSON(w io.Writer, v any) error {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	_, err = w.Write(append(b, '\n'))
	return err
}

// Writable finds out before long work whether the folder dir, which need not
// exist yet, will take files. It leaves nothing there.
func Writable(dir string) error {
	at := dir
	info, err := os.Stat(at)
	for errors.Is(err, fs.ErrNotExist) && filepath.Dir(at) != at {
		if _, there := os.Lstat(at); there == nil {
			return fmt.Errorf("nothing can be written to %s: %s is a link to nothing: choose another folder", dir, at)
		}
		at = filepath.Dir(at)
		info, err = os.Stat(at)
	}
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is not a folder", at)
	}
	if err == nil {
		var f *os.File
		if f, err = os.CreateTemp(at, ".confetti-*"); err == nil {
			err = errors.Join(f.Close(), os.Remove(f.Name()))
		}
	}
	if err != nil {
		return fmt.Errorf("nothing can be written to %s: %w: choose another folder", dir, err)
	}
	return nil
}

var errInterrupted = errors.New("interrupted: what was being written is complete, the rest was not done")

// Uninterrupted lets a write that takes files from one whole state to another
// come to its end when somebody presses Ctrl-C meanwhile, and then says so.
// Outside of such writes an interrupt ends the process at once: nothing is on
// the disk yet.
func Uninterrupted(write func() error) error {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	err := write()
	signal.Stop(signals) // what has arrived is in the channel now
	select {
	case <-signals:
		return errors.Join(err, errInterrupted)
	default:
		return err
	}
}

// Typed returns a command line as a shell takes it.
func Typed(args []string) string {
	line := "confetti"
	for _, a := range args {
		if a == "" || strings.ContainsFunc(a, func(r rune) bool {
			return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-_=./,:+%@", r)
		}) {
			a = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
		}
		line += " " + a
	}
	return line
}
