package main

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"text/tabwriter"
	"time"

	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/release"
)

type planCommand struct {
	New   planNew   `cmd:"" help:"Author a plan: noise is calibrated to the budget."`
	Check planCheck `cmd:"" help:"Recompute a plan's promise, and what it costs a device."`
	Show  planShow  `cmd:"" help:"Show a plan in its canonical form, with its name."`
}

type planNew struct {
	File string `arg:"" help:"Where to write the plan (TOML)." type:"path"`

	Title       string   `help:"What the respondents are asked." default:"A density for each class"`
	Dimension   int      `help:"Length of a respondent's vector." required:""`
	Classes     []string `help:"Names of the classes." required:"" placeholder:"A,B,..."`
	Normalize   bool     `help:"Scale vectors to unit length on the device."`
	Kernel      string   `help:"gaussian, ip-signs or ip-identity." enum:"gaussian,ip-signs,ip-identity" default:"gaussian"`
	Bandwidth   float64  `help:"Bandwidth of the gaussian kernel." default:"1"`
	Repetitions int      `help:"Feature maps: bits per device (ip-identity: 1 map of all coordinates)." default:"256"`
	mechanismFlags
	Minimum        int     `help:"Smallest crowd that is released, in distinct respondents." required:""`
	DishonestShare float64 `help:"Share of respondents whose noise is not relied upon." default:"0.1"`
	Suite          string  `help:"x25519 or x-wing." enum:"x25519,x-wing" default:"x25519"`
	Instances      int     `help:"Shuffler instances in separate trust domains." default:"1"`
	Hops           int     `help:"Hops of each instance." default:"2"`
	Keys           string  `help:"Folder for new private keys of all parties; in a real collection each party makes its own and sends its public key." required:"" type:"path"`
}

// mechanismFlags are the choices that plans and experiments share.
type mechanismFlags struct {
	Bitsum       string  `help:"rr or 3nb." default:"rr"`
	Accounting   string  `help:"Where the noise comes from: exact, or the route of the paper." enum:"exact,paper" default:"exact"`
	Epsilon      float64 `help:"Privacy of the features." required:""`
	Delta        float64 `help:"Probability that the promise may fail by." default:"1e-6"`
	LabelEpsilon string  `help:"Local privacy of the label, or none: sent as it is." default:"none"`
}

func (m mechanismFlags) labelEpsilon() (plan.LabelEpsilon, error) {
	var l plan.LabelEpsilon
	text := m.LabelEpsilon
	if text == "none" {
		text = `"none"`
	}
	if err := l.UnmarshalJSON([]byte(text)); err != nil {
		return 0, usageError{fmt.Errorf("--label-epsilon: %w", err)}
	}
	return l, nil
}

func (planNew) Help() string {
	return "Example:\n  confetti plan new plan.toml --dimension 256 --classes Business,Sports --epsilon 2 --minimum 3000 --keys keys"
}

