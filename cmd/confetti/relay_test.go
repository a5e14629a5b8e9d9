package main

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/confetti-dp/confetti/internal/testkit/relaytest"
	"github.com/confetti-dp/confetti/internal/testkit/scripts"
	"github.com/confetti-dp/confetti/plan"
)

// relayed are organisations whose devices come by the relay of one more.
var relayed = map[string][]seat{
	"two mix":  organisations["two mix"],
	"two sum":  organisations["two sum"],
	"five mix": organisations["five mix"],
	"five sum": organisations["five sum"],
}

// hides has who the devices of a collection would show their addresses otherwise.
func hides(route string, posts []seat) (all []seat) {
	entry := "shuffler"
	if route == plan.RouteSum {
		entry = "leader"
	}
	for _, p := range posts {
		if p.role == entry || p.role == "issuer" {
			all = append(all, p)
			entry = "" // the first hop alone
		}
	}
	return all
}

// Two organisations, and five with tokens, rent the relay of one more, on both routes: from nothing to a verified
// release, nobody comes past the relay to who takes answers or gives tokens. The relay replays all that it carries,
// reads none of it, and nothing is counted twice.
func TestOrganisationsBehindARelay(t *testing.T) {
	dir, as := t.TempDir(), asUser(t)
	for name, posts := range relayed {
		_, route, _ := strings.Cut(name, " ")
		if err := os.WriteFile(filepath.Join(dir, strings.ReplaceAll(name, " ", "_")+".txt"), []byte(typed(route, posts, as, hides(route, posts)...)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	testscript.Run(t, testscript.Params{
		Dir: dir, RequireExplicitExec: true,
		Setup: furnished(as),
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": scripts.Exits, "until": scripts.Until, "ports": scripts.Ports, "prepend": prepend, "relay": startRelay, "spy": startSpy, "visitors": visitors, "carried": carried,
		},
	})
}

var (
	relays sync.Map // *relaytest.Relay, by the folder of its script
	spies  sync.Map // *atomic.Int64 with connections, by the port
)

// startRelay runs a relay with an address of its own: relay PORT CERTIFICATE KEY ROOTS PATH=GATEWAY...
func startRelay(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 5 {
		ts.Fatalf("usage: relay PORT CERTIFICATE KEY ROOTS PATH=GATEWAY...")
	}
	pair, err := tls.LoadX509KeyPair(ts.MkAbs(args[1]), ts.MkAbs(args[2]))
	ts.Check(err)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM([]byte(ts.ReadFile(args[3])))
	r := &relaytest.Relay{Gateways: map[string]string{}, Client: relaytest.From("127.0.0.2", roots), Twice: true}
	for _, pair := range args[4:] {
		path, to, _ := strings.Cut(pair, "=")
		r.Gateways[path] = to
	}
	l, err := net.Listen("tcp", "127.0.0.1:"+args[0])
	ts.Check(err)
	server := &http.Server{Handler: r, TLSConfig: &tls.Config{Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequestClientCert}}
	go server.ServeTLS(l, "", "")
	relays.Store(ts.Getenv("WORK"), r)
	ts.Defer(func() {
		server.Close()
		r.Client.CloseIdleConnections()
	})
}

// startSpy passes connections to a port on to another, and counts them: spy PORT TO
func startSpy(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: spy PORT TO")
	}
	l, err := net.Listen("tcp", "127.0.0.1:"+args[0])
	ts.Check(err)
	ts.Defer(func() { l.Close() })
	count := &atomic.Int64{}
	spies.Store(args[0], count)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			count.Add(1)
			go func() {
				defer c.Close()
				to, err := net.DialTimeout("tcp", "127.0.0.1:"+args[1], time.Minute)
				if err != nil {
					return
				}
				defer to.Close()
				go func() {
					io.Copy(to, c)
					to.Close()
				}()
				io.Copy(c, to)
			}()
		}
	}()
}

// visitors forgets who came to a port by themselves, or fails if anybody has since: visitors PORT, ! visitors PORT
func visitors(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: [!] visitors PORT")
	}
	count, known := spies.Load(args[0])
	if !known {
		ts.Fatalf("nobody looks at port %s", args[0])
	}
	if n := count.(*atomic.Int64).Swap(0); neg && n > 0 {
		ts.Fatalf("%d connections came past the relay", n)
	} else if !neg && n == 0 {
		ts.Fatalf("nobody has come until now: the test looks at another port")
	}
}

// carried fails unless the relay has carried so many requests for each of its paths, all of one length each way but
// for their kinds, of which it can read none of the texts: carried LEAST FILE...
func carried(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: carried LEAST FILE...")
	}
	least, err := strconv.Atoi(args[0])
	ts.Check(err)
	found, _ := relays.Load(ts.Getenv("WORK"))
	r := found.(*relaytest.Relay)
	texts := []string{"contributions", "/v1/plans/", "/tasks/", "PrivateToken", "application/vnd.confetti", "urn:confetti"}
	for _, file := range args[1:] {
		texts = append(texts, strings.Fields(ts.ReadFile(file))...)
	}
	count, lengths := map[string]int{}, map[string]map[[2]int]bool{}
	for _, c := range r.Carried() {
		count[c.Path]++
		if lengths[c.Path] == nil {
			lengths[c.Path] = map[[2]int]bool{}
		}
		lengths[c.Path][[2]int{len(c.Request), len(c.Response)}] = true
		if c.Certificate || c.Header.Get("Authorization") != "" || c.From != "127.0.0.1" || c.Status != http.StatusOK {
			ts.Fatalf("the relay sees %s, %d, %v", c.From, c.Status, c.Header)
		}
		for _, text := range texts {
			if bytes.Contains(c.Request, []byte(text)) || bytes.Contains(c.Response, []byte(text)) {
				ts.Fatalf("the relay reads %q", text)
			}
		}
	}
	for path := range r.Gateways {
		if count[path] < least || len(lengths[path]) != 1 {
			ts.Fatalf("%d requests for %s have lengths %v", count[path], path, lengths[path])
		}
	}
}
