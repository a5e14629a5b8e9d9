package console

import (
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/confetti-dp/confetti/internal/sanitize"
	"github.com/confetti-dp/confetti/internal/table/columnar"
	"github.com/confetti-dp/confetti/internal/testkit/example"
)

// hosts are those by which tests call a console: that of httptest.NewRequest, and that of sign-ins.
var hosts = []string{"example.com", "console.example"}

// get asks a console for a page.
func get(t testing.TB, c http.Handler, path string, head ...string) (*http.Response, string) {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, path, nil)
	for i := 0; i+1 < len(head); i += 2 {
		if r.Header.Set(head[i], head[i+1]); head[i] == "Host" {
			r.Host = head[i+1]
		}
	}
	return answered(t, c, r)
}

func answered(t testing.TB, c http.Handler, r *http.Request) (*http.Response, string) {
	t.Helper()
	w := httptest.NewRecorder()
	c.ServeHTTP(w, r)
	text, err := io.ReadAll(w.Result().Body)
	if err != nil {
		t.Fatal(err)
	}
	return w.Result(), string(text)
}

// wants fails unless the text has all of these.
func wants(t *testing.T, text string, all ...string) {
	t.Helper()
	for _, one := range all {
		if !strings.Contains(text, one) {
			t.Errorf("the page does not say %q:\n%s", one, text)
		}
	}
}

