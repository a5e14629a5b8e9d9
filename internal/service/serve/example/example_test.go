package example

import (
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/internal/service/serve"
)

type shared struct {
	Known serve.Path `toml:"known" or:"people" help:"Who is known."`
	Other []string   `toml:"other" or:"a b"`
}

type inner struct {
	Rate float64 `toml:"rate" eg:"1.5"`
}

type role struct {
	Skipped int `toml:"-"`
	shared  `set:"known"`
	Table   struct {
		shared
		Wait serve.Duration `toml:"wait" or:"1h"`
	} `toml:"table" help:"A table."`
	Folder serve.Path       `toml:"folder" eg:"/var/lib/ROLE" help:"Where \"it\" lies."`
	Maybe  *inner           `toml:"maybe"`
	Many   []inner          `toml:"many"`
	Named  map[string]inner `toml:"named" eg:"one"`
}

const want = `# A toy. Every setting stands here; those behind # are as they are without being set, or another
# way. Relative paths are beside this file.

# Who is known.
known = "people"
# other = ["a", "b"]

# Where "it" lies.
folder = "/var/lib/toy"

# A table.
[table]
# Who is known.
# known = "people"
# other = ["a", "b"]
# wait = "1h"

# [maybe]
# rate = 1.5

[[many]]
rate = 1.5

[named.one]
rate = 1.5
`

func TestOf(t *testing.T) {
	text, err := Of("toy", "A toy.", &role{})
	if err != nil || text != want {
		t.Errorf("%v\n%s", err, text)
	}
	if err := serve.ParseConfig("toy.toml", []byte(text), &role{}); err != nil {
		t.Error(err)
	}
}

// A setting that says neither a value nor another way is found, and so is one that says both.
func TestOfRefuses(t *testing.T) {
	for _, c := range []any{
		&struct {
			A int `toml:"a" help:"No value."`
		}{},
		&struct {
			A int `toml:"a" eg:"1" or:"2"`
		}{},
		&struct{ A int }{},
		&struct {
			B *struct {
				A int `toml:"a"`
			} `toml:"b"`
		}{},
	} {
		if text, err := Of("toy", "A toy.", c); err == nil || !strings.Contains(err.Error(), "needs the tag") {
			t.Errorf("%T: %v\n%s", c, err, text)
		}
	}
}
