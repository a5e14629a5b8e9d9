package console

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/internal/release/sheets"
	"github.com/confetti-dp/confetti/internal/wire"
)

// waiting is an analyzer that answers one address when it is let.
type waiting struct {
	*services
	at    string
	asked chan struct{}
}

func (w *waiting) Get(ctx context.Context, url string) ([]byte, error) {
	if url == w.at {
		w.asked <- struct{}{}
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return w.services.Get(ctx, url)
}

// Strangers who have all places of strangers, and all turns of drawing, take none of an operator's. More
// of them are refused in a few words, and so would be an operator without places apart.
func TestStrangersTakeNoPlaceOfAnOperator(t *testing.T) {
	c, s, asked, _ := operated(t)
	cookie, _ := login(t, c)
	hash, err := wire.ParsePlanName(asked)
	if err != nil {
		t.Fatal(err)
	}
	most := c.o.limits().Others
	slow := &waiting{s, base + wire.PlanPath(hash), make(chan struct{}, 2*most)}
	c.analyzer.ask, c.analyzer.plans = slow, nil
	ctx, leave := context.WithCancel(t.Context())
	done := make(chan int)
	for range 2 * most {
		go func() {
			w := httptest.NewRecorder()
			c.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/plans/"+asked, nil).WithContext(ctx))
			done <- w.Code
		}()
	}
	for range turns {
		<-slow.asked
	}
	for range most { // all places are taken once as many have found none; who asked before might take one of theirs
		if code := <-done; code != http.StatusServiceUnavailable {
			t.Fatalf("a stranger is answered %d while others wait", code)
		}
	}
	res, text := get(t, c, "/static/console.css")
	if res.StatusCode != http.StatusServiceUnavailable || res.Header.Get("Retry-After") == "" || strings.Contains(text, "<html") {
		t.Errorf("one more stranger: %d\n%s", res.StatusCode, text)
	}
	for _, path := range []string{"/static/console.css", "/operator/backup", "/login/x"} {
		if res, text := get(t, c, path, "Cookie", cookie.Name+"="+cookie.Value); res.StatusCode != http.StatusOK {
			t.Errorf("the operator is answered %d for %s\n%.200s", res.StatusCode, path, text)
		}
		if res, _ := get(t, c, path, "Cookie", cookie.Name+"=x"); res.StatusCode != http.StatusServiceUnavailable {
			t.Errorf("who is no operator is answered %d for %s", res.StatusCode, path)
		}
	}
	if len(slow.asked) > 0 {
		t.Errorf("%d pages more than %d are drawn at once", len(slow.asked), turns)
	}
	leave()
	for range most {
		<-done
	}
	if res, _ := get(t, c, "/static/console.css"); res.StatusCode != http.StatusOK {
		t.Errorf("once they are gone: %d", res.StatusCode)
	}
}

// flowing is an analyzer whose table of counts comes as it is taken, and breaks off somewhere.
type flowing struct {
	*services
	rows, breaks int // rows in all, and of those after which it breaks off; 0: never
	given        int // bytes that somebody has taken
}

func (f *flowing) Read(ctx context.Context, url string, read func(io.Reader) error) error {
	if !strings.HasSuffix(url, "."+sheets.CountsFile) {
		return f.services.Read(ctx, url, read)
	}
	from, to := io.Pipe()
	defer from.Close()
	go func() {
		_, err := io.WriteString(to, "value,estimate\n")
		for i := 0; i < f.rows && err == nil; i++ {
			if f.breaks > 0 && i == f.breaks {
				err = errors.New("connection reset")
				break
			}
			_, err = fmt.Fprintf(to, "tea %d,%d.25\n", i, i)
		}
		to.CloseWithError(err)
	}()
	return read(readerFunc(func(p []byte) (int, error) {
		n, err := from.Read(p)
		f.given += n
		return n, err
	}))
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// taking is a browser that notes how much was read for it when each byte comes.
type taking struct {
	*httptest.ResponseRecorder
	from   *flowing
	first  int // bytes that were read before one came
	behind int // the most that were read and had not come
}

func (w *taking) Write(b []byte) (int, error) {
	if w.first == 0 {
		w.first = w.from.given
	}
	w.behind = max(w.behind, w.from.given-w.Body.Len())
	return w.ResponseRecorder.Write(b)
}

// Files are handed on while they come, and what breaks off is broken off. A file that is read whole
// before it is handed on is seen to be.
func TestFilesAreHandedOnAsTheyCome(t *testing.T) {
	c, s, _, _ := operated(t)
	crowds := s.plans[1].Plan
	ask := func(f *flowing, file string) (w *taking, broken any) {
		c.analyzer.ask = f
		w = &taking{ResponseRecorder: httptest.NewRecorder(), from: f}
		defer func() { broken = recover() }()
		c.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/releases/"+crowds+"/"+file, nil))
		return w, nil
	}
	const rows, chunk = 200_000, 64 << 10
	w, broken := ask(&flowing{services: s, rows: rows}, sheets.CountsFile)
	if broken != nil || w.Code != http.StatusOK || w.Body.Len() != w.from.given || w.behind > chunk || w.Header().Get("Content-Disposition") == "" {
		t.Errorf("%v, %d: %d bytes of %d came, %d were held: %v", broken, w.Code, w.Body.Len(), w.from.given, w.behind, w.Header())
	}
	if w, broken = ask(&flowing{services: s, rows: rows}, countsColumns); broken != nil || w.Code != http.StatusOK || w.first > w.from.given/4 {
		t.Errorf("%v, %d: %d bytes of %d were read before columns came", broken, w.Code, w.first, w.from.given)
	}
	if w, broken = ask(&flowing{services: s, rows: rows, breaks: rows / 2}, sheets.CountsFile); broken != http.ErrAbortHandler || w.Body.Len() == 0 {
		t.Errorf("a file that breaks off ends with %v after %d bytes", broken, w.Body.Len())
	}
	if w, broken = ask(&flowing{services: s, rows: rows, breaks: 0}, "none.csv"); broken != nil || w.Code != http.StatusNotFound {
		t.Errorf("a file that is not there: %v, %d", broken, w.Code)
	}
	f := &flowing{services: s, rows: rows}
	c.analyzer.ask = f
	w = &taking{ResponseRecorder: httptest.NewRecorder(), from: f}
	err := c.analyzer.read(t.Context(), "."+sheets.CountsFile, func(from io.Reader) error {
		text, err := io.ReadAll(from)
		w.Write(text)
		return err
	})
	if err != nil || w.first != f.given || w.behind != f.given {
		t.Errorf("read whole, %d of %d bytes were held: %v", w.behind, f.given, err)
	}
}

// Of releases that are kept no more counts stand in memory than one may have.
func TestCountsThatAreKeptAreBounded(t *testing.T) {
	s, _, crowds, sampled := several(t)
	c, err := New(Options{Analyzer: base, Hosts: hosts, Public: s})
	if err != nil {
		t.Fatal(err)
	}
	many := &released{counts: make([]sheets.ValueCount, maxCounts)}
	c.analyzer.releases = map[string]*released{"many": many}
	for _, name := range []string{crowds, sampled} {
		one, err := c.analyzer.plan(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.analyzer.release(t.Context(), one); err != nil {
			t.Fatal(err)
		}
		counts := 0
		for _, r := range c.analyzer.releases {
			counts += len(r.counts)
		}
		if counts > maxCounts || c.analyzer.releases[name] == nil {
			t.Errorf("%d counts are kept, of at most %d", counts, maxCounts)
		}
	}
	if len(c.analyzer.releases) != 2 {
		t.Errorf("%d releases are kept that fit beside each other", len(c.analyzer.releases))
	}
}

// A phone with as many addresses as it likes, of one IPv6 network, has the places of one address.
func TestANetworkJoinsAsOneAddress(t *testing.T) {
	c, _, _, _ := operated(t)
	now := time.Now()
	in := 0
	for i := range 3 * joinsOfAddress {
		if wait, ofAddress, err := c.joins.enter(fmt.Sprintf("[2001:db8:0:7::%x]:443", i+1), now); err != nil || wait > 0 && !ofAddress {
			t.Fatal(wait, ofAddress, err)
		} else if wait == 0 {
			in++
		}
	}
	if wait, _, err := c.joins.enter("[2001:db8:0:8::1]:443", now); in != joinsOfAddress || wait > 0 || err != nil {
		t.Errorf("%d of a network came in at once, of %d; then one of another waits %v: %v", in, joinsOfAddress, wait, err)
	}
}

// A class of sixty phones behind one address is in within a minute, by a clock of the test's own: who is
// refused comes back when it is told to, as the page does. With five at once and one each half minute it
// takes most of an hour.
func TestAClassJoinsWithinAMinute(t *testing.T) {
	const class = 60
	for name, way := range map[string]struct {
		doors  doors
		within bool
	}{
		"as it is":  {newDoors(joinsOfAddress, addressRests, joinsInAll, joinsASecond), true},
		"as it was": {newDoors(5, 30*time.Second, joinsInAll, joinsASecond), false},
	} {
		begin := time.Date(2026, 11, 24, 9, 0, 0, 0, time.UTC)
		next := make([]time.Duration, class) // when each phone asks again
		var last time.Duration
		for in := 0; in < class; {
			first := slices.Index(next, slices.Min(next))
			last = next[first]
			wait, _, err := way.doors.enter(fmt.Sprintf("192.0.2.1:%d", 1000+first), begin.Add(last))
			if err != nil {
				t.Fatal(err)
			}
			if wait == 0 {
				in++
				next[first] = 1000 * time.Hour
			} else {
				next[first] += wait.Truncate(time.Second) + time.Second // whole seconds, as Retry-After has them
			}
		}
		if last <= time.Minute != way.within {
			t.Errorf("%s: the last of %d is in after %v", name, class, last)
		}
	}
}
