package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/confetti-dp/confetti/internal/durable"
)

type releaseFetch struct {
	signedFlag
	serviceFlags
	Out string `help:"Folder for release.json, release.csv and release.html." required:"" type:"path" placeholder:"DIR"`
}

func (releaseFetch) Help() string {
	return "Gets a plan's release from its analyzer. It needs no token.\n\nExample:\n  confetti release fetch --dir trial --out release"
}

func (c releaseFetch) Run(std streams) error {
	signed, err := c.read(c.Dir)
	if err != nil {
		return err
	}
	if err := writable(c.Out); err != nil {
		return err
	}
	s, err := c.open()
	if err != nil {
		return err
	}
	defer s.close()
	ctx, stop := untilStopped()
	defer stop()
	files := map[string][]byte{}
	for _, format := range []string{"json", "csv", "html"} {
		url := fmt.Sprintf("%s/v1/releases/%s.%s", signed.Plan.Analyzer.URL, signed.Plan.Name(), format)
		if files[format], err = s.get(ctx, url); err != nil {
			return err
		}
	}
	if before, err := os.ReadFile(filepath.Join(c.Out, "release.json")); err == nil && !bytes.Equal(before, files["json"]) {
		announceReplaced(std.err, c.Out)
	}
	return uninterrupted(func() error {
		errs := []error{os.MkdirAll(c.Out, 0o755)}
		for format, text := range files {
			errs = append(errs, durable.Replace(filepath.Join(c.Out, "release."+format), text, 0o644))
		}
		if err := errors.Join(errs...); err != nil {
			return err
		}
		_, err := fmt.Fprintf(std.out, "the release is in %s; to see it:\n  confetti release show %s\n", c.Out, filepath.Join(c.Out, "release.json"))
		return err
	})
}
