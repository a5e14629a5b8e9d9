package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"regexp"
	"sync"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/plan"
)

// A live poll, whose services are in one process with its room, takes no more memory than a console may
// for those who send the longest bodies to its services and hold the last bytes back: strangers have
// nothing carried, and of phones that have joined nothing is kept.
//
//	go test ./cmd/confetti -run ACrowdInARoom -count=1 -v -args -crowd 300
func TestACrowdInARoom(t *testing.T) {
	t.Setenv("GOGC", "100") // memory is bounded as people run it
	up := exec.Command("confetti", "up", filepath.Join(t.TempDir(), "poll"), "--open", "--devices", "60")
	var errs bytes.Buffer
	up.Stderr = &errs
	out, err := up.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := up.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		up.Process.Kill()
		up.Wait()
		if t.Failed() {
			t.Logf("the trial said:\n%.4000s", errs.String())
		}
	})
	c := consoleProcess{pid: up.Process.Pid}
	for lines := bufio.NewScanner(out); c.at == "" && lines.Scan(); {
		if found := regexp.MustCompile(`http://(\S+)/login/`).FindStringSubmatch(lines.Text()); found != nil {
			c.at = found[1]
		}
	}
	go io.Copy(io.Discard, out)
	if c.at == "" {
		t.Fatalf("the trial prints no link:\n%s", errs.String())
	}
	var cookies []string
	var signed plan.Signed
	for range 20 {
		res, err := http.Post("http://"+c.at+"/answer/join", "", nil)
		if err != nil || res.StatusCode != http.StatusOK {
			t.Fatalf("joining: %v %+v", err, res)
		}
		var told struct{ Plan string }
		if err := json.NewDecoder(res.Body).Decode(&told); err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if signed, err = plan.ParseSigned([]byte(told.Plan)); err != nil {
			t.Fatal(err)
		}
		cookies = append(cookies, res.Cookies()[0].Name+"="+res.Cookies()[0].Value)
	}
	room := func() error {
		res, err := (&http.Client{Timeout: time.Minute}).Get("http://" + c.at + "/room")
		if err != nil {
			return err
		}
		defer res.Body.Close()
		if text, err := io.ReadAll(res.Body); err != nil || res.StatusCode != http.StatusOK {
			return fmt.Errorf("%d: %.100s", res.StatusCode, text)
		}
		return nil
	}
	if err := room(); err != nil {
		t.Fatal(err)
	}
	idle := c.memory(t, "VmRSS")
	const long = 16<<20 - 1
	begun := make([]byte, 1<<20)
	var all sync.WaitGroup
	held := make(chan net.Conn, *crowd)
	for n := range *crowd {
		who := ""
		if n%2 == 0 {
			who = "Cookie: " + cookies[n/2%len(cookies)] + "\r\n"
		}
		path := fmt.Sprintf("/answer/relay/%d%s", n/2%3, wire.ContributionPath(signed.Plan.Hash(), 0, [32]byte{byte(n)}))
		all.Go(func() {
			conn, err := net.DialTimeout("tcp", c.at, 10*time.Second)
			if err != nil {
				return
			}
			conn.SetDeadline(time.Now().Add(20 * time.Second))
			fmt.Fprintf(conn, "PUT %s HTTP/1.1\r\nHost: %s\r\n%sContent-Type: %s\r\nContent-Length: %d\r\n\r\n", path, c.at, who, wire.ContributionType, long)
			for sent := 0; err == nil && sent < long-2; sent += len(begun) {
				_, err = conn.Write(begun[:min(len(begun), long-2-sent)])
			}
			held <- conn
		})
	}
	all.Wait()
	close(held)
	if err := room(); err != nil {
		t.Errorf("the room's screen: %v", err)
	}
	most := c.memory(t, "VmHWM")
	for conn := range held {
		conn.Close()
	}
	t.Logf("%d bodies of %d MiB: at most %d MiB above the %d MiB of an idle trial", *crowd, (long+1)>>20, (most-idle)>>20, idle>>20)
	if most-idle > mostAbove {
		t.Errorf("it took %d MiB above an idle trial, and may take %d", (most-idle)>>20, mostAbove>>20)
	}
}
