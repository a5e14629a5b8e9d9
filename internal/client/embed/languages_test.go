package embed

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// function is one of the header: what it takes and gives.
type function struct{ gives, name, takes string }

// functions returns those of a header, in its order.
func functions(header string) (all []function) {
	for _, m := range regexp.MustCompile(`(?m)^(char \*|void |uint64_t )(confetti_\w+)\(([^)]*)\);`).FindAllStringSubmatch(header, -1) {
		all = append(all, function{strings.TrimSpace(m[1]), m[2], strings.TrimSuffix(m[3], "void")})
	}
	return all
}

// many returns how many arguments stand between commas.
func many(arguments string) int {
	depth, n := 0, 1
	for _, c := range arguments {
		switch {
		case strings.ContainsRune("([{", c):
			depth++
		case strings.ContainsRune(")]}", c):
			depth--
		case c == ',' && depth == 0:
			n++
		}
	}
	if strings.TrimSpace(arguments) == "" {
		return 0
	}
	return n
}

// kotlin returns how JNA declares a function.
func (f function) kotlin() string {
	types := map[string]string{"const char *": "String", "char *": "Pointer", "uint64_t": "Long", "int": "Int", "double": "Double"}
	var takes []string
	for a := range strings.SplitSeq(f.takes, ",") {
		if m := regexp.MustCompile(`^(.*?)(\w+)$`).FindStringSubmatch(strings.TrimSpace(a)); m != nil {
			takes = append(takes, m[2]+": "+types[strings.TrimSpace(m[1])])
		}
	}
	line := "fun " + f.name + "(" + strings.Join(takes, ", ") + ")"
	if f.gives != "void" {
		line += ": " + types[f.gives]
	}
	return line
}

// drift lists what Kotlin declares otherwise than a header, and what Swift calls with another number of arguments. Kotlin
// declares all of it; Swift calls what it needs.
func drift(header, kotlin, swift string) (bad []string) {
	takes := map[string]int{}
	var want []string
	for _, f := range functions(header) {
		takes[f.name] = many(f.takes)
		want = append(want, f.kotlin())
	}
	declared := regexp.MustCompile(`fun confetti_\w+\(.*`).FindAllString(kotlin, -1)
	for _, line := range declared {
		if !slices.Contains(want, line) {
			bad = append(bad, "Kotlin: "+line)
		}
	}
	for _, line := range want {
		if !slices.Contains(declared, line) {
			bad = append(bad, "Kotlin lacks "+line)
		}
	}
	for _, at := range regexp.MustCompile(`confetti_\w+\(`).FindAllStringIndex(swift, -1) {
		end, depth := at[1], 1
		for ; end < len(swift) && depth > 0; end++ {
			depth += strings.Count("(", swift[end:end+1]) - strings.Count(")", swift[end:end+1])
		}
		name := swift[at[0] : at[1]-1]
		if n, known := takes[name]; !known || n != many(swift[at[1]:end-1]) {
			bad = append(bad, "Swift: "+swift[at[0]:end])
		}
	}
	return bad
}

// Every language calls what the header has, with the arguments that it takes; nobody here compiles Swift. Python compares
// itself with the header (client/python/tests). A header that changes is found.
func TestLanguagesCallWhatTheHeaderHas(t *testing.T) {
	read := func(file string) string {
		text, err := os.ReadFile("../../../" + file)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	header, kotlin := read("cmd/libconfetti/include/confetti.h"), read("client/kotlin/src/main/kotlin/dev/confetti/Confetti.kt")
	swift := read("client/swift/Sources/Confetti/Confetti.swift") + read("client/swift/Sources/Confetti/Metrics.swift")
	if n := len(functions(header)); n != strings.Count(header, "confetti_")-mentioned(header) || n < 18 {
		t.Errorf("%d functions of the header are read", n)
	}
	if n := strings.Count(swift, "confetti_"); n < 18 {
		t.Errorf("Swift calls %d times", n)
	}
	for _, bad := range drift(header, kotlin, swift) {
		t.Error(bad)
	}
	for from, to := range map[string]string{
		"const char *options, uint64_t call)": "const char *options)", "int agreed": "double agreed", "confetti_ledger(": "confetti_kept(",
		"void confetti_close(uint64_t device)": "char *confetti_close(uint64_t device)", "(uint64_t metrics);": "(uint64_t metrics, int more);",
	} {
		if changed := strings.ReplaceAll(header, from, to); changed == header || len(drift(changed, kotlin, swift)) == 0 {
			t.Errorf("nobody misses %q in the place of %q", to, from)
		}
	}
	if bad := drift(header, kotlin, strings.Replace(swift, "confetti_call(limit)", "confetti_call()", 1)); len(bad) != 1 {
		t.Errorf("a call of Swift without its argument: %q", bad)
	}
}

// mentioned returns how often the comments of a header name a function.
func mentioned(header string) (n int) {
	for _, comment := range regexp.MustCompile(`(?s)/\*.*?\*/`).FindAllString(header, -1) {
		n += strings.Count(comment, "confetti_")
	}
	return n
}
