package once

import (
	"io"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

type commands struct {
	New struct {
		Attribute []string          `help:"Names."`
		Named     map[string]string `help:"By name."`
		Size      int               `help:"How many." short:"s"`
		Others    bool              `help:"Others." negatable:""`
		Loud      int               `help:"How loud." type:"counter"`
		Rate      *float64          `help:"A rate."`
	} `cmd:""`
}

func parse(args string, options ...kong.Option) error {
	var c commands
	parser, err := kong.New(&c, append(options, kong.Writers(io.Discard, io.Discard))...)
	if err != nil {
		return err
	}
	_, err = parser.Parse(strings.Fields(args))
	return err
}

func TestOneValueIsGivenOnce(t *testing.T) {
	for _, args := range []string{
		"new --size 4 --size 300", "new --size 4 --size 4", "new -s 4 --size 300", "new --rate 1 --attribute a --rate=2", "new --others --no-others",
		"new --attribute a --size 4 --attribute b --size 300",
	} {
		err := parse(args, Given())
		if err == nil || !strings.Contains(err.Error(), "is given more than once") {
			t.Errorf("%s: %v", args, err)
		}
		if parse(args) != nil { // the twin takes the last
			t.Errorf("%s: refused without the option", args)
		}
	}
	for _, args := range []string{"new", "new --size 4 --rate 1 --others", "new --attribute a --attribute b", "new --named a=1 --named b=2", "new --loud --loud"} {
		if err := parse(args, Given()); err != nil {
			t.Errorf("%s: %v", args, err)
		}
	}
}