func (c planNew) Run(std streams) error {
	label, err := c.labelEpsilon()
	if err != nil {
		return err
	}
	p := plan.Plan{
		Version: plan.Version, Title: c.Title,
		Question: plan.Question{Kind: "density", Density: &plan.Density{
			Dimension: c.Dimension, Classes: c.Classes, Normalize: c.Normalize,
			Kernel: newKernel(c.Kernel, c.Bandwidth), Repetitions: c.Repetitions,
			Bitsum: plan.Bitsum{Name: c.Bitsum, Accounting: c.Accounting},
		}},
		Budget:    plan.Budget{Epsilon: c.Epsilon, Delta: c.Delta, Adjacency: "replacement", LabelEpsilon: label, DishonestShare: c.DishonestShare},
		Crowd:     plan.Crowd{Minimum: c.Minimum},
		Envelopes: plan.Envelopes{Suite: c.Suite},
		Route:     mixRoute(c.Instances, c.Hops),
		Analyzer:  plan.Party{Operator: "analyzer"},
	}
	if c.Kernel == "ip-identity" {
		p.Question.Density.Repetitions = 1
	}
	if p, err = protocol.Design(p); err != nil {
		return usageError{err}
	}
	if _, err := os.Stat(c.File); err == nil {
		return fmt.Errorf("%s exists: a plan is immutable; choose another name", c.File)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := makeKeys(&p, c.Keys); err != nil {
		return err
	}
	if err := p.Validate(); err != nil {
		return usageError{err}
	}
	if err := writeWhole(c.File, p.TOML()); err != nil {
		return err
	}
	fmt.Fprintf(std.err, "wrote %s (%s...) and the private keys of its parties in %s\n", c.File, p.Name()[:12], c.Keys)
	return describePlan(std, p, false)
}

// newKernel draws a fresh public seed: it decides nothing about privacy, but
// nobody should have chosen it.
func newKernel(name string, bandwidth float64) plan.Kernel {
	if name != "gaussian" {
		bandwidth = 0
	}
	var seed [32]byte
	rand.Read(seed[:]) // never fails
	return plan.Kernel{Name: name, Bandwidth: bandwidth, Seed: hex.EncodeToString(seed[:])}
}

func mixRoute(instances, hops int) plan.Route {
	m := &plan.Mix{Instances: make([]plan.Instance, max(0, instances))}
	for i := range m.Instances {
		m.Instances[i].Hops = make([]plan.Party, max(0, hops))
		for h := range m.Instances[i].Hops {
			m.Instances[i].Hops[h].Operator = fmt.Sprintf("instance %d, hop %d", i+1, h+1)
		}
	}
	return plan.Route{Kind: "mix", Mix: m}
}

// makeKeys writes a private key file for every party and its public key into the plan.
func makeKeys(p *plan.Plan, dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	one := func(party *plan.Party, file string) error {
		key, err := envelope.GenerateKey(envelope.Suite(p.Envelopes.Suite))
		if err != nil {
			return err
		}
		party.Key = key.Public().String()
		return envelope.CreateKeyFile(filepath.Join(dir, file), envelope.KeyFile{Key: key, Purpose: party.Operator})
	}
	for i, in := range p.Route.Mix.Instances {
		for h := range in.Hops {
			if err := one(&in.Hops[h], fmt.Sprintf("instance-%d-hop-%d.key", i+1, h+1)); err != nil {
				return err
			}
		}
	}
	return one(&p.Analyzer, "analyzer.key")
}

// writeWhole writes a file completely or not at all.
func writeWhole(path string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".confetti-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(data)
	if err = errors.Join(err, f.Chmod(0o644), f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return os.Rename(f.Name(), path)
}

type planCheck struct {
	File string `arg:"" help:"A plan in TOML or JSON." type:"path"`
	JSON bool   `help:"Print JSON."`
}

func (planCheck) Help() string { return "Example:\n  confetti plan check plan.toml" }

func (c planCheck) Run(std streams) error {
	p, err := readPlan(c.File)
	if err != nil {
		return err
	}
	return describePlan(std, p, c.JSON)
}

func readPlan(file string) (plan.Plan, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return plan.Plan{}, err
	}
	p, err := plan.Parse(text)
	if err != nil {
		return p, fmt.Errorf("%s: %w", file, err)
	}
	return p, nil
}

// describePlan recomputes the promise and prints it with the cost; the seconds
// are measured here and now, with real seals.
func describePlan(std streams, p plan.Plan, asJSON bool) error {
	proto, err := protocol.New(p)
	if err != nil {
		return err
	}
	start := time.Now()
	promise, err := proto.Promise()
	if err != nil {
		return err
	}
	verified := time.Since(start)
	seconds, err := sealSeconds(p)
	if err != nil {
		return err
	}
	promise.Cost = append(promise.Cost, release.Metric{Name: "seconds_per_device", Label: "Seconds per device", Value: seconds, Unit: release.Seconds, Note: "to seal all its envelopes, on one core of this machine"})
	if asJSON {
		out := struct {
			Plan       string                       `json:"plan"`
			Epsilon    float64                      `json:"epsilon"`
			Delta      float64                      `json:"delta"`
			Guarantees []release.GuaranteeStatement `json:"guarantees"`
			Cost       map[string]float64           `json:"cost"`
		}{p.Name(), promise.Shuffled.Epsilon, promise.Shuffled.Delta, promise.Statements, map[string]float64{}}
		for _, m := range promise.Cost {
			out.Cost[m.Name] = m.Value
		}
		return writeJSON(std.out, out)
	}
	w := tabwriter.NewWriter(std.out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "plan\t%s\n", p.Name())
	fmt.Fprintf(w, "promise\tholds: epsilon %.4g of the promised %g at delta %g (recomputed in %.0f ms)\n", promise.Shuffled.Epsilon, p.Budget.Epsilon, p.Budget.Delta, verified.Seconds()*1000)
	for _, s := range promise.Statements {
		fmt.Fprintf(w, "%s\t%s\n", s.Observer, s.Guarantee)
		fmt.Fprintf(w, "\t%s\n", s.Note)
	}
	for _, m := range promise.Cost {
		fmt.Fprintf(w, "%s\t%s (%s)\n", m.Label, m, m.Note)
	}
	return w.Flush()
}

// sealSeconds measures what a device's seals take, from a sample of them.
func sealSeconds(p plan.Plan) (float64, error) {
	var keys []envelope.PublicKey
	for _, party := range append(p.Route.Mix.Instances[0].Hops, p.Analyzer) {
		key, err := envelope.ParsePublicKey(party.Key)
		if err != nil {
			return 0, fmt.Errorf("key of %s: %w", party.Operator, err)
		}
		keys = append(keys, key)
	}
	sealer, err := envelope.NewSealer(envelope.Route(p.Hash(), 0, 0, keys...), p.Envelopes.PayloadBytes)
	if err != nil {
		return 0, err
	}
	payload := make([]byte, p.Envelopes.PayloadBytes)
	n := min(p.Envelopes.PerDevice, 50)
	start := time.Now()
	for range n {
		if _, err := sealer.Seal(payload); err != nil {
			return 0, err
		}
	}
	return time.Since(start).Seconds() / float64(n) * float64(p.Envelopes.PerDevice), nil
}

type planShow struct {
	File string `arg:"" help:"A plan in TOML or JSON." type:"path"`
	JSON bool   `help:"Print the canonical bytes alone."`
}

func (planShow) Help() string { return "Example:\n  confetti plan show plan.toml" }

func (c planShow) Run(std streams) error {
	p, err := readPlan(c.File)
	if err != nil {
		return err
	}
	if c.JSON {
		_, err = std.out.Write(append(p.Canonical(), '\n'))
		return err
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "# %s\n%s", p.Name(), p.TOML())
	_, err = std.out.Write(b.Bytes())
	return err
}
