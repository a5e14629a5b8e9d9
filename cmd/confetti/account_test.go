package main

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/internal/cli/terminal"
)

// Every mechanism with good parameters, and then with each of them bad: exit
// code 2, a sentence that names the flag, no number.
func TestAccountRefusesHostileParameters(t *testing.T) {
	good := map[string][]string{
		"rr":                {"--users=100", "--rounds=2", "--flip-probability=0.2"},
		"one-hot":           {"--users=100", "--rounds=2", "--flip-probability=0.2", "--adjacency=removal", "--keep-probability=0.5"},
		"vector":            {"--users=20", "--rounds=2", "--coordinates=2", "--flip-probability=0.2", "--squared-gap=1"},
		"krr":               {"--users=100", "--rounds=2", "--symbols=3", "--local-epsilon=1"},
		"subset":            {"--users=100", "--rounds=2", "--symbols=7", "--local-epsilon=1"},
		"local-hash":        {"--users=100", "--rounds=2", "--symbols=3", "--local-epsilon=1"},
		"hadamard":          {"--users=100", "--rounds=2", "--symbols=7", "--local-epsilon=1"},
		"direction":         {"--users=100", "--rounds=2", "--coordinates=4", "--local-epsilon=1"},
		"cap":               {"--users=100", "--rounds=2", "--coordinates=4", "--local-epsilon=1"},
		"any":               {"--users=100", "--rounds=2", "--local-epsilon=1"},
		"3nb":               {"--users=100", "--rounds=2", "--noise=0.5", "--flood-shape=12", "--flood-probability=0.98"},
		"poisson":           {"--users=100", "--rounds=2", "--mean=500"},
		"fragments":         {"--users=100", "--backstop=2", "--fragment=1", "--tau=3", "--adjacency=removal"},
		"gaussian":          {"--sigma=5", "--sensitivity=1", "--rounds=2"},
		"discrete-gaussian": {"--sigma=5", "--sensitivity=1", "--rounds=2"},
		"laplace":           {"--scale=2", "--sensitivity=1", "--rounds=2"},
		"discrete-laplace":  {"--noise=0.5", "--sensitivity=1", "--rounds=2"},
		"dpsgd":             {"--sampling=0.01", "--noise-multiplier=1.1", "--steps=2"},
	}
	_, _, known := accountRun([]string{"account", "epsilon", "--delta=1e-6", "--mechanism=?"})
	if n := strings.Count(known, ",") + 1; n != len(good) {
		t.Fatalf("%d of %d mechanisms are tried: %s", len(good), n, known)
	}
	for name, parameters := range good {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// What is trained on is attacked by confetti-lab.
			if code, _, err := accountRun(slices.Concat([]string{"audit", "--runs=256", "--mechanism=" + name}, parameters)); code != 0 && name != "dpsgd" {
				t.Errorf("audit of %s: exit code %d: %s", name, code, err)
			}
			for _, ask := range []string{"epsilon --delta=1e-6", "explain", "delta --epsilon=0.5"} {
				if name == "fragments" && ask[0] == 'd' {
					continue
				}
				bads := []string{"NaN", "0", "-1", "1e300", "Inf", "-Inf", "x", ""}
				if ask[:2] != "ep" {
					bads = bads[:2] // the parameters are read in one place
				}
				args := slices.Concat([]string{"account"}, strings.Fields(ask), []string{"--mechanism=" + name})
				if code, out, err := accountRun(slices.Concat(args, parameters)); code != 0 || out == "" {
					t.Errorf("%s %v: exit code %d: %s", ask, parameters, code, err)
				}
				for i, p := range parameters {
					flag, _, _ := strings.Cut(p, "=")
					for _, bad := range bads {
						broken := slices.Concat(args, parameters)
						broken[len(args)+i] = flag + "=" + bad
						code, out, err := accountRun(broken)
						if code != 2 || out != "" || !strings.Contains(err, flag) {
							t.Errorf("%v: exit code %d, said %q: want code 2 and a sentence with %s", broken, code, err, flag)
						}
					}
					code, _, err := accountRun(slices.Delete(slices.Concat(args, parameters), len(args)+i, len(args)+i+1))
					optional := flag == "--rounds" || flag == "--keep-probability" || name == "3nb" && flag == "--users"
					if optional != (code == 0) || !optional && !strings.Contains(err, flag+" is missing") {
						t.Errorf("%s without %s: exit code %d: %s", name, flag, code, err)
					}
				}
			}
		})
	}
}

func accountRun(args []string) (code int, out, err string) {
	var o, e bytes.Buffer
	code = run(args, terminal.Streams{Out: &o, Err: &e})
	return code, o.String(), e.String()
}
