package main

import (
	"bytes"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/internal/testkit/badfile"
)

// Every command that takes a file meets eight files that nobody should give it: it ends with exit code 1 or 2 and one line,
// and never with a panic, nor with the memory that a file claims to need. The files beside are good, so that most lines say
// what is wrong with the very one that is bad.
func TestBadFiles(t *testing.T) {
	deploy, err := filepath.Abs("../../deploy/config")
	if err != nil {
		t.Fatal(err)
	}
	states, err := filepath.Abs("testdata/states/public") // of records like those of public.csv
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	for _, name := range []string{"HOME", "CONFETTI_DATA", "CONFETTI_SECRET"} {
		t.Setenv(name, "")
	}
	makeGood(t, deploy, states)
	told := 0
	for _, p := range programs {
		told += badfile.Program{Name: p.Name, Tree: parser(t, p).Model.Node, Run: p.Run, Beside: flagged}.Try(t)
	}
	if told < 1000 && !strings.Contains(flag.Lookup("test.run").Value.String(), "/") {
		t.Errorf("only %d lines said which file was bad: are the others good, under the names that examples have?", told)
	}
}

// makeGood makes the files that examples name, as far as they are cheap to make.
func makeGood(t *testing.T, folders ...string) {
	t.Helper()
	r, table := rand.New(rand.NewPCG(3, 4)), "class"
	for j := range 12 {
		table += fmt.Sprintf(",f%d", j+1)
	}
	for i := range 60 {
		table += "\n" + []string{"tea", "coffee"}[i%2]
		for range 12 {
			table += fmt.Sprintf(",%.3f", r.Float64()+float64(i%2))
		}
	}
	write := func(name, text string) {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("public.csv", table+"\n")
	write("operator.token", "t") // half of a longer one would be one, too
	write("operator.tokens", "https://analyzer.example:8443 t\n")
	write("answer.csv", "age\n30\n")
	for _, folder := range folders {
		if err := os.CopyFS(".", os.DirFS(folder)); err != nil {
			t.Fatal(err)
		}
	}
	for line := range strings.Lines(good) {
		args := strings.Fields(line)
		if args[0] == "copy" {
			if err := os.CopyFS(args[2], os.DirFS(args[1])); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if args[0] == "cp" {
			text, err := os.ReadFile(args[1])
			if err != nil {
				t.Fatal(err)
			}
			write(args[2], string(text))
			continue
		}
		var out bytes.Buffer
		if code := run(args, terminal.Streams{Out: &out, Err: &out, Version: "test"}); code != 0 {
			t.Fatalf("%s: exit code %d: %s", line, code, &out)
		}
	}
}

// good are lines that make files under the names that examples have.
const good = `sample people.csv --rows 300
keys new publisher.json --for publisher
keys new coordinator.json --for publisher
keys new analyzer.json --purpose analyzer
keys new hop-key.json --for receipts
keys new log-key.json --for receipts
keys pair pair.secret
token add respondents device-0
plan new histogram plan.toml --attribute age --kind buckets --buckets 0,100,20 --epsilon 1 --minimum 300 --keys keys
cp plan.toml next.toml
plan sign plan.toml --key publisher.json --closes 2050-01-31T00:00:00Z --out plan.signed.json
study sign plan.toml --key publisher.json --coordinator coordinator.json --rounds 2 --closes 2050-01-01T00:00:00Z --ends 2060-01-01T00:00:00Z --out study.signed.json
publishers add publishers.txt ed25519:A0X5G9VtW5tMIeiwnYIOKvekwy4RzVPyNRyghJazUoI
collect simulate --csv people.csv --column drink --epsilon 4 --delta 1e-6 --encoding krr --full --work work --part-bytes 1500 --out page
collect simulate public.csv --label class --map features.json --model rates.model --learn --epsilon 8 --delta 1e-6
cp public.csv loans.csv
cp public.csv ours.csv
cp work/plan.json plan.json
cp work/keys/analyzer.key analyzer.key
copy work/batches/0_0 parts
copy page release
copy page confetti-demo
copy page trial/release`

// flagged makes examples short that work long before they write, and has others read what they would not.
var flagged = map[string]map[string]string{
	"plan new density": {"minimum": "300"},
	"plan new label":   {"minimum": "300"},
	"plan new vector":  {"minimum": "300"},
	"serve console":    {"listen": "127.0.0.1:0"},
}
