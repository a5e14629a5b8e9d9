package shuffler

import (
	"bytes"
	"crypto/ed25519"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/internal/keyfile/partykey"
	"github.com/confetti-dp/confetti/internal/rng"
	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/wire/relay"
)

// running is the program itself, as an operator starts it.
type running struct {
	t       *testing.T
	pid     int
	address string
	roots   *serve.Authority
}

// startHop starts a hop that trusts one publisher and has no plan yet.
func startHop(t *testing.T, publisher string) running {
	t.Helper()
	dir := t.TempDir()
	authority, err := serve.NewAuthority("test", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	cert, key, err := authority.Server("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{"roots.pem": authority.PEM(), "server.crt": cert, "server.key": key, "c.toml": fmt.Appendf(nil, `
keys = 'keys'
publishers = ['%s']
roots = 'roots.pem'
queue.folder = 'queue'
[http]
listen = '127.0.0.1:0'
certificate = 'server.crt'
key = 'server.key'
operators = 'operators'
`, publisher)} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	keys := filepath.Join(dir, "keys")
	if err := os.Mkdir(keys, 0o700); err != nil {
		t.Fatal(err)
	}
	opening, err := envelope.GenerateKey(envelope.X25519)
	if err != nil {
		t.Fatal(err)
	}
	receipts, err := relay.GenerateSignKey()
	if err != nil {
		t.Fatal(err)
	}
	_, err = serve.AddBearer(rng.New(), filepath.Join(dir, "operators"), "ada")
	if err = errors.Join(err, partykey.CreateOpening(filepath.Join(keys, "open.json"), opening, "test"), partykey.CreateSigning(filepath.Join(keys, "receipts.json"), receipts, "test")); err != nil {
		t.Fatal(err)
	}
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	hop := exec.Command(build(t, "../../confetti-shuffler"), "--config", filepath.Join(dir, "c.toml"))
	hop.Stdout, hop.Stderr = log, log
	if err := hop.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		hop.Process.Signal(syscall.SIGTERM)
		if err := hop.Wait(); err != nil {
			t.Errorf("the hop ends with %v", err)
		}
		log.Close()
	})
	at := regexp.MustCompile(`msg=serving service=shuffler at=(\S+)`)
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		text, _ := os.ReadFile(log.Name())
		if found := at.FindSubmatch(text); found != nil {
			return running{t, hop.Process.Pid, string(found[1]), authority}
		}
	}
	text, _ := os.ReadFile(log.Name())
	t.Fatalf("the hop does not serve:\n%s", text)
	return running{}
}

// proc is a file of the kernel's on the process.
func (r running) proc(name string) string {
	r.t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", r.pid, name))
	if err != nil {
		r.t.Fatal(err)
	}
	return string(b)
}

// resident is the memory that the process has in MiB: now, and at most since forget.
func (r running) resident() (now, most int) {
	r.t.Helper()
	text := r.proc("status")
	kib := func(field string) int {
		n, err := strconv.Atoi(regexp.MustCompile(field + `:\s+(\d+) kB`).FindStringSubmatch(text)[1])
		if err != nil {
			r.t.Fatal(err)
		}
		return n >> 10
	}
	return kib("VmRSS"), kib("VmHWM")
}

// forget begins the peak of memory anew.
func (r running) forget() {
	r.t.Helper()
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", r.pid), []byte("5"), 0); err != nil {
		r.t.Skipf("this system does not tell the peak of memory anew: %v", err)
	}
}

// processor is the time that all threads of the process have taken.
func (r running) processor() time.Duration {
	r.t.Helper()
	stat := r.proc("stat")
	f := strings.Fields(stat[strings.LastIndex(stat, ")")+1:])
	ticks := 0
	for _, one := range f[11:13] { // utime and stime, proc_pid_stat(5)
		n, err := strconv.Atoi(one)
		if err != nil {
			r.t.Fatal(err)
		}
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}

// send writes a request, ignoring that it is cut off, and returns the status, or 0.
func (r running) send(head string, body []byte) (status int) {
	c, err := tls.DialWithDialer(&net.Dialer{Timeout: 10 * time.Second}, "tcp", r.address, &tls.Config{RootCAs: r.roots.Pool(), NextProtos: []string{"http/1.1"}})
	if err != nil {
		return 0
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(2 * time.Minute))
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		line := make([]byte, 12)
		io.ReadFull(c, line)
		fmt.Sscanf(string(line), "HTTP/1.1 %d", &status)
	}()
	if _, err := fmt.Fprintf(c, "%s\r\nContent-Length: %d\r\n\r\n", head, len(body)); err == nil {
		c.Write(body)
	}
	<-answered
	return status
}

// Three plans of eight megabytes at once, which would be parsed to gigabytes, cost the
// program less than 64 MiB of resident memory and a second of a core, whoever they
// pretend to be of, and it goes on serving.
func TestThreeBombsAtOnce(t *testing.T) {
	t.Setenv("GOGC", "100") // memory is bounded as people run it
	if testing.Short() {
		t.Skip("builds the program")
	}
	public, _, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	encode := base64.RawURLEncoding.EncodeToString
	publisher := "ed25519:" + encode(public)
	hop := startHop(t, publisher)
	const length = 8_380_000
	many := func(one, before, after string) string {
		return before + strings.Repeat(one+",", (length-len(before)-len(after))/(len(one)+1)-1) + one + after
	}
	const mix = `{"version":2,"title":"t","question":{"kind":"x"},"route":{"kind":"mix","mix":{"instances":[`
	const density = `{"version":2,"title":"t","question":{"kind":"density","density":{"dimension":1,"kernel":{"name":"x"}}},"crowd":{"names":[`
	for what, bomb := range map[string]string{
		"hops": many("{}", mix+`{"hops":[`, `]}]}}}`), "instances": many("{}", mix, `]}}}`),
		"nameless classes": many(`""`, density, `]}}`), "classes of one name": many(`"a"`, density, `]}}`),
		"lists in lists": mix + strings.Repeat("[", length/2),
	} {
		for who, name := range map[string]string{"a stranger": "ed25519:" + strings.Repeat("A", 43), "a publisher's name": publisher, "no name": "a"} {
			body := fmt.Appendf(nil, `{"publisher":"%s","signature":"%s","plan":%s}`, name, encode(bytes.Repeat([]byte{1}, ed25519.SignatureSize)), bomb)
			now, _ := hop.resident()
			hop.forget()
			before := hop.processor()
			var all sync.WaitGroup
			statuses := make([]int, 3)
			for i := range statuses {
				all.Go(func() {
					statuses[i] = hop.send(fmt.Sprintf("PUT /v1/plans/%064d HTTP/1.1\r\nHost: x\r\nContent-Type: application/vnd.confetti.signed-plan+json; version=1", 0), body)
				})
			}
			all.Wait()
			took := hop.processor() - before
			_, most := hop.resident()
			t.Logf("%s, of %s: %d MiB more, %v, %v", what, who, most-now, took, statuses)
			if most-now >= 64 || took >= time.Second {
				t.Errorf("%s, of %s: %d MiB more of resident memory and %v of a core", what, who, most-now, took)
			}
			if status := hop.send("GET /healthz HTTP/1.1\r\nHost: x", nil); status != 200 {
				t.Fatalf("%s, of %s: afterwards the hop answers with %d", what, who, status)
			}
		}
	}
}
