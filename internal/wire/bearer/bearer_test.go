package bearer

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/internal/testkit/costlimit"
)

// A token is shown at the address that it is for, however that is written, and nowhere else.
func TestATokenIsShownAtItsAddressAlone(t *testing.T) {
	tokens, err := parse([]byte("# ours\nhttps://hop.example:8443 one\n\n  https://Analyzer.example/\ttwo=  \r\nhttps://[2001:db8::1]:8443 three"))
	if err != nil {
		t.Fatal(err)
	}
	for url, want := range map[string]string{
		"https://hop.example:8443": "one", "https://HOP.example:8443/v1/plans": "one", "https://hop.example:8443/?a=b": "one",
		"https://analyzer.example": "two=", "https://analyzer.example:443/status.json": "two=", "https://[2001:db8::1]:8443/x": "three",
		"https://hop.example": "", "https://hop.example:8444": "", "http://hop.example:8443": "", "https://hop.example:84431/": "", "https://a.hop.example:8443": "",
		"https://hop.example:8443@evil.example/": "", "https://evil.example/https://hop.example:8443": "", "https://evil.example#@hop.example:8443": "", "https://hop.example:8443.evil.example": "",
	} {
		r, err := http.NewRequest(http.MethodGet, url, nil)
		if err != nil {
			t.Logf("%s: %v", url, err) // no request goes there at all
		} else if tokens.Show(r); r.Header.Get("Authorization") != map[bool]string{true: "Bearer " + want}[want != ""] {
			t.Errorf("%s is shown %q, want %q", url, r.Header.Get("Authorization"), want)
		}
		if tokens.Opens(url) != (want != "") {
			t.Errorf("%s is opened: %v", url, tokens.Opens(url))
		}
	}
	if tokens.None() || !(Tokens{}).None() || (Tokens{}).Opens("https://hop.example:8443") {
		t.Error("no tokens open something, or some open nothing")
	}
}

// What is wrong is said by its line and never by what stands there: it may be a token.
func TestFilesThatAreWrong(t *testing.T) {
	const secret = "cft_Ow3rf"
	good := "https://hop.example:8443 " + secret + "\n"
	for name, c := range map[string]struct{ text, want string }{
		"empty":            {"", "no line has an address"},
		"comments":         {"# " + secret + "\n\n", "no line has an address"},
		"a token alone":    {secret + "\n", "line 1: give the address of a service and its token"},
		"an address alone": {good + "https://b.example\n", "line 2: give the address"},
		"three words":      {good + "\n" + good[:len(good)-1] + " x\n", "line 3: give the address"},
		"the other way":    {secret + " https://hop.example:8443\n", "line 1: an address of a service is"},
		"in the clear":     {"http://hop.example " + secret + "\n", "line 1: an address"},
		"a path":           {"https://hop.example/v1 " + secret + "\n", "line 1: an address"},
		"a query":          {"https://hop.example? " + secret + "\n", "line 1: an address"},
		"a fragment":       {"https://hop.example# " + secret + "\n", "line 1: an address"},
		"a user":           {"https://a:b@hop.example " + secret + "\n", "line 1: an address"},
		"no host":          {"https://:8443 " + secret + "\n", "line 1: an address"},
		"no token":         {good + "https://b.example cft:x\n", "line 2: no token"},
		"not ASCII":        {"https://b.example cft_\u00fc\n", "line 1: no token"},
		"twice":            {good + "\nhttps://HOP.example:8443/ other\n", "line 3: the service of line 1 again"},
	} {
		_, err := parse([]byte(c.text))
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), secret) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

func TestFilesOfTokensArePrivate(t *testing.T) {
	folder := t.TempDir()
	write := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	const line = "https://hop.example:8443 cft_x\n"
	if tokens, err := Read(write("good", line, 0o600)); err != nil || !tokens.Opens("https://hop.example:8443") {
		t.Errorf("%v", err)
	}
	if tokens, err := ReadOne(write("one", "cft_x\n", 0o400), "https://hop.example:8443"); err != nil || !tokens.Opens("https://hop.example:8443/x") || tokens.Opens("https://b.example:8443") {
		t.Errorf("%v", err)
	}
	wrong := map[string]func(string) error{
		"too large": func(name string) error {
			_, err := Read(write(name, line+strings.Repeat("#\n", maxFile), 0o600))
			return err
		},
		"nothing":  func(name string) error { _, err := Read(filepath.Join(folder, name)); return err },
		"a folder": func(string) error { _, err := Read(folder); return err },
		"two words": func(name string) error {
			_, err := ReadOne(write(name, "cft_x y", 0o600), "https://b.example")
			return err
		},
		"a place": func(name string) error {
			_, err := ReadOne(write(name, "cft_x", 0o600), "https://b.example/a")
			return err
		},
	}
	if runtime.GOOS != "windows" {
		for _, mode := range []os.FileMode{0o640, 0o604, 0o620, 0o644} {
			wrong[fmt.Sprintf("mode %o", mode)] = func(name string) error {
				path := write(name, line, 0o600)
				if err := os.Chmod(path, mode); err != nil {
					t.Fatal(err)
				}
				_, err := Read(path)
				if err != nil && !strings.Contains(err.Error(), "chmod 600") {
					t.Errorf("%s: %v", name, err)
				}
				return err
			}
		}
	}
	for name, read := range wrong {
		if err := read(name); err == nil || !strings.Contains(err.Error(), folder) || strings.Contains(err.Error(), "cft_x") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// said are all errors that a file of tokens may meet: none has anything of the file.
var said = regexp.MustCompile(`^(no line has an address and a token|line [0-9]+: (give the address of a service and its token, and nothing else|an address of a service is https://host:port, and nothing more|no token stands behind the address: see confetti token add|the service of line [0-9]+ again: leave out one of them))$`)

func FuzzParse(f *testing.F) {
	for _, text := range []string{"", "# a\nhttps://hop.example:8443 cft_x\n", "https://a b\r\nhttps://A/ c", "cft_x https://a", "https://a:1?x y", "https://[::1]:2 z=\x00"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var tokens Tokens
		var err error
		costlimit.Heap(t, costlimit.Factor, len(text), func() { tokens, err = parse(text) })
		if err != nil {
			if !said.MatchString(err.Error()) {
				t.Errorf("%q", err)
			}
			return
		}
		// What was read, written again, is the same.
		var lines []string
		for at, token := range tokens.hosts {
			lines = append(lines, "https://"+at+" "+token)
		}
		again, err := parse([]byte(strings.Join(lines, "\n")))
		if err != nil || len(again.hosts) != len(tokens.hosts) || slices.ContainsFunc(lines, func(line string) bool {
			at, token, _ := strings.Cut(line, " ")
			r, err := http.NewRequest(http.MethodGet, at+"/v1/plans", nil)
			if err != nil {
				return true
			}
			again.Show(r)
			return r.Header.Get("Authorization") != "Bearer "+token
		}) {
			t.Errorf("%v: %q becomes %q", err, tokens.hosts, again.hosts)
		}
	})
}
