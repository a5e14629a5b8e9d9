package console

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/internal/storage/atomicfile"
)

// remembering is a console with a folder, as it is after a start.
func remembering(t *testing.T, folder string, edit func(*Options)) *Console {
	t.Helper()
	s, _, _, _ := several(t)
	o := Options{Analyzer: base, Hosts: hosts, Public: s, Operator: s, Folder: folder, Names: []string{"ada"}, Backup: func(context.Context) (string, error) { return "copy.db", nil }}
	if edit != nil {
		edit(&o)
	}
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// formOf is the secret of the forms of a session.
func formOf(t *testing.T, c *Console, cookie *http.Cookie) url.Values {
	t.Helper()
	one, ok := c.sessions.Find(cookie.Value)
	if !ok {
		t.Fatal("the session is not there")
	}
	return url.Values{"csrf": {one.Form}, "sure": {"yes"}}
}

// A restart leaves an operator logged in, with the forms of pages that are open, and shows what was
// done before it; logging out ends that for good, and so does who is no operator any more.
func TestSessionsAndDeedsOutlastAConsole(t *testing.T) {
	folder := t.TempDir()
	now := time.Now()
	clock := func(o *Options) { o.Now = func() time.Time { return now } }
	first := remembering(t, folder, clock)
	cookie, csrf := login(t, first)
	if _, err := New(Options{Analyzer: base, Hosts: hosts, Public: first.o.Public, Folder: folder}); !errors.Is(err, atomicfile.ErrLocked) {
		t.Errorf("two consoles have a folder: %v", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}

	second := remembering(t, folder, clock)
	_, page := get(t, second, "/operator", "Cookie", cookie.Name+"="+cookie.Value)
	wants(t, page, "logged in as ada", "ada logged in by a link")
	if res, text := post(t, second, "/operator/backup", cookie, url.Values{"csrf": {csrf}, "sure": {"yes"}}); res.StatusCode != http.StatusSeeOther {
		t.Errorf("a form of before the restart: %d\n%s", res.StatusCode, text)
	}
	if res, _ := post(t, second, "/operator/backup", cookie, url.Values{"csrf": {"x"}, "sure": {"yes"}}); res.StatusCode != http.StatusForbidden {
		t.Errorf("a form of another site: %d", res.StatusCode)
	}
	if err := second.Close(); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{sessionsFile, deedsFile} {
		text, err := os.ReadFile(filepath.Join(folder, file))
		if err != nil || strings.Contains(string(text), cookie.Value) || strings.Contains(string(text), csrf) {
			t.Errorf("%s: %v, or it has a secret", file, err)
		}
		if info, err := os.Stat(filepath.Join(folder, file)); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s is for others too: %v", file, err)
		}
	}

	others := remembering(t, folder, func(o *Options) { o.Names = nil })
	if _, ok := others.sessions.Find(cookie.Value); ok {
		t.Error("who is no operator any more is logged in")
	}
	others.Close()

	third := remembering(t, folder, clock)
	other, _ := login(t, third)
	late, _ := login(t, third)
	form := formOf(t, third, other)
	if res, _ := post(t, third, "/logout", other, form); res.StatusCode != http.StatusSeeOther || len(res.Cookies()) != 1 || res.Cookies()[0].MaxAge >= 0 {
		t.Errorf("logging out: %d, %v", res.StatusCode, res.Cookies())
	}
	third.Close()
	fourth := remembering(t, folder, clock)
	if _, ok := fourth.sessions.Find(other.Value); ok {
		t.Error("a session is back that was logged out")
	}
	if _, ok := fourth.sessions.Find(late.Value); !ok {
		t.Error("another session ended with it")
	}
	now = now.Add(12 * time.Hour)
	if res, _ := get(t, fourth, "/operator", "Cookie", late.Name+"="+late.Value); res.StatusCode != http.StatusForbidden {
		t.Errorf("an old session: %d", res.StatusCode)
	}
	for i, want := range []string{"logged out", "logged in by a link", "logged in by a link", "backed the analyzer up to copy.db", "begins to back the analyzer up", "logged in by a link"} {
		if d := fourth.deeds.newest()[i]; d.Who != "ada" || d.What != want {
			t.Errorf("deed %d: %+v, want %q", i, d, want)
		}
	}
}

// failing is a file on a disk that is full after so many bytes.
type failing struct {
	appender
	left int
}

func (f *failing) Write(b []byte) (int, error) {
	n := min(f.left, len(b))
	f.left -= n
	if written, err := f.appender.Write(b[:n]); err != nil || n == len(b) {
		return written, err
	}
	return n, errors.New("no space left on device")
}

// What cannot be written down is not done, and leaves the file as it was.
func TestNothingIsDoneThatCannotBeWrittenDown(t *testing.T) {
	folder := t.TempDir()
	backups := 0
	c := remembering(t, folder, func(o *Options) {
		o.Backup = func(context.Context) (string, error) { backups++; return "copy.db", nil }
	})
	cookie, _ := login(t, c)
	form := formOf(t, c, cookie)
	before, err := os.ReadFile(filepath.Join(folder, deedsFile))
	if err != nil {
		t.Fatal(err)
	}
	whole := c.deeds.file
	for _, left := range []int{0, 1, 30} {
		c.deeds.file = &failing{whole, left}
		if res, text := post(t, c, "/operator/backup", cookie, form); res.StatusCode != http.StatusInsufficientStorage || backups > 0 {
			t.Errorf("%d bytes left: %d, %d backups\n%s", left, res.StatusCode, backups, text)
		}
		if now, err := os.ReadFile(filepath.Join(folder, deedsFile)); err != nil || string(now) != string(before) {
			t.Errorf("%d bytes left: the file is %q, %v", left, now, err)
		}
	}
	link := c.Login("ada")
	c.deeds.file = &failing{whole, 0}
	if res, _ := post(t, c, link, nil, nil); res.StatusCode != http.StatusInsufficientStorage || len(res.Cookies()) > 0 {
		t.Errorf("somebody is let in whom nobody would know of: %d", res.StatusCode)
	}
	c.deeds.file = whole
	if res, _ := post(t, c, "/operator/backup", cookie, form); res.StatusCode != http.StatusSeeOther || backups != 1 {
		t.Errorf("with room again: %d, %d backups", res.StatusCode, backups)
	}
}

// A line that was not written to its end is taken off, of many deeds the newest are shown, and a
// file of something else is refused.
func TestDeedsAreReadAgain(t *testing.T) {
	line := func(i int) string {
		return fmt.Sprintf(`{"at":"2026-11-23T08:30:00Z","who":"ada","what":"did %d"}`, i) + "\n"
	}
	var many strings.Builder
	for i := range 5000 {
		many.WriteString(line(i))
	}
	for name, c := range map[string]struct {
		text, newest string
		deeds        int
		refused      bool
	}{
		"nothing":             {"", "", 0, false},
		"torn":                {line(1) + line(2)[:20], "did 1", 1, false},
		"torn from the start": {line(1)[:20], "", 0, false},
		"many, torn":          {many.String() + line(1)[:30], "did 4999", shownDeeds, false},
		"another file":        {"hello\n", "", 0, true},
		"no line ends":        {strings.Repeat("x", 2*maxDeed), "", 0, true},
		"a damaged line":      {line(1) + "{}\n" + line(2), "", 0, true},
	} {
		folder := t.TempDir()
		path := filepath.Join(folder, deedsFile)
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		s, _, _, _ := several(t)
		console, err := New(Options{Analyzer: base, Hosts: hosts, Public: s, Folder: folder})
		if (err != nil) != c.refused {
			t.Errorf("%s: %v", name, err)
		}
		if err != nil {
			if after, _ := os.ReadFile(path); string(after) != c.text {
				t.Errorf("%s: a file that was refused is changed", name)
			}
			continue
		}
		if err := console.deeds.add("bob", "came"); err != nil {
			t.Fatal(err)
		}
		all := console.deeds.newest()
		if len(all) != min(c.deeds+1, shownDeeds) || c.newest != "" && all[1].What != c.newest {
			t.Errorf("%s: %d deeds, %+v", name, len(all), all[:min(2, len(all))])
		}
		console.Close()
		if text, _ := os.ReadFile(path); !strings.HasSuffix(string(text), "\"what\":\"came\"}\n") || strings.Count(string(text), "\n") != strings.Count(c.text, "\n")+1 {
			t.Errorf("%s: the file ends %q", name, text[max(0, len(text)-200):])
		}
	}
}

// However much operators do, two files of bounded size have it, and the page the newest of both; a
// deed that fills a file while the disk is full is refused, and written when there is room.
func TestDeedsAreBounded(t *testing.T) {
	folder := t.TempDir()
	onDisk := func() (all int64) {
		files, err := filepath.Glob(filepath.Join(folder, "deeds*"))
		if err != nil || len(files) > 2 {
			t.Fatalf("%v: %q", err, files)
		}
		for _, file := range files {
			info, err := os.Stat(file)
			if err != nil {
				t.Fatal(err)
			}
			all += info.Size()
		}
		return all
	}
	const most = 4 << 10
	act := func(c *Console, n int) {
		for i := range n {
			if err := c.deeds.add("ada", fmt.Sprintf("did %d", i)); err != nil {
				t.Fatal(err)
			}
		}
	}
	c := remembering(t, folder, nil)
	c.deeds.most = most
	act(c, 1000)
	if size := onDisk(); size > 2*most {
		t.Errorf("%d bytes of deeds, and at most %d", size, 2*most)
	}
	c.Close()
	text, err := os.ReadFile(filepath.Join(folder, deedsFile))
	if err != nil {
		t.Fatal(err)
	}
	c = remembering(t, folder, nil)
	if all := c.deeds.newest(); len(all) != shownDeeds || all[0].What != "did 999" || all[shownDeeds-1].What != fmt.Sprintf("did %d", 1000-shownDeeds) {
		t.Errorf("after a restart, of %d lines in the newer file: %+v", strings.Count(string(text), "\n"), all)
	}
	// A file that is never full grows: the measure above sees it.
	c.deeds.most = 1 << 40
	act(c, 100)
	if size := onDisk(); size <= 2*most {
		t.Errorf("unbounded deeds take %d bytes", size)
	}
	c.deeds.most = most
	c.deeds.folder = filepath.Join(folder, "not there")
	if err := c.deeds.add("ada", "lost"); err == nil {
		t.Error("what could not be written down was done")
	}
	c.deeds.folder = folder
	act(c, 1)
	if all := c.deeds.newest(); all[0].What != "did 0" || all[1].What == "lost" {
		t.Errorf("%+v", all[:2])
	}
}

const killedFolder = "CONFETTI_TEST_CONSOLE"

// TestToBeKilled is the program that the test below kills: operators log in and out, and what has
// been acknowledged is printed.
func TestToBeKilled(t *testing.T) {
	folder := os.Getenv(killedFolder)
	if folder == "" {
		t.Skip("it is for the test of a console that is killed")
	}
	c := remembering(t, folder, nil)
	for i := range 10000 {
		cookie, _ := login(t, c)
		fmt.Printf("in %s\n", cookie.Value)
		if i%2 == 0 {
			post(t, c, "/logout", cookie, formOf(t, c, cookie))
			fmt.Printf("out %s\n", cookie.Value)
		}
	}
}

// Killed at any moment, a console has every session and deed that it has acknowledged, and no
// session that it said was over.
func TestAConsoleThatIsKilled(t *testing.T) {
	for round := range 3 {
		folder := t.TempDir()
		run := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestToBeKilled$")
		run.Env = append(os.Environ(), killedFolder+"="+folder)
		out, err := run.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := run.Start(); err != nil {
			t.Fatal(err)
		}
		in, ended, deeds := map[string]bool{}, map[string]bool{}, 0
		lines := bufio.NewScanner(out)
		for deeds < 12+7*round && lines.Scan() {
			switch word, cookie, _ := strings.Cut(lines.Text(), " "); word {
			case "in":
				in[cookie] = true
				deeds++
			case "out":
				ended[cookie] = true
				deeds++
			}
		}
		if err := run.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		for lines.Scan() { // what it acknowledged before it died
			switch word, cookie, _ := strings.Cut(lines.Text(), " "); {
			case word == "in" && len(cookie) == 43:
				in[cookie] = true
				deeds++
			case word == "out" && len(cookie) == 43:
				ended[cookie] = true
				deeds++
			}
		}
		run.Wait() // it was killed
		c := remembering(t, folder, nil)
		lost := 0
		for cookie := range in {
			if _, there := c.sessions.Find(cookie); there && ended[cookie] {
				t.Error("a session is back that was over")
			} else if !there && !ended[cookie] {
				lost++ // one may be over that was not said to be
			}
		}
		if lost > 1 || len(in) < 6 {
			t.Errorf("%d sessions of %d are lost", lost, len(in))
		}
		if got := len(c.deeds.newest()); got < min(deeds, shownDeeds) {
			t.Errorf("%d deeds of %d", got, deeds)
		}
		c.Close()
	}
}
