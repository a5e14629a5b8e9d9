package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/internal/release/results"
	"github.com/confetti-dp/confetti/internal/release/sheets"
	"github.com/confetti-dp/confetti/internal/service/analyzerd"
	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/simulate/distribution"
	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/internal/testkit/releasetest"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/internal/wire/relay"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/release"
)

// crowd is how many strangers come at once; 300 is what docs/console-run.md has the numbers of:
//
//	go test ./cmd/confetti -run ACrowd -count=1 -v -crowd 300
var crowd = flag.Int("crowd", 32, "strangers who come to the console at once")

// mostAbove is what a console may take of memory above what it has when nobody is there.
const mostAbove = 128 << 20

// bigTable is the size of the table of counts that strangers ask for, in bytes.
const bigTable = 42 << 20

// published is an analyzer with one release, whose table of counts is a big one.
func published(t *testing.T) (address string, name string, roots []byte) {
	t.Helper()
	authority, err := serve.NewAuthority("test", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	cert, key, err := authority.Server("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	answers := map[string][]byte{}
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if text, ok := answers[r.URL.Path]; ok {
			w.Write(text)
			return
		}
		http.NotFound(w, r)
	}))
	s.EnableHTTP2, s.TLS = true, &tls.Config{Certificates: []tls.Certificate{pair}}
	s.StartTLS()
	t.Cleanup(s.Close)

	p := example.Histograms()["crowds"]
	p.Crowd.Deletion, p.Analyzer.URL = nil, s.URL
	for _, in := range p.Route.Instances() {
		for h := range in.Hops {
			in.Hops[h].URL = s.URL
		}
	}
	proto := example.Runnable(t, example.Design(t, p))
	sign, err := relay.GenerateSignKey()
	if err != nil {
		t.Fatal(err)
	}
	signed := plan.Sign(proto.Plan, sign.Private())
	tallies, err := distribution.Draw(proto, distribution.Values(example.Drinkers()), example.Streams(7), func(int) {})
	if err != nil {
		t.Fatal(err)
	}
	r, _, err := releasetest.Publish(proto, tallies, results.Public{})
	if err != nil {
		t.Fatal(err)
	}
	r.Created, r.Provenance = time.Now(), release.Provenance{Software: "confetti (test)", Randomness: "fresh randomness"}
	var text bytes.Buffer
	if err := r.WriteJSON(&text); err != nil {
		t.Fatal(err)
	}
	table := []byte("attribute,crowd,value,estimate,std_err,low,high,low_all,high_all,consistent\n")
	for i := 0; len(table) < bigTable; i++ {
		table = fmt.Appendf(table, "drink,,value %d,%d.25,12.5,1,2,0,3,%d\n", i, i, i)
	}
	hash := proto.Plan.Hash()
	name = proto.Plan.Name()
	list, err := json.Marshal([]analyzerd.Plan{{Plan: name, Title: p.Title, Publisher: signed.Signers()[0], Status: analyzerd.Released, Registered: time.Now(), Closes: time.Now(), Closed: time.Now(), Decided: time.Now(), Formats: []string{"json", sheets.CountsFile}}})
	if err != nil {
		t.Fatal(err)
	}
	status, err := json.Marshal(serve.Status{Service: "analyzer", Since: time.Now(), Now: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	answers["/v1/plans"], answers[wire.PlanPath(hash)], answers["/status.json"] = list, signed.Marshal(), status
	answers[wire.ReleasePath(hash, "json")], answers[wire.ReleasePath(hash, sheets.CountsFile)] = text.Bytes(), table
	return s.URL, name, authority.PEM()
}

// consoleProcess is a console in a process of its own.
type consoleProcess struct {
	pid    int
	at     string // host and port
	cookie string // of an operator's session
}

// startConsole starts this program as a console, and logs an operator in.
func startConsole(t *testing.T, analyzer string, roots []byte) consoleProcess {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string][]byte{"roots.pem": roots, "tokens": []byte(analyzer + " cft_x\n")} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c := exec.Command("confetti", "serve", "console", "--analyzer", analyzer, "--roots", filepath.Join(dir, "roots.pem"), "--tokens", filepath.Join(dir, "tokens"), "--folder", filepath.Join(dir, "console"), "--listen", "127.0.0.1:0")
	c.Env = append(os.Environ(), "GOMAXPROCS=2")
	var errs bytes.Buffer
	c.Stderr = &errs
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Process.Kill()
		c.Wait()
		if t.Failed() {
			t.Logf("the console said:\n%.4000s", errs.String())
		}
	})
	link := ""
	lines := bufio.NewScanner(out)
	for link == "" && lines.Scan() {
		link = regexp.MustCompile(`http://\S+/login/\S+`).FindString(lines.Text())
	}
	if link == "" {
		t.Fatalf("the console prints no link:\n%s", errs.String())
	}
	stay := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := stay.Post(link, "application/x-www-form-urlencoded", nil)
	if err != nil || len(res.Cookies()) != 1 {
		t.Fatalf("logging in: %v %+v", err, res)
	}
	res.Body.Close()
	at, _, _ := strings.Cut(strings.TrimPrefix(link, "http://"), "/")
	return consoleProcess{c.Process.Pid, at, res.Cookies()[0].Name + "=" + res.Cookies()[0].Value}
}

