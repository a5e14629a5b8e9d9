package all

import (
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/question/gradient"
	"github.com/confetti-dp/confetti/internal/question/label"
	"github.com/confetti-dp/confetti/internal/question/latent"
	"github.com/confetti-dp/confetti/internal/question/registry"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/question/density"
	"github.com/confetti-dp/confetti/question/experiment"
	"github.com/confetti-dp/confetti/question/histogram"
	stringsof "github.com/confetti-dp/confetti/question/strings"
	"github.com/confetti-dp/confetti/question/table"
	"github.com/confetti-dp/confetti/question/vector"
)

// abilities are the optional ones of a question, by assertion.
var abilities = []reflect.Type{
	reflect.TypeFor[question.Memoizer](), reflect.TypeFor[question.Comparer](), reflect.TypeFor[question.Estimated](),
	reflect.TypeFor[question.Parser](), reflect.TypeFor[question.Stager](), reflect.TypeFor[question.Stateful](),
	reflect.TypeFor[question.Stepper](), reflect.TypeFor[question.Misser](), reflect.TypeFor[question.Summer](), reflect.TypeFor[question.Describer](),
	reflect.TypeFor[question.Counter](),
}

// mustHave says which abilities each kind has. Do not take one away to mend a build: a
// question without Memoizer charges no backstop, and one without Stager charges all rounds alike.
var mustHave = map[string]struct {
	question question.Question
	names    string
}{
	"density":    {(*density.Question)(nil), "Estimated Parser Summer Describer"},
	"gradient":   {(*gradient.Question)(nil), "Comparer Parser Stateful Stepper Summer Describer"},
	"histogram":  {(*histogram.Question)(nil), "Memoizer Comparer Estimated Parser Stateful Stepper Misser Summer Describer Counter"},
	"label":      {(*label.Question)(nil), "Parser Stateful Describer"},
	"latent":     {(*latent.Question)(nil), "Estimated Parser Stateful Describer"},
	"strings":    {(*stringsof.Question)(nil), "Comparer Parser Summer Describer"},
	"table":      {(*table.Question)(nil), "Comparer Parser Summer Describer"},
	"vector":     {(*vector.Question)(nil), "Comparer Estimated Parser Stager Stateful Summer Describer"},
	"experiment": {(*experiment.Question)(nil), "Comparer Parser Summer Describer"},
}

func has(q any) string {
	var names []string
	for _, a := range abilities {
		if reflect.TypeOf(q).Implements(a) {
			names = append(names, a.Name())
		}
	}
	return strings.Join(names, " ")
}

func TestEveryKindHasItsAbilities(t *testing.T) {
	for _, name := range registry.Names() {
		must, listed := mustHave[name]
		if !listed {
			t.Errorf("%s is not listed here: say which abilities it must have", name)
			continue
		}
		if got := has(must.question); got != must.names {
			t.Errorf("%s has %q, and must have %q", name, got, must.names)
		}
	}
	if got := len(registry.Names()); got != len(mustHave) {
		t.Errorf("%d kinds, and %d are listed", got, len(mustHave))
	}
}

// Each section that a plan may have is of a kind in the table, and each kind has tests of its own.
func TestEverySectionHasAKind(t *testing.T) {
	table, err := parser.ParseFile(token.NewFileSet(), "all.go", nil, parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	var kinds, sections []string
	for _, i := range table.Imports {
		kinds = append(kinds, path.Base(strings.Trim(i.Path.Value, `"`)))
	}
	of := reflect.TypeFor[plan.Question]()
	for i := range of.NumField() {
		if f := of.Field(i); f.Type.Kind() == reflect.Pointer {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			sections = append(sections, name)
		}
	}
	slices.Sort(sections)
	if slices.Sort(kinds); !slices.Equal(sections, kinds) || !slices.Equal(kinds, registry.Names()) {
		t.Errorf("plans ask for %v, the table has %v, and %v are registered", sections, kinds, registry.Names())
	}
}

func TestEveryKindIsTested(t *testing.T) {
	for _, kind := range registry.Names() {
		public, err := filepath.Glob("../" + kind + "/*_test.go")
		taught, err2 := filepath.Glob("../../internal/question/" + kind + "/*_test.go")
		if err != nil || err2 != nil || len(public)+len(taught) == 0 {
			t.Errorf("question/%s has no tests: %v", kind, err)
		}
	}
}

// changed is a histogram of which two abilities have another signature.
type changed struct{ *histogram.Question }

func (changed) Backstop() question.Backstop                    { return question.Backstop{} }
func (changed) Next(question.Model, int) ([]byte, bool, error) { return nil, false, nil }

func TestAnAbilityOfAnotherSignatureIsMissed(t *testing.T) {
	if got := has(changed{}); got != "Comparer Estimated Parser Stateful Misser Summer Describer Counter" {
		t.Errorf("a histogram without two of its abilities has %q", got)
	}
}

// Abilities that the package question declares are all looked for.
func TestEveryAbilityIsLookedFor(t *testing.T) {
	declared, err := interfaces("../../internal/question/")
	if err != nil {
		t.Fatal(err)
	}
	var looked []string
	for _, a := range abilities {
		looked = append(looked, a.Name())
	}
	looked = append(looked, "Question", "Randomizer", "Estimator", "Accounting", "Memory") // which every question is, or is given
	for _, name := range declared {
		if !strings.Contains(" "+strings.Join(looked, " ")+" ", " "+name+" ") {
			t.Errorf("question.%s is an ability that nobody must have: list it here", name)
		}
	}
	if len(declared) != len(looked) {
		t.Errorf("%d interfaces are declared, and %d looked for", len(declared), len(looked))
	}
}

// interfaces are those that the package in a folder declares for others.
func interfaces(folder string) (names []string, err error) {
	files, err := filepath.Glob(folder + "*.go")
	if err != nil {
		return nil, err
	}
	declared := regexp.MustCompile(`(?m)^type ([A-Z]\w*) interface \{`)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		for _, found := range declared.FindAllStringSubmatch(string(text), -1) {
			names = append(names, found[1])
		}
	}
	return names, nil
}
