//go:build unix

package doctest

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/internal/loopback"
)

// page is what two strangers have, beside a folder each.
const page = "docs/tutorials/two-hospitals.md"

// sides are the two of the page, each a user of its own where the test may choose users.
var sides = map[string]int{"North": 61001, "South": 61002}

// typists says of each line of the page who types what stands there: whom the last heading names first, or
// the last paragraph that begins with a name; nobody before the first of them.
func typists(text string) []string {
	var who []string
	now := ""
	name := regexp.MustCompile(`North|South`)
	for line := range strings.SplitSeq(text, "\n") {
		if strings.HasPrefix(line, "## ") || len(line) > 4 && sides[line[:5]] != 0 {
			now = name.FindString(line)
		}
		who = append(who, now)
	}
	return who
}

// Two strangers get from nothing to a verified release, on both routes: each has one organisation's folder,
// what the other has sent it, and the page, every line of which is typed.
func TestTwoStrangers(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the programs and runs collections")
	}
	root := Clone(t, "../../..")
	text, err := os.ReadFile(filepath.Join(root, page))
	if err != nil {
		t.Fatal(err)
	}
	who, commands := typists(string(text)), CommandsIn(t, root, page)
	if len(commands) < 45 {
		t.Fatalf("only %d commands are printed", len(commands))
	}
	ports := strings.NewReplacer("8441", port(t), "8442", port(t), "8443", port(t), "8444", port(t))
	folders := t.TempDir()
	post := filepath.Join(folders, "post")
	if err := os.Mkdir(post, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(post, 0o777|os.ModeSticky); err != nil {
		t.Fatal(err)
	}
	session := map[string]*Session{"": NewSession(t, root, Patience(t))}
	if _, err := session[""].Run("export GOWORK=" + Together(t, root, filepath.Join(root, "lab"))); err != nil {
		t.Fatal(err)
	}
	for name, user := range sides {
		folder := filepath.Join(folders, strings.ToLower(name))
		if err := os.Mkdir(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		if os.Getuid() != 0 {
			user = os.Getuid()
		} else if err := os.Chown(folder, user, user); err != nil {
			t.Fatal(err)
		}
		s := newSessionAs(t, folder, Patience(t), user)
		session[name] = s
		if _, err := s.Run(fmt.Sprintf("export PATH=%q:$PATH", root)); err != nil {
			t.Fatal(err)
		}
	}
	said, serves := map[string]string{}, map[string]bool{}
	for i, c := range commands {
		begun, of := time.Now(), who[c.Line-1]
		if i > 0 && of == "" {
			t.Fatalf("%s: nobody types it: begin the heading or the paragraph before it with North or South", c)
		}
		s, line := session[of], ports.Replace(c.Text)
		if strings.HasPrefix(line, "confetti serve ") && !strings.HasSuffix(line, "--check") {
			if serves[c.Text] { // in the terminal where it runs already
				if _, err := s.Run(fmt.Sprintf("kill '%%?%[1]s'; wait '%%?%[1]s'", line)); err != nil {
					t.Logf("%s, once more: %v", c, err)
				}
			}
			serves[c.Text] = true
			err = s.Start(line, "msg=serving")
		} else {
			said[of+": "+c.Text], err = s.Run(line)
		}
		if err != nil {
			t.Fatalf("%s: %s\n%v", of, c, err)
		}
		t.Logf("%s: %s (%.1f s)", of, c, time.Since(begun).Seconds())
	}
	for command, words := range map[string]string{
		"North: ! confetti plan close ../post/plan.signed.json --roots hop/roots.pem --tokens hop/operator.tokens":       "open still: South",
		"North: ! confetti plan close ../post/sums.signed.json --roots leader/roots.pem --tokens leader/operator.tokens": "open still: South",
		"North: cat release/counts.csv":                                             "label,cluster 1,yes,",
		"North: confetti release verify release --publishers hop/publishers.txt":    "checks hold",
		"South: confetti release verify release --publishers office/publishers.txt": "checks hold",
		"North: confetti release verify sums --publishers leader/publishers.txt":    "checks hold",
		"South: confetti release verify sums --publishers office/publishers.txt":    "checks hold",
	} {
		if out, printed := said[command]; !printed || !strings.Contains(out, words) {
			t.Errorf("%s (printed: %v) does not say %q:\n%s", command, printed, words, out)
		}
	}
	for _, show := range []string{"North: confetti release show release", "North: confetti release show sums"} {
		if !regexp.MustCompile(`Respondents counted +400\n`).MatchString(said[show]) {
			t.Errorf("%s says\n%s", show, said[show])
		}
	}
	sent, err := os.ReadDir(post)
	if err != nil || len(sent) != 7 {
		t.Errorf("%d files were sent: %v", len(sent), err)
	}
	for _, file := range sent {
		if name := file.Name(); !strings.HasSuffix(name, ".card") && !strings.HasSuffix(name, ".signed.json") {
			t.Errorf("%s was sent, and is neither a card nor a signed plan", name)
		}
	}
	t.Run("apart", func(t *testing.T) {
		if os.Getuid() != 0 {
			t.Skip("only root may type as two users: both sides were the same one, with a folder each")
		}
		for of, other := range map[string]string{"North": "south/office/keys/publisher.json", "South": "north/hop/keys/open.json"} {
			if out, err := session[of].Run("! cat ../" + other); err != nil || !strings.Contains(out, "Permission denied") {
				t.Errorf("%s reads the other's keys: %v\n%s", of, err, out)
			}
		}
	})
	for name, s := range session {
		if err := s.End(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// port finds one that nothing listens on.
func port(t *testing.T) string {
	t.Helper()
	at, err := loopback.Port()
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(at)
}
