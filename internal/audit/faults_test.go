package audit

import (
	"bytes"
	"encoding/json"
	"fmt"
	lat "github.com/confetti-dp/confetti/internal/dp/latent"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/internal/token"
	"github.com/confetti-dp/confetti/plan"
)

// fault breaks what ships, in its source. A program that is compiled with all of them has one at a time:
// nothing of it is in the tree, so that no switch in the product weakens it.
type fault struct {
	name  string
	plan  string // of faultyPlans
	edits []edit
	by    []string // who must catch it: "attack", "constant", "sealed"
}

// edit puts new in the place of old, which stands once in a file; new may ask whether planted.Now is the
// fault's name, or IF, which stands for that.
type edit struct{ file, old, new string }

var faults = []fault{
	// The eight, one of them twice, that an earlier auditor was tried with, and missed six of.
	{"devices share no noise", "summed, devices", []edit{{
		"internal/dp/sum/sumprivacy/devices.go", "for i, z := range noise {\n", "for i, z := range noise {\n\t\tif IF {\n\t\t\tz = 0\n\t\t}\n",
	}}, []string{"attack", "constant"}},
	{"devices share no noise in one cell", "summed, devices", []edit{{
		"internal/dp/sum/sumprivacy/devices.go", "for i, z := range noise {\n", "for i, z := range noise {\n\t\tif IF && i == 0 {\n\t\t\tz = 0\n\t\t}\n",
	}}, []string{"constant"}},
	{"the helper adds no noise", "summed, aggregators", []edit{{
		"party/aggregator/aggregate.go", "noise := s.Sum.Noise(r); noise != nil {", "noise := s.Sum.Noise(r); noise != nil && !(IF && s.role == dap.Helper) {",
	}}, []string{"attack", "constant", "sealed"}},
	{"a device flips a tenth as often", "vectors", []edit{{
		"internal/dp/vector/mechanism.go", "\tm.scratch.New = func", "\tif IF {\n\t\tm.bit.Flip /= 10\n\t}\n\tm.scratch.New = func",
	}}, []string{"constant"}},
	{"a device that says a string flips a tenth as often", "strings", []edit{{
		"internal/dp/vector/mechanism.go", "\tm.scratch.New = func", "\tif IF {\n\t\tm.bit.Flip /= 10\n\t}\n\tm.scratch.New = func",
	}}, []string{"constant"}},
	{"a device that says a record of columns flips a tenth as often", "tables", []edit{{
		"internal/dp/vector/mechanism.go", "\tm.scratch.New = func", "\tif IF {\n\t\tm.bit.Flip /= 10\n\t}\n\tm.scratch.New = func",
	}}, []string{"constant"}},
	{"the helper adds no noise to strings", "summed strings", []edit{{
		"party/aggregator/aggregate.go", "noise := s.Sum.Noise(r); noise != nil", "noise := s.Sum.Noise(r); noise != nil && !(IF && s.role == dap.Helper)",
	}}, []string{"attack"}},
	{"answers come before dummies", "vectors", []edit{{
		"internal/dp/fragment/fragment.go", "\tr.Shuffle(len(payloads), func", "\tmixed := len(payloads)\n\tif IF {\n\t\tmixed = 0\n\t}\n\tr.Shuffle(mixed, func",
	}}, []string{"constant"}},
	{"an envelope fewer for one value", "vectors", []edit{{
		"client/pipeline.go", "\t}\n\treturn a, nil\n}\n\n// Seal makes", "\t\tif f, ok := symbol.([]float32); IF && ok && f[0] > 0 {\n\t\t\ta.Parts[i].Payloads = a.Parts[i].Payloads[1:]\n\t\t}\n\t}\n\treturn a, nil\n}\n\n// Seal makes",
	}}, []string{"attack", "constant"}},
	{"one stream of randomness for all", "vectors", []edit{{
		"internal/rng/rng.go", "\treturn Keyed(key, iv)\n", "\tif IF {\n\t\tkey, iv = [16]byte{}, [16]byte{}\n\t}\n\treturn Keyed(key, iv)\n",
	}}, []string{"constant"}},
	{"aggregators draw a third of the noise", "summed, aggregators", []edit{{
		"internal/dp/sum/sum.go", "\t\tlaw := noise.DiscreteLaplace{Decay: route.Decay}\n", "\t\tlaw := noise.DiscreteLaplace{Decay: route.Decay}\n\t\tif IF {\n\t\t\tlaw.Decay *= 3\n\t\t}\n",
	}}, []string{"attack", "constant"}},
	{"rows follow from the vector", "vectors", []edit{{
		"internal/dp/vector/mechanism.go", "mask := rng.Mask(r, m.answer)\n", "mask := rng.Mask(r, m.answer)\n\t\tif IF {\n\t\t\tmask = rng.Mask(rng.Keyed([16]byte{byte(int(1000 * s.rotated[0])), byte(int(1000 * s.rotated[1])), byte(at)}, [16]byte{}), m.answer)\n\t\t}\n",
	}}, []string{"constant"}},
	// Six more.
	{"a clipped vector is not clipped", "vectors", []edit{
		{"internal/dp/vector/mechanism.go", "\tif m.Check(v) != nil {\n\t\tclear(s.rotated)", "\tif m.Check(v) != nil && !IF {\n\t\tclear(s.rotated)"},
		{"question/vector/unfit.go", "case q.scaled() && squares > 1+1e-6:", "case q.scaled() && squares > 1+1e-6 && !IF:"},
	}, []string{"constant"}},
	{"a seed is used twice", "vectors", []edit{{
		"client/pipeline.go", "\treport, err := c.protocol.Randomize(", "\tif IF {\n\t\tif planted.Times++; planted.Times%2 == 1 {\n\t\t\tplanted.Key[0], planted.Key[1] = byte(c.rand.Uint64()), byte(c.rand.Uint64())\n\t\t}\n\t\tagain := *c\n\t\tagain.rand = rng.Keyed(planted.Key, [16]byte{})\n\t\tc = &again\n\t}\n\treport, err := c.protocol.Randomize(",
	}}, []string{"constant"}},
	{"a dummy too few", "vectors", []edit{{
		"internal/dp/fragment/fragment.go", "\treturn payloads[:count]\n", "\tif IF {\n\t\tfor i, p := range payloads {\n\t\t\tif p[0] == kindDummy {\n\t\t\t\treturn append(payloads[:i], payloads[i+1:count]...)\n\t\t\t}\n\t\t}\n\t}\n\treturn payloads[:count]\n",
	}}, []string{"constant"}},
	{"a label is told in clear", "labels", []edit{{
		"internal/question/label/each.go", "\treturn e.channel(s, e.KRR.Randomize(r, s.class))\n", "\tif IF {\n\t\treturn e.channel(s, s.class)\n\t}\n\treturn e.channel(s, e.KRR.Randomize(r, s.class))\n",
	}}, []string{"attack", "constant"}},
	{"a state's weights leak", "vectors of an encoder", []edit{{
		"internal/dp/latent/laplace.go", "\tover := -most\n", "\tover := -most\n\tif IF { // the ball that holds whatever the weights make of a record\n\t\tpull, over = float64(points)/ball, math.MinInt\n\t}\n",
	}}, []string{"attack"}},
	{"a token names its device", "tokens", []edit{{
		"internal/token/token.go", "\tr.Read(nonce)\n", "\tr.Read(nonce)\n\tif IF {\n\t\tcopy(nonce, seed[:8])\n\t}\n",
	}}, []string{"constant"}},
}