// memory is a number of the kernel's about the process, in bytes.
func (c consoleProcess) memory(t *testing.T, what string) int64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.pid))
	if err != nil {
		t.Skipf("no memory of processes here: %v", err)
	}
	_, rest, _ := strings.Cut(string(text), what+":")
	n, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n << 10
}

// operator loads the operator's page, by a connection of its own, and says how long that took. Where one
// ends before there is an answer it asks again, as browsers do: a flood of connections may take the room of
// one that has asked for nothing yet.
func (c consoleProcess) operator(t *testing.T) time.Duration {
	t.Helper()
	begin := time.Now()
	client := &http.Client{Timeout: time.Minute, Transport: &http.Transport{DisableKeepAlives: true}}
	r, err := http.NewRequest(http.MethodGet, "http://"+c.at+"/operator", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Cookie", c.cookie)
	res, err := client.Do(r)
	for tries := 1; errors.Is(err, io.EOF) && tries < 3; tries++ {
		res, err = client.Do(r)
	}
	if err != nil {
		t.Errorf("the operator's page: %v", err)
		return time.Since(begin)
	}
	defer res.Body.Close()
	if text, err := io.ReadAll(res.Body); err != nil || res.StatusCode != http.StatusOK || !bytes.Contains(text, []byte("Who did what")) {
		t.Errorf("the operator's page: %d, %v", res.StatusCode, err)
	}
	return time.Since(begin)
}

// burdens are the ways to be a burden, each by connections of its own until one fails or ends.
func burdens(release string) map[string]func(ctx context.Context, dial func() net.Conn) {
	ask := func(path string) string { return "GET " + path + " HTTP/1.1\r\nHost: HOST\r\n\r\n" }
	file := "/releases/" + release + "/counts.csv"
	trickle := func(head string) func(context.Context, func() net.Conn) {
		return func(ctx context.Context, dial func() net.Conn) {
			c := dial()
			for _, err := io.WriteString(c, head); err == nil && ctx.Err() == nil; time.Sleep(50 * time.Millisecond) {
				_, err = c.Write([]byte("x"))
			}
		}
	}
	take := func(each int, wait time.Duration, asked string) func(context.Context, func() net.Conn) {
		return func(ctx context.Context, dial func() net.Conn) {
			c := dial()
			b := make([]byte, each)
			for _, err := io.WriteString(c, asked); err == nil && ctx.Err() == nil; time.Sleep(wait) {
				_, err = c.Read(b)
			}
		}
	}
	return map[string]func(context.Context, func() net.Conn){
		"slow header": trickle("GET / HTTP/1.1\r\nHost: HOST\r\nX-Slow: "),
		"slow body":   trickle("POST /login/x HTTP/1.1\r\nHost: HOST\r\nContent-Length: 60000\r\n\r\n"),
		"slow reader": take(1, 50*time.Millisecond, ask(file)),
		"big body": func(ctx context.Context, dial func() net.Conn) {
			c := dial()
			io.WriteString(c, "POST /login/x HTTP/1.1\r\nHost: HOST\r\nContent-Length: 16777216\r\n\r\n")
			for b, n := make([]byte, 1<<20), 0; n < 16 && ctx.Err() == nil; n++ {
				if _, err := c.Write(b); err != nil {
					return
				}
			}
		},
		"connections": func(ctx context.Context, dial func() net.Conn) {
			for range 20 {
				dial()
			}
			select {
			case <-ctx.Done():
			case <-time.After(time.Second):
			}
		},
		"polling": func(ctx context.Context, dial func() net.Conn) {
			take(1<<16, 0, strings.Repeat(ask("/")+ask("/releases/"+release)+ask("/plans/"+release), 20))(ctx, dial)
		},
		"pages that nobody takes": take(1, time.Second, strings.Repeat(ask("/releases/"+release), 100)),
		"big files":               take(1<<18, 0, ask(file)+ask(strings.TrimSuffix(file, "csv")+"parquet")),
	}
}

// A crowd of strangers with the worst of everything takes no more memory of a console, which is a process
// of its own, than it may, and the operator's page comes all the while. How fast it comes is measured
// where as many come as the docs say: the strangers have the same processors.
func TestACrowdAtTheConsole(t *testing.T) {
	t.Setenv("GOGC", "100") // memory is bounded as people run it
	analyzer, name, roots := published(t)
	c := startConsole(t, analyzer, roots)
	for _, path := range []string{"/", "/plans/" + name, "/releases/" + name} { // what is kept is kept once
		res, err := http.Get("http://" + c.at + path)
		if err != nil || res.StatusCode != http.StatusOK {
			t.Fatalf("%s: %v %+v", path, err, res)
		}
		io.Copy(io.Discard, res.Body)
		res.Body.Close()
	}
	alone := c.operator(t)
	idle := c.memory(t, "VmRSS")

	ctx, stop := context.WithCancel(t.Context())
	var all sync.WaitGroup
	kinds := burdens(name)
	for n := 0; n < *crowd; {
		for _, act := range kinds {
			if n++; n > *crowd {
				break
			}
			all.Go(func() {
				for ctx.Err() == nil {
					var mine []net.Conn
					act(ctx, func() net.Conn {
						conn, err := net.DialTimeout("tcp", c.at, 5*time.Second)
						if err != nil {
							conn, _ = net.Pipe()
							conn.Close()
							return conn
						}
						conn.SetDeadline(time.Now().Add(time.Minute))
						context.AfterFunc(ctx, func() { conn.Close() })
						mine = append(mine, conn)
						return &hosted{conn, c.at}
					})
					for _, conn := range mine {
						conn.Close()
					}
					time.Sleep(10 * time.Millisecond)
				}
			})
		}
	}
	var took []time.Duration
	for i := range max(20, *crowd/3) {
		took = append(took, c.operator(t))
		if i > 5 {
			time.Sleep(200 * time.Millisecond)
		}
	}
	most, connections := c.memory(t, "VmHWM"), c.open(t)
	stop()
	all.Wait()
	slices.Sort(took)
	slowest := took[len(took)-1]
	t.Logf("%d strangers: at most %d MiB above the %d MiB of an idle console, %d files open; the operator's page %d times, half within %v, 95 %% within %v, all within %v, alone within %v", *crowd, (most-idle)>>20, idle>>20, connections, len(took),
		took[len(took)/2].Round(time.Millisecond), took[len(took)*95/100].Round(time.Millisecond), slowest.Round(time.Millisecond), alone.Round(time.Millisecond))
	if most-idle > mostAbove {
		t.Errorf("it took %d MiB above an idle console, and may take %d", (most-idle)>>20, mostAbove>>20)
	}
	if connections > 1024+128 { // and what it asks the analyzer by
		t.Errorf("%d files are open", connections)
	}
	if *crowd >= 300 && slowest > time.Second {
		t.Errorf("the operator's page took %v", slowest)
	}
}

// open counts the files, and with them the connections, that the process has open.
func (c consoleProcess) open(t *testing.T) int {
	t.Helper()
	all, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", c.pid))
	if err != nil {
		t.Skip(err)
	}
	return len(all)
}

// hosted is a connection whose requests are for the console's own name.
type hosted struct {
	net.Conn
	host string
}

func (n *hosted) Write(b []byte) (int, error) {
	if _, err := n.Conn.Write(bytes.ReplaceAll(b, []byte("HOST"), []byte(n.host))); err != nil {
		return 0, err
	}
	return len(b), nil
}
