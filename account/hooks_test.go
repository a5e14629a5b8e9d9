package account_test

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/additive"
	"github.com/confetti-dp/confetti/internal/account/amplify"
	"github.com/confetti-dp/confetti/internal/account/bitnoise"
	"github.com/confetti-dp/confetti/internal/account/central"
	"github.com/confetti-dp/confetti/internal/account/pld"
	"github.com/confetti-dp/confetti/internal/account/shuffle"
	"github.com/confetti-dp/confetti/internal/account/shuffle/vectors"
)

// mustHave says which hooks each event has that a plan or a command speaks of. Do not take one
// away to mend a build: what it charged or bounded would be left out.
var mustHave = []struct {
	event account.Event
	hooks string
}{
	{additive.DiscreteGaussian{}, "Profile Distributions Renyi"},
	{bitnoise.Pure{}, "Profile Distributions"},
	{central.Laplace{}, "Profile Distributions Renyi"},
	{additive.DiscreteLaplace{}, "Profile Distributions"},
	{bitnoise.NegativeBinomialSum{}, "Distributions"},
	{central.Gaussian{}, "Profile Distributions Renyi"},
	{additive.LaplaceShares{}, "Distributions"},
	{bitnoise.ThinnedNegativeBinomialSum{}, "Distributions"},
	{central.SubsampledGaussian{}, "Distributions Renyi"},
	{additive.DistributedLaplace{}, "Reduce"},
	{additive.DistributedGaussian{}, "Distributions"},
	{additive.GaussianRows{}, "Profile Dominated"},
	{additive.SummedVector{}, "Profile Distributions Dominated"},
	{bitnoise.PoissonSum{}, "Profile Distributions"},
	{bitnoise.ThreeNB{}, "Profile Distributions Lattice Losses"},
	{amplify.KaryResponse{}, "Profile Distributions Losses"},
	{amplify.FavouredResponse{}, "Profile Distributions Losses"},
	{amplify.AnyRandomizer{}, "Profile Distributions Losses"},
	{amplify.GaussianReport{}, "Profile Distributions Dominated"},
	{shuffle.BucketResponse{}, "Distributions Certificate Losses Opened"},
	{vectors.SecretRows{}, "Profile Distributions Certificate Together Losses Opened BesideMessage Dominated"},
	{shuffle.BehindBackstop{}, "Profile Distributions Certificate"},
	{shuffle.OneHot{}, "Reduce Losses Opened Replaced"},
	{vectors.VectorResponse{}, "Profile Distributions Certificate Together Losses Opened BesideMessage Dominated"},
	{shuffle.AsymmetricResponse{}, "Profile Distributions Certificate Losses Opened"},
	{shuffle.RandomizedResponse{}, "Profile Distributions Lattice Certificate Losses Opened"},
	{shuffle.FragmentedOneHot{}, "Reduce"},
	{account.Repeat{}, ""},
	{account.All{}, ""},
}

func TestEveryEventHasItsHooks(t *testing.T) {
	listed := map[string]bool{}
	for _, e := range mustHave {
		listed[fmt.Sprintf("%T", e.event)] = true
		if got := strings.Join(account.HooksOf(e.event), " "); got != e.hooks {
			t.Errorf("%T has the hooks %q, and must have %q", e.event, got, e.hooks)
		}
	}
	// No event is missing: those of this package and of those that build events.
	declared := map[string]bool{}
	terms := regexp.MustCompile(`(?m)^func \(\w+ ([A-Z]\w*)\) Terms\(\) \((account\.)?Guarantee, error\)`)
	for folder, pkg := range map[string]string{".": "account", "../internal/account/additive": "additive", "../internal/account/amplify": "amplify", "../internal/account/bitnoise": "bitnoise", "../internal/account/central": "central", "../internal/account/shuffle": "shuffle", "../internal/account/shuffle/vectors": "vectors"} {
		files, err := fs.Glob(os.DirFS(folder), "*.go")
		if err != nil {
			t.Fatal(err)
		}
		var here []string
		tests := ""
		for _, name := range files {
			text, err := os.ReadFile(folder + "/" + name)
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasSuffix(name, "_test.go") {
				tests += string(text)
				continue
			}
			for _, found := range terms.FindAllStringSubmatch(string(text), -1) {
				here = append(here, found[1])
			}
		}
		for _, event := range here {
			declared[pkg+"."+event] = true
			if !regexp.MustCompile(`\b` + event + `\{`).MatchString(tests) {
				t.Errorf("%s.%s has no test beside it", pkg, event)
			}
		}
	}
	if !maps.Equal(listed, declared) {
		t.Errorf("declared are the events\n%v, and listed here\n%v", slices.Sorted(maps.Keys(declared)), slices.Sorted(maps.Keys(listed)))
	}
}

// changed is an event whose hooks have other signatures than the accountant asks for.
type changed struct{ central.Gaussian }

func (changed) Losses() (account.Losses, error)                     { return account.Losses{}, nil }
func (changed) Distributions(float64) ([]*pld.Distribution, error)  { return nil, nil }
func (changed) Profile(int, account.Options) (account.Bound, error) { return "", nil }
func (changed) Opened(rounds int) []account.Event                   { return nil }

func TestAHookOfAnotherSignatureIsMissed(t *testing.T) {
	if got := strings.Join(account.HooksOf(changed{}), " "); got != "Renyi" {
		t.Errorf("an event of which one hook is left has %q", got)
	}
}