// Whatever a browser asks for, pages and failures alike, it is told to load nothing of anybody
// else, to show the page within no other, and to keep nothing.
func TestEveryAnswerHasItsHeaders(t *testing.T) {
	s, asked, crowds, _ := several(t)
	c, err := New(Options{Analyzer: base, Public: s, Hosts: []string{"127.0.0.1:8480"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/", "/plans/" + asked, "/releases/" + crowds, "/releases/" + crowds + "/counts.csv", "/static/console.css", "/none", "/plans/" + strings.Repeat("0", 64)} {
		res, text := get(t, c, "http://127.0.0.1:8480"+path)
		h := res.Header
		if p := h.Get("Content-Security-Policy"); !strings.Contains(p, "default-src 'none'") || !strings.Contains(p, "frame-ancestors 'none'") || strings.Contains(p, "unsafe-inline") {
			t.Errorf("%s: the policy is %q", path, p)
		}
		for name, want := range map[string]string{"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin"} {
			if h.Get(name) != want {
				t.Errorf("%s: %s is %q", path, name, h.Get(name))
			}
		}
		if !strings.HasPrefix(path, "/static") && h.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: Cache-Control is %q", path, h.Get("Cache-Control"))
		}
		if strings.Contains(text, "<style") || strings.Contains(text, " style=") || strings.Contains(text, " onclick=") {
			t.Errorf("%s has style or script within the page, which its policy forbids", path)
		}
	}
	// A release's own page has its style within it, and nothing else.
	res, _ := get(t, c, "http://127.0.0.1:8480/releases/"+crowds+"/html")
	if p := res.Header.Get("Content-Security-Policy"); p != releasePolicy {
		t.Errorf("a release's page has the policy %q", p)
	}
}

// The table of counts is offered as Parquet too, made of the one that is published; a file that no release has is not.
func TestCountsInColumns(t *testing.T) {
	s, _, crowds, _ := several(t)
	c, err := New(Options{Analyzer: base, Hosts: hosts, Public: s})
	if err != nil {
		t.Fatal(err)
	}
	at := "/releases/" + crowds
	_, page := get(t, c, at)
	wants(t, page, "/counts.csv", "/counts.parquet")
	_, table := get(t, c, at+"/counts.csv")
	res, file := get(t, c, at+"/counts.parquet")
	if res.Header.Get("Content-Type") != "application/vnd.apache.parquet" || !strings.Contains(res.Header.Get("Content-Disposition"), "counts.parquet") {
		t.Errorf("it comes as %q, %q", res.Header.Get("Content-Type"), res.Header.Get("Content-Disposition"))
	}
	f, err := parquet.OpenFile(strings.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	if digest, _ := f.Lookup(columnar.DigestKey); digest != fmt.Sprintf("%x", sha256.Sum256([]byte(table))) || f.NumRows() != int64(strings.Count(table, "\n")-1) {
		t.Errorf("%d rows, of the table %s", f.NumRows(), digest)
	}
	if res, _ := get(t, c, at+"/sums.parquet"); res.StatusCode != http.StatusNotFound {
		t.Errorf("a table that no release has: %d", res.StatusCode)
	}
}

// A page of another site can neither have its name lead here, nor ask for anything that changes.
func TestStrangersAreRefused(t *testing.T) {
	s, _, _, _ := several(t)
	c, err := New(Options{Analyzer: base, Public: s, Hosts: []string{"127.0.0.1:8480"}})
	if err != nil {
		t.Fatal(err)
	}
	if res, text := get(t, c, "http://evil.example/"); res.StatusCode != http.StatusMisdirectedRequest || strings.Contains(text, "drink") {
		t.Errorf("another name: %d", res.StatusCode)
	}
	r := httptest.NewRequest(http.MethodPost, "http://127.0.0.1:8480/", strings.NewReader(""))
	r.Header.Set("Sec-Fetch-Site", "cross-site")
	if res, _ := answered(t, c, r); res.StatusCode != http.StatusForbidden {
		t.Errorf("a form of another site: %d", res.StatusCode)
	}
}

// Words of others that would turn text round, hide it or command a terminal are written out on every page, in
// attributes too; a form that says a name as the page shows it means that name.
func TestPagesWriteOutWhatDoesNotShow(t *testing.T) {
	s, _, _, _ := several(t)
	p := example.Histograms()["crowds"]
	p.Title, p.Crowd.Deletion = "Drink\u202ekrab\u2066 or\u200b tea?", nil
	crowds := slices.Clone(p.Crowd.Names)
	crowds[0] = "nor\u202eth"
	p.Crowd.Names = crowds
	name := s.add(t, p, example.Drinkers())
	c, err := New(Options{Analyzer: base, Hosts: hosts, Public: s})
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/", "/plans/" + name, "/releases/" + name, "/releases/" + name + "?crowd=" + url.QueryEscape("south") + "&with=" + url.QueryEscape(`nor\u202eth`), "/releases/" + name + "?crowd=%E2%80%AE"} {
		_, text := get(t, c, path)
		if at := strings.IndexFunc(text, func(r rune) bool { return sanitize.Hidden(r) && !strings.ContainsRune("\n\t", r) }); at >= 0 {
			t.Errorf("%s has %q", path, text[max(0, at-40):at+8])
		}
		if strings.Contains(path, "releases") {
			wants(t, text, `nor\u202eth`)
		}
		if strings.Contains(path, "with=") {
			wants(t, text, `<option selected>nor\u202eth</option>`)
		}
	}
}

func TestCollectionsAreListed(t *testing.T) {
	s, asked, crowds, _ := several(t)
	s.hopsOf(t, asked, "at least 4096")
	c, err := New(Options{Analyzer: base, Hosts: hosts, Public: s, Operator: s})
	if err != nil {
		t.Fatal(err)
	}
	_, text := get(t, c, "/")
	wants(t, text, "How do you come to work?", "at least 4096", "/releases/"+crowds, "51 of 100", "withheld", "published")
	_, text = get(t, c, "/plans/"+asked)
	wants(t, text, "coffee", "Everybody on the way together", "Whoever reads the result", "Your device", "confetti plan check", "at least 4096")
	// Where nobody may know how many came, nothing is told, whatever the hop says.
	_, text = get(t, c, "/releases/"+asked) // of a collection that is open
	if strings.Contains(text, "Put values") {
		t.Error("an open collection has a release")
	}
}

// A group on the page is what the analyzer's own estimators make of it, and only cells that
// are there are taken.
func TestAReleaseIsRegroupedAndCompared(t *testing.T) {
	s, _, crowds, sampled := several(t)
	c, err := New(Options{Analyzer: base, Hosts: hosts, Public: s})
	if err != nil {
		t.Fatal(err)
	}
	one, err := c.analyzer.plan(t.Context(), crowds)
	if err != nil {
		t.Fatal(err)
	}
	r, err := c.analyzer.release(t.Context(), one)
	if err != nil {
		t.Fatal(err)
	}
	table := r.tables[0][0]
	count, _, low, high, ok := table.group.Group([]int{0, 1}, level)
	if !ok || table.Respondents != 3000 {
		t.Fatalf("%+v", table)
	}
	_, text := get(t, c, "/releases/"+crowds+"?crowd="+url.QueryEscape(table.Crowd)+"&pick=0&pick=1&with=south")
	from, to := count.Interval(level)
	wants(t, text, people(from)+" to "+people(to), "The best guess is "+people(count.Mean), share(low), share(high), "hold “coffee” or “tea”", "points (")
	_, text = get(t, c, "/releases/"+sampled+"?attribute=rising&pick=3")
	wants(t, text, "<details open><summary>Put values together", "95 % sure")
	for _, bad := range []string{"pick=99", "pick=-1", "pick=x", "pick=0&pick=0"} {
		if res, _ := get(t, c, "/releases/"+crowds+"?"+bad); res.StatusCode != http.StatusBadRequest {
			t.Errorf("%s: %d", bad, res.StatusCode)
		}
	}
}

// An analyzer that gives something else than was asked for is told so, and nothing is drawn.
func TestAnotherPlansReleaseIsRefused(t *testing.T) {
	s, _, crowds, sampled := several(t)
	for at := range s.answers {
		if strings.HasSuffix(at, sampled) || strings.HasSuffix(at, sampled+".json") {
			s.answers[at] = s.answers[strings.Replace(at, sampled, crowds, 1)]
		}
	}
	c, err := New(Options{Analyzer: base, Hosts: hosts, Public: s})
	if err != nil {
		t.Fatal(err)
	}
	if res, text := get(t, c, "/releases/"+sampled); res.StatusCode != http.StatusBadGateway || strings.Contains(text, "coffee") {
		t.Errorf("%d:\n%s", res.StatusCode, text)
	}
}
