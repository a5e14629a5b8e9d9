package wire

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

// The documents are read, so that a path or code that is in the code alone, or in
// a document alone, fails here.
func document(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// routes are the patterns that any service answers: constants of this package,
// and literals of those that package serve answers for all of them.
func routes(t *testing.T) []string {
	t.Helper()
	pattern := regexp.MustCompile(`^(GET|PUT|POST) (/\S*)$`)
	var found []string
	for _, dir := range []string{".", filepath.Join("..", "service", "serve")} {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(f, func(n ast.Node) bool {
				if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING {
					if s, err := strconv.Unquote(l.Value); err == nil && pattern.MatchString(s) {
						found = append(found, strings.Replace(s, "{$}", "", 1))
					}
				}
				return true
			})
		}
	}
	slices.Sort(found)
	if found = slices.Compact(found); len(found) < 16 {
		t.Fatalf("found %d routes: the test looks in the wrong place", len(found))
	}
	return found
}

// problemTable is the table of docs/wire-http.md.
func problemTable() string {
	var b strings.Builder
	b.WriteString("| code | status | again | what is wrong | remedy |\n| --- | --- | --- | --- | --- |\n")
	for _, k := range Kinds {
		again := ""
		if k.Retry {
			again = "yes"
		}
		fmt.Fprintf(&b, "| `%s` | %d | %s | %s | %s |\n", k.Code, k.Status, again, k.Title, k.Remedy)
	}
	return b.String()
}

func TestWireDocumentIsWhole(t *testing.T) {
	text := document(t, "wire-http.md")
	if !strings.Contains(text, problemTable()) {
		t.Errorf("docs/wire-http.md lacks this table of problems:\n%s", problemTable())
	}
	for _, r := range routes(t) {
		if !strings.Contains(text, "`"+r+"`") {
			t.Errorf("docs/wire-http.md lacks %s", r)
		}
	}
	for _, mediaType := range []string{ContributionType, BatchType, PartedType, PartType, TokenRequestType, TokenResponseType, SignedPlanType, SignedPlansType, SignedRoundType, WithdrawalType, StateType, ProblemType} {
		if !strings.Contains(text, "`"+mediaType+"`") {
			t.Errorf("docs/wire-http.md lacks %s", mediaType)
		}
	}
	documented := regexp.MustCompile("`(?:GET|PUT|POST) (/[^` ]*)`").FindAllStringSubmatch(text, -1)
	for _, d := range documented {
		if !slices.ContainsFunc(routes(t), func(r string) bool { return strings.HasSuffix(r, " "+d[1]) }) {
			t.Errorf("docs/wire-http.md has %s, which no service answers", d[1])
		}
	}
}

type openAPI struct {
	OpenAPI    string                          `yaml:"openapi"`
	Paths      map[string]map[string]yaml.Node `yaml:"paths"`
	Components struct {
		Schemas struct {
			Code struct {
				Enum []Code `yaml:"enum"`
			} `yaml:"Code"`
		} `yaml:"schemas"`
	} `yaml:"components"`
}

type operation struct {
	OperationID string `yaml:"operationId"`
	RequestBody struct {
		Content map[string]yaml.Node `yaml:"content"`
	} `yaml:"requestBody"`
	Responses map[string]yaml.Node `yaml:"responses"`
	Codes     []Code               `yaml:"x-codes"`
}

func TestOpenAPIAgrees(t *testing.T) {
	text := document(t, "openapi.yaml")
	var api openAPI
	if err := yaml.Unmarshal([]byte(text), &api); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(api.OpenAPI, "3.1.") {
		t.Errorf("OpenAPI %s", api.OpenAPI)
	}
	var codes []Code
	for _, k := range Kinds {
		codes = append(codes, k.Code)
	}
	if !slices.Equal(api.Components.Schemas.Code.Enum, codes) {
		t.Errorf("the schema Code has %v, want %v", api.Components.Schemas.Code.Enum, codes)
	}
	var found []string
	used := map[Code]bool{NotFound: true, UnknownVersion: true, MethodNotAllowed: true} // of paths that are not there
	names := map[string]bool{}
	for path, item := range api.Paths {
		for method, node := range item {
			if method == "parameters" {
				continue
			}
			route := strings.ToUpper(method) + " " + path
			found = append(found, route)
			var op operation
			if err := node.Decode(&op); err != nil {
				t.Fatalf("%s: %v", route, err)
			}
			if op.OperationID == "" || names[op.OperationID] {
				t.Errorf("%s: no operationId of its own", route)
			}
			names[op.OperationID] = true
			if _, ok := op.Responses["default"]; !ok || len(op.Codes) == 0 {
				t.Errorf("%s: no problems are described", route)
			}
			status := 0
			for _, c := range op.Codes {
				k, known := KindOf(c)
				if !known {
					t.Errorf("%s: code %s does not exist", route, c)
				}
				if k.Status < status {
					t.Errorf("%s: code %s is not in the order of statuses", route, c)
				}
				status, used[c] = k.Status, true
			}
			for mediaType := range op.RequestBody.Content {
				if mediaType == "application/json" { // of an operator, to the service alone
					continue
				}
				if !slices.Contains([]string{ContributionType, BatchType, PartedType, PartType, TokenRequestType, SignedPlanType, SignedPlansType, SignedRoundType, LoggedPlanType, WithdrawalType, StateType, EvidenceType, SignedReleaseType, "message/ohttp-req"}, mediaType) {
					t.Errorf("%s: no body has type %s", route, mediaType)
				}
			}
			for _, part := range regexp.MustCompile(`\{(\w+)\}`).FindAllStringSubmatch(path, -1) {
				parameters := item["parameters"]
				own, _ := yaml.Marshal(&node)
				shared, _ := yaml.Marshal(&parameters)
				if s := string(own) + string(shared); !strings.Contains(s, "name: "+part[1]+"\n") && !strings.Contains(s, "/parameters/"+part[1]) {
					t.Errorf("%s: {%s} is not described", route, part[1])
				}
			}
		}
	}
	slices.Sort(found)
	if want := routes(t); !slices.Equal(found, want) {
		t.Errorf("the paths are\n%s\nand the services answer\n%s", strings.Join(found, "\n"), strings.Join(want, "\n"))
	}
	for _, c := range codes {
		if !used[c] {
			t.Errorf("no operation answers with %s", c)
		}
	}
	for _, ref := range regexp.MustCompile(`\$ref: '#/components/(\w+)/(\w+)'`).FindAllStringSubmatch(text, -1) {
		if !regexp.MustCompile(`(?m)^    ` + ref[2] + `:`).MatchString(text) {
			t.Errorf("the reference to %s/%s leads nowhere", ref[1], ref[2])
		}
	}
}
