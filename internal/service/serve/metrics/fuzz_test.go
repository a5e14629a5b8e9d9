package metrics_test

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/confetti-dp/confetti/internal/service/serve/metrics"
	"github.com/confetti-dp/confetti/internal/testkit/costlimit"
)

// sample is a line of the format, read.
type sample struct {
	name   string
	labels map[string]string
	value  float64
}

// read reads the text format by its grammar, character by character, and knows nothing of how we
// write it. It fails the test at what the grammar does not allow.
func read(t *testing.T, text string) (all []sample, help map[string]string) {
	t.Helper()
	help = map[string]string{}
	if !utf8.ValidString(text) || !strings.HasSuffix(text, "\n") {
		t.Fatalf("%q is no text of whole lines", text)
	}
	of := "" // the instrument that TYPE named
	for _, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		if words, ok := strings.CutPrefix(line, "# HELP "); ok {
			name, words, _ := strings.Cut(words, " ")
			if _, twice := help[name]; twice {
				t.Fatalf("%s has help twice", name)
			}
			help[name] = unescape(t, words, "")
			continue
		}
		if words, ok := strings.CutPrefix(line, "# TYPE "); ok {
			name, kind, _ := strings.Cut(words, " ")
			if of = name; kind != "counter" && kind != "gauge" && kind != "histogram" {
				t.Fatalf("%q is no type", kind)
			}
			continue
		}
		end := strings.IndexAny(line, "{ ")
		if end < 1 || !strings.HasPrefix(line[:end], of) {
			t.Fatalf("%q is no line of %s", line, of)
		}
		one := sample{name: line[:end], labels: map[string]string{}}
		rest := line[end:]
		if rest[0] == '{' {
			for rest = rest[1:]; rest[0] != '}'; {
				label, behind, found := strings.Cut(rest, `="`)
				if !found || label == "" || strings.ContainsAny(label, `{},="\ `) {
					t.Fatalf("%q: no label at %q", line, rest)
				}
				close := 0
				for close < len(behind) && behind[close] != '"' {
					if behind[close] == '\\' {
						close++
					}
					close++
				}
				if close >= len(behind) {
					t.Fatalf("%q: a value does not end", line)
				}
				if _, twice := one.labels[label]; twice {
					t.Fatalf("%q: %s stands there twice", line, label)
				}
				one.labels[label] = unescape(t, behind[:close], `"`)
				if rest = behind[close+1:]; rest[0] == ',' {
					rest = rest[1:]
				} else if rest[0] != '}' {
					t.Fatalf("%q: %q is behind a value", line, rest)
				}
			}
			rest = rest[1:]
		}
		value, err := strconv.ParseFloat(strings.TrimPrefix(rest, " "), 64)
		if rest[0] != ' ' || err != nil {
			t.Fatalf("%q has no number: %v", line, err)
		}
		one.value = value
		all = append(all, one)
	}
	return all, help
}

// unescape returns what a text stands for; quotes are what may stand behind a backslash besides
// backslash and n.
func unescape(t *testing.T, s, quotes string) string {
	t.Helper()
	var out strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			out.WriteByte(s[i])
			continue
		}
		i++
		switch {
		case i < len(s) && s[i] == 'n':
			out.WriteByte('\n')
		case i < len(s) && (s[i] == '\\' || strings.IndexByte(quotes, s[i]) >= 0):
			out.WriteByte(s[i])
		default:
			t.Fatalf("%q escapes nothing", s)
		}
	}
	return out.String()
}

// Whatever the values of labels and the help are, a reader of the format gets them back: no value
// ends a line, a label or the text, or looks like another series.
func FuzzText(f *testing.F) {
	for _, s := range []string{"", "GET /v1/plans/{plan}", `a"b`, `a\`, "a\nb", "\r\n", `\n`, "\xff\xfe", "é\u2028", `x",le="1`, "} 5\nevil_total 7\n", "#", "\x00"} {
		f.Add(s, "other", s, int64(1500))
	}
	f.Fuzz(func(t *testing.T, first, second, about string, took int64) {
		s := metrics.New("p_")
		c := s.Counter("c", strings.ToValidUTF8(about, "?"), "one", "two")
		c.Add(3, first, second)
		h := s.Histogram("h", "", []float64{.5, 1}, "one")
		d := time.Duration(took % (1 << 40))
		h.Record(d, first)
		var text strings.Builder
		// What the runtime tells of itself takes the same whatever the labels are.
		costlimit.Heap(t, costlimit.Factor, len(first)+len(second)+len(about)+1<<14, func() {
			if err := s.Write(context.Background(), &text); err != nil {
				t.Fatal(err)
			}
		})
		ours, _, _ := strings.Cut(text.String(), "# HELP go_goroutines")
		if strings.Contains(first+second+about, "# HELP go_goroutines") {
			t.Skip()
		}
		ours, _, _ = strings.Cut(ours, "# HELP go_gc_gomemlimit_bytes")
		all, help := read(t, ours)
		valid := func(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
		if len(all) != 6 || all[0].name != "p_c_total" || all[0].value != 3 || len(all[0].labels) != 2 || all[0].labels["one"] != valid(first) || all[0].labels["two"] != valid(second) {
			t.Fatalf("%q and %q are read as %v", first, second, all)
		}
		if help["p_c_total"] != strings.ToValidUTF8(about, "?") {
			t.Errorf("%q is read as %q", about, help["p_c_total"])
		}
		for i, one := range all[1:4] {
			edge := []float64{.5, 1, 1e300}[i]
			if within := d.Seconds() <= edge; one.name != "p_h_seconds_bucket" || one.labels["one"] != valid(first) || (one.value == 1) != within {
				t.Errorf("%v is within %v: %v", d, edge, one)
			}
		}
		if all[4].name != "p_h_seconds_sum" || all[4].value != d.Seconds() || all[5].name != "p_h_seconds_count" || all[5].value != 1 {
			t.Errorf("%v is summed up as %v", d, all[4:])
		}
	})
}
