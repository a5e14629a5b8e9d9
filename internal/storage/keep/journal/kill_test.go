package journal

import (
	"bufio"
	"bytes"
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/internal/storage/keep"
)

var kills = flag.Int("kills", 3, "how often a process that writes is killed")

// child names the folder in which this process writes until it is killed.
const child = "CONFETTI_JOURNAL_CHILD"

// TestKilledProcesses kills processes that write from 64 callers, at random times, and
// looks for what they had acknowledged. Only the order of writes is tested here: the kernel
// lives on. For many: go test -run KilledProcesses -args -kills 200
func TestKilledProcesses(t *testing.T) {
	if dir := os.Getenv(child); dir != "" {
		writeForEver(t, dir)
	}
	dir := t.TempDir()
	if err := Create(dir); err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(5, 6))
	acked := map[string]bool{}
	for round := range *kills {
		cmd := exec.Command(os.Args[0], "-test.run", "^TestKilledProcesses$")
		cmd.Env = append(os.Environ(), child+"="+dir)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		before := len(acked)
		var once sync.Once
		for lines := bufio.NewScanner(out); lines.Scan(); {
			line, whole := strings.CutSuffix(lines.Text(), ".")
			if !whole {
				continue // it was killed while it wrote the line
			}
			acked[line] = true
			once.Do(func() {
				time.AfterFunc(time.Duration(r.IntN(200))*time.Millisecond, func() { cmd.Process.Kill() })
			})
		}
		cmd.Wait()
		if len(acked) == before {
			t.Fatalf("round %d: nothing was acknowledged", round)
		}
		look(t, dir, acked)
	}
	t.Logf("%d killed: %d acknowledged, none lost", *kills, len(acked))
}

// writeForEver inserts and updates rows and says of which it was told that they are on disk.
func writeForEver(t *testing.T, dir string) {
	store, err := Open(dir, Options{leastDead: 1 << 20, mostMoved: 1 << 30})
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	s, err := store.Open(ctx, "in")
	if err != nil {
		if s, err = store.Create(ctx, "in"); err != nil {
			t.Fatal(err)
		}
	}
	from := time.Now().UnixNano()
	atOnce(1<<40, 64, func(i int) {
		key := fmt.Sprintf("%d-%d", from, i)
		var err error
		switch i % 3 {
		case 0:
			_, err = s.Insert(ctx, keep.Row{Table: 1, Key: key, Value: bodyOf(key)})
		case 1:
			_, err = s.Insert(ctx, keep.Row{Table: 1, Key: key, Value: bodyOf(key)}, keep.Row{Table: 2, Key: key, Value: []byte(key)})
		case 2:
			err = s.Update(ctx, func(tx keep.Tx) error {
				tx.Put(1, key, bodyOf(key))
				tx.Put(3, "again "+strconv.Itoa(i%8), bodyOf(key+key)) // dead soon
				return nil
			})
		}
		if err != nil {
			t.Error(err)
		}
		os.Stdout.WriteString(key + ".\n")
	})
}

func bodyOf(key string) []byte { return bytes.Repeat([]byte(key), 20) }

func look(t *testing.T, dir string, acked map[string]bool) {
	t.Helper()
	store, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	s, err := store.Open(t.Context(), "in")
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]bool{}
	if err := s.Each(t.Context(), 1, "", func(key string, value []byte) error {
		if rows[key] = true; !bytes.Equal(value, bodyOf(key)) {
			t.Errorf("%s has another value", key)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	for key := range acked {
		if !rows[key] {
			t.Errorf("%s was acknowledged and is lost", key)
		}
	}
	if err := s.Each(t.Context(), 2, "", func(key string, _ []byte) error {
		if !rows[key] {
			t.Errorf("half of the call of %s is there", key)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}