// faultyPlan is what faults are planted under, with the state that it names.
func faultyPlan(t *testing.T, name string) (p plan.Plan, state []byte) {
	t.Helper()
	threeCells := plan.Histogram{Attributes: []plan.Attribute{{Name: "cell", Kind: "categories", Size: 3}}}
	switch name {
	case "strings":
		return fewStrings(t, ""), nil
	case "tables":
		return fewTables(t, ""), nil
	case "summed strings":
		return fewStrings(t, plan.NoiseAggregators), nil
	case "summed, devices":
		return cellsWithNoise(t, threeCells, plan.NoiseDevices), nil
	case "summed, aggregators":
		return cellsWithNoise(t, threeCells, plan.NoiseAggregators), nil
	case "labels":
		return labelled(t, plan.Label{Report: plan.LabelEach, Records: 50}, nil), nil
	case "vectors of an encoder":
		state = encoder(t)
		return ofLatents(t, plan.Latent{Features: 3, Report: plan.LatentVector, Vector: &plan.Latents{Mechanism: lat.NameLaplace, Dim: 2, Length: 4}}, state), state
	}
	p = sumOfVectors(t, 8, 100, 2)
	ask := *p.Question.Vector
	ask.Rounds = []plan.VectorRound{{Sums: "features", Answered: 4}}
	p.Question.Vector = &ask
	p = example.Design(t, p)
	if name == "tokens" {
		key, err := token.GenerateKey()
		if err != nil {
			t.Fatal(err)
		}
		for i := range 2 {
			p.Route.Mix.Instances[0].Hops[i].Tokens = key.Public().String()
		}
	}
	return p, nil
}

