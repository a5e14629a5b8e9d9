// Package parquet implements confetti-server parquet: tables as Parquet are read and written for confetti, which
// does without the libraries. Used by cmd/internal/server.
package parquet

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/internal/storage/atomicfile"
	"github.com/confetti-dp/confetti/internal/table/columnar"
	"github.com/confetti-dp/confetti/internal/table/stream"
)

type Command struct {
	Read    read    `cmd:"" help:"Send a Parquet file's records to confetti, in a form of its own."`
	Write   write   `cmd:"" help:"Write a release's table as Parquet."`
	Compare compare `cmd:"" help:"Say whether a Parquet file has the values of a release's table."`
}

type read struct {
	File  string `arg:"" help:"The file (.parquet)." type:"path"`
	Label string `help:"Column of which the texts are wanted." placeholder:"COLUMN"`
}

func (read) Help() string {
	return "Example:\n  confetti-server parquet read people.parquet --label class"
}

func (c read) Run(std terminal.Streams) error {
	t, err := columnar.Open(c.File, c.Label)
	if err != nil {
		return fmt.Errorf("%s: %w", c.File, err)
	}
	return errors.Join(stream.Send(std.Out, t), t.Close())
}

type write struct {
	Table string `arg:"" help:"The table as the release has it, such as counts.csv." type:"path"`
}

func (write) Help() string {
	return "Prints it; what is printed names the table and has its SHA-256.\n\nExample:\n  confetti-server parquet write counts.csv"
}

func (c write) Run(std terminal.Streams) error {
	text, err := atomicfile.Read(c.Table) // which bounds it: a cell without an end takes no memory
	if err != nil {
		return fmt.Errorf("%w: check the path", err)
	}
	var b bytes.Buffer // so that nothing half is printed
	if err := columnar.Write(&b, filepath.Base(c.Table), bytes.NewReader(text)); err != nil {
		return fmt.Errorf("%s: %w", c.Table, err)
	}
	_, err = io.Copy(std.Out, &b)
	return err
}

type compare struct {
	Table string `arg:"" help:"The table as the release has it, such as counts.csv." type:"path"`
	File  string `arg:"" help:"The Parquet file beside it." type:"path"`
}

func (compare) Help() string {
	return "Example:\n  confetti-server parquet compare counts.csv counts.parquet"
}

func (c compare) Run(std terminal.Streams) error {
	text, err := atomicfile.Read(c.Table)
	var file []byte
	if err == nil {
		file, err = atomicfile.Read(c.File)
	}
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("%w: check the path", err)
	}
	if err == nil {
		err = columnar.Same(filepath.Base(c.Table), text, file)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", c.File, err)
	}
	_, err = fmt.Fprintln(std.Out, "the same values")
	return err
}
