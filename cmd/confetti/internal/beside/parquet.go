package beside

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/confetti-dp/confetti/internal/table"
	"github.com/confetti-dp/confetti/internal/table/stream"
)

// There reports whether the other program stands beside this one.
func There() bool {
	_, err := find()
	return err == nil
}

// command prepares a run of the other program, which says what is wrong on errs.
func command(errs io.Writer, args ...string) (*exec.Cmd, error) {
	path, err := find()
	if err != nil {
		return nil, err
	}
	c := exec.Command(path, append([]string{"parquet"}, args...)...)
	c.Stderr = errs
	return c, nil
}

// failure returns what the other program said, without its name, where it failed.
func failure(err error, said *bytes.Buffer) error {
	if text := strings.TrimSpace(said.String()); err != nil && text != "" {
		return errors.New(strings.TrimPrefix(text, program+": "))
	}
	return err
}

// ReadParquet opens a Parquet file, as table.Parquet does.
func ReadParquet(path, label string) (*table.Typed, error) {
	var said bytes.Buffer
	c, err := command(&said, "read", "--label="+label, "--", path)
	if err != nil {
		return nil, fmt.Errorf("to read Parquet: %w", err)
	}
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		return nil, err
	}
	t, err := stream.Receive(out)
	if err != nil {
		_, drained := io.Copy(io.Discard, out)
		told := failure(errors.Join(drained, c.Wait()), &said)
		if told == nil {
			told = err
		}
		return nil, errors.New(strings.TrimPrefix(told.Error(), path+": "))
	}
	t.Close = func() error {
		out.Close() // what is still to come is not waited for
		c.Wait()
		return nil
	}
	return t, nil
}

// WriteParquet returns a release's table, which has that name as CSV, as Parquet.
func WriteParquet(name string, text []byte) (file []byte, err error) {
	err = besideFiles(map[string][]byte{name: text}, func(dir string) error {
		file, err = output("write", filepath.Join(dir, name))
		return err
	})
	return file, err
}

// SameParquet reports that a Parquet file has other columns or values than the table of that name.
func SameParquet(name string, text, file []byte) error {
	return besideFiles(map[string][]byte{name: text, "file.parquet": file}, func(dir string) error {
		_, err := output("compare", filepath.Join(dir, name), filepath.Join(dir, "file.parquet"))
		if err != nil {
			err = fmt.Errorf("it has other columns or values than %s", name)
		}
		return err
	})
}

// output runs the other program to its end, and returns what it prints.
func output(args ...string) ([]byte, error) {
	var said bytes.Buffer
	c, err := command(&said, args...)
	if err != nil {
		return nil, err
	}
	out, err := c.Output()
	return out, failure(err, &said)
}

// besideFiles puts files, which are published, into a folder that is gone afterwards.
func besideFiles(files map[string][]byte, do func(dir string) error) error {
	dir, err := os.MkdirTemp("", "confetti-table-*")
	if err != nil {
		return err
	}
	for name, text := range files {
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), text, 0o600)
		}
	}
	if err == nil {
		err = do(dir)
	}
	return errors.Join(err, os.RemoveAll(dir))
}