const (
	faultNow = "CONFETTI_PLANTED"
	planOf   = "CONFETTI_PLANTED_PLAN"
	looked   = "CONFETTI_PLANTED_BY" // who looks for it
	caught   = "caught by: "
)

// TestUnderAFault is what the program with faults runs. It prints who catches one, of those who are to look.
func TestUnderAFault(t *testing.T) {
	if os.Getenv(planOf) == "" {
		t.Skip("is for TestPlantedFaultsAreCaught")
	}
	p, state := faultyPlan(t, os.Getenv(planOf))
	r, err := NewRoute(p, Rounds{State: state}, seed(t))
	if err != nil {
		t.Fatal(err)
	}
	by := os.Getenv(looked)
	if strings.Contains(by, "constant") {
		constants, err := r.Constants(seed(t), calm)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range constants {
			if c.False() {
				fmt.Printf("%sconstant: %s: %s\n", caught, c.Party, c)
			}
		}
	}
	if strings.Contains(by, "attack") {
		findings, err := r.Attack(4096, seed(t), calm)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range findings {
			if f.False() {
				fmt.Printf("%sattack: %s: %s\n", caught, f.Observer, f)
			}
		}
	}
	if strings.Contains(by, "sealed") {
		if _, err := r.Seal(seed(t), calm); err != nil {
			fmt.Printf("%ssealed: %v\n", caught, err)
		}
	}
}

// Each of fifteen faults that are planted in the source of what ships is caught, and none without one. All are
// compiled into one program, of which each run has one.
func TestPlantedFaultsAreCaught(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles a program")
	}
	program := faulty(t)
	run := func(t *testing.T, now, of string, looks ...string) []string {
		t.Helper()
		c := exec.Command(program, "-test.run", "^TestUnderAFault$")
		c.Env = append(os.Environ(), faultNow+"="+now, planOf+"="+of, looked+"="+strings.Join(looks, " "))
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		var by []string
		for line := range strings.Lines(string(out)) {
			if who, ok := strings.CutPrefix(line, caught); ok {
				t.Log(strings.TrimSpace(line))
				by = append(by, strings.SplitN(who, ":", 2)[0])
			}
		}
		return by
	}
	by := map[string][]string{} // who looks for faults of a plan; what else keeps it, tests of its kind show without a fault
	for _, f := range faults {
		by[f.plan] = append(by[f.plan], f.by...)
	}
	for of, looks := range by {
		t.Run("none: "+of, func(t *testing.T) {
			if by := run(t, "none", of, looks...); len(by) > 0 {
				t.Errorf("%v catch what is not broken", by)
			}
		})
	}
	for _, f := range faults {
		t.Run(f.name, func(t *testing.T) {
			by := run(t, f.name, f.plan, f.by...)
			for _, who := range f.by {
				if !slices.Contains(by, who) {
					t.Errorf("not caught by %s, and by %v", who, by)
				}
			}
		})
	}
}

// faulty compiles this package's tests with all faults, of which the environment says which one is there.
func faulty(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	dir, texts := t.TempDir(), map[string]string{}
	for _, f := range faults {
		for _, e := range f.edits {
			if texts[e.file] == "" {
				text, err := os.ReadFile(filepath.Join(root, e.file))
				if err != nil {
					t.Fatal(err)
				}
				texts[e.file] = strings.Replace(string(text), "import (\n", "import (\n\t\""+module+"/internal/planted\"\n", 1)
			}
			if n := strings.Count(texts[e.file], e.old); n != 1 {
				t.Fatalf("%s: what %q is planted in stands there %d times: plant it anew", e.file, f.name, n)
			}
			texts[e.file] = strings.Replace(texts[e.file], e.old, strings.ReplaceAll(e.new, "IF", fmt.Sprintf("(planted.Now == %q)", f.name)), 1)
		}
	}
	texts["internal/planted/planted.go"] = "package planted\n\nimport \"os\"\n\nvar (\n\tNow   = os.Getenv(\"" + faultNow + "\")\n\tTimes int\n\tKey   [16]byte\n)\n"
	replace := map[string]string{}
	for file, text := range texts {
		at := filepath.Join(dir, strings.ReplaceAll(file, "/", "_"))
		if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		replace[filepath.Join(root, file)] = at
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	at, program := filepath.Join(dir, "overlay.json"), filepath.Join(dir, "faulty.test")
	if err := os.WriteFile(at, overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	build := exec.Command("go", "test", "-c", "-vet=off", "-ldflags=-s -w", "-overlay", at, "-o", program, ".")
	var said bytes.Buffer
	build.Stderr, build.Stdout = &said, &said
	if err := build.Run(); err != nil {
		t.Fatalf("%v\n%s", err, said.String())
	}
	return program
}

const module = "github.com/confetti-dp/confetti"
