package queue

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// cluster starts three servers on loopback that know each other.
func cluster(t *testing.T) []*server.Server {
	t.Helper()
	// Each must know the others' addresses when it starts.
	var ports []int
	var routes []*url.URL
	for range 3 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
		routes = append(routes, &url.URL{Scheme: "nats", Host: l.Addr().String()})
		l.Close()
	}
	var servers []*server.Server
	for i, port := range ports {
		servers = append(servers, node(t, server.Options{
			ServerName: fmt.Sprint("node-", i), Routes: routes, Cluster: server.ClusterOpts{Name: "test", Host: "127.0.0.1", Port: port},
		}))
	}
	for _, s := range servers {
		ready(t, s)
	}
	return servers
}

// node starts a server with a disk on loopback, and stops it at the end of the test.
func node(t *testing.T, o server.Options) *server.Server {
	t.Helper()
	o.Host, o.Port, o.NoSigs, o.NoLog = "127.0.0.1", server.RANDOM_PORT, true, true
	o.JetStream, o.StoreDir, o.SyncAlways = true, t.TempDir(), true
	o.MaxPayload, o.MaxPending = MaxBody+headroom, 4*(MaxBody+headroom)
	o.JetStreamMaxStore = 1 << 30 // three quarters of the disk for each would not do
	s, err := server.NewServer(&o)
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() {
		s.Shutdown()
		s.WaitForShutdown()
	})
	return s
}

// ready waits until a server answers.
func ready(t *testing.T, s *server.Server) *server.Server {
	t.Helper()
	if !s.ReadyForConnections(startTimeout) {
		t.Fatal("a node does not start")
	}
	return s
}

// keeps opens a queue as it is configured and puts something in.
func keeps(t *testing.T, c Config) {
	t.Helper()
	q, err := Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	if _, err := box(t, q, "a").Put(t.Context(), "k", "l", []byte("body")); err != nil {
		t.Error(err)
	}
}

// refused wants no queue to open as it is configured.
func refused(t *testing.T, why string, c Config) {
	t.Helper()
	if q, err := Open(t.Context(), c); err == nil {
		q.Close()
		t.Errorf("%s: connected", why)
	}
}

// What a cluster has acknowledged is there after one of its nodes is gone: the
// leader of the box, in the midst of writing.
func TestClusterLosesANode(t *testing.T) {
	t.Parallel() // it waits for elections
	ctx := context.Background()
	servers := cluster(t)
	var urls []string
	for _, s := range servers {
		urls = append(urls, s.ClientURL())
	}
	var q *Queue
	for deadline := time.Now().Add(startTimeout); ; time.Sleep(20 * time.Millisecond) {
		var err error
		if q, err = Open(ctx, Config{URL: strings.Join(urls, ","), Replicas: 3}); err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
	defer q.Close()
	persist(t, func() error { _, err := q.Box(ctx, "in", Refuse); return err })
	b := box(t, q, "in")
	info, err := b.stream.Info(ctx)
	if err != nil {
		t.Fatal(err)
	}

	const puts, callers = 240, 8
	var acknowledged sync.Map
	var wg sync.WaitGroup
	half := make(chan struct{})
	for c := range callers {
		wg.Go(func() {
			for i := c; i < puts; i += callers {
				if i == puts/2 {
					close(half)
				}
				key := fmt.Sprint("key-", i)
				persist(t, func() error { _, err := b.Put(ctx, key, "0", []byte(key)); return err })
				acknowledged.Store(key, true)
			}
		})
	}
	<-half
	for _, s := range servers {
		if s.Name() == info.Cluster.Leader {
			s.Shutdown()
			s.WaitForShutdown()
		}
	}
	wg.Wait()

	var got []string
	persist(t, func() error {
		got = nil
		return b.Each(ctx, "", func(key string, body []byte) error {
			if key != string(body) {
				t.Errorf("%s holds %s", key, body)
			}
			got = append(got, key)
			return nil
		})
	})
	slices.Sort(got)
	if len(got) != puts || len(slices.Compact(got)) != puts {
		t.Errorf("%d messages, want %d", len(got), puts)
	}
	acknowledged.Range(func(key, _ any) bool {
		if _, there := slices.BinarySearch(got, key.(string)); !there {
			t.Errorf("%s was acknowledged and is lost", key)
		}
		return true
	})
	if again, err := b.Put(ctx, "key-0", "0", []byte("other")); again || !errors.Is(err, ErrTaken) {
		t.Errorf("a key of before: %v, %v", again, err)
	}
	persist(t, func() error { return q.Drop(ctx, "in") })
}

// persist repeats what fails while a new leader is elected.
func persist(t *testing.T, fn func() error) {
	t.Helper()
	var err error
	for deadline := time.Now().Add(startTimeout); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if err = fn(); err == nil {
			return
		}
	}
	t.Error(err)
}

// Two processes put into one inbox of a cluster whose leader dies meanwhile: each key
// is there once, and all that was acknowledged.
func TestInboxOfACluster(t *testing.T) {
	servers := cluster(t)
	var urls []string
	for _, s := range servers {
		urls = append(urls, s.ClientURL())
	}
	ctx := context.Background()
	var ins []*Inbox
	for range 2 {
		var q *Queue
		persist(t, func() (err error) {
			q, err = Open(ctx, Config{URL: strings.Join(urls, ","), Replicas: 3})
			return err
		})
		t.Cleanup(q.Close)
		persist(t, func() error {
			in, err := q.Inbox(ctx, "in", Refuse)
			ins = append(ins, in)
			return err
		})
		ins = slices.DeleteFunc(ins, func(in *Inbox) bool { return in == nil })
	}
	if !slices.Equal(ins[0].Secret("test"), ins[1].Secret("test")) {
		t.Error("two processes have two keys")
	}
	info, err := ins[0].groups.(*streamGroups).stream.Info(ctx)
	if err != nil {
		t.Fatal(err)
	}
	const n = 6000
	var won, repeated atomic.Int64
	var kill sync.Once
	atOnce(2*n, 64, func(i int) {
		if i > n/2 {
			kill.Do(func() {
				for _, s := range servers {
					if s.Name() == info.Cluster.Leader {
						go s.Shutdown()
					}
				}
			})
		}
		in, key := ins[i%2], i/2
		for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
			again, err := putIn(in, key, uint32(key%2), fmt.Sprint(key))
			if err == nil {
				if !again {
					won.Add(1)
				}
				return
			}
			if !errors.Is(err, ErrUnavailable) || time.Now().After(deadline) {
				t.Errorf("put %d: %v", key, err)
				return
			}
			repeated.Add(1)
		}
	})
	t.Logf("%d repeated after an error", repeated.Load())
	if won.Load() > n {
		t.Errorf("%d of %d keys were new", won.Load(), n)
	}
	persist(t, func() error { return ins[0].Seal(ctx) })
	if _, err := putIn(ins[1], n+1, 0, ""); !errors.Is(err, ErrSealed) {
		t.Errorf("put beside a seal: %v", err)
	}
	for _, in := range ins {
		var there map[int]string
		persist(t, func() error {
			there = map[int]string{}
			return in.Each(ctx, func(key [16]byte, _ uint32, body []byte) error {
				there[int(binary.BigEndian.Uint64(key[8:]))] = string(body)
				return nil
			})
		})
		if len(there) != n || in.Count(0)+in.Count(1) != n {
			t.Errorf("%d keys are there, and %d are counted", len(there), in.Count(0)+in.Count(1))
		}
		for key, body := range there {
			if body != fmt.Sprint(key) {
				t.Errorf("%d is %q", key, body)
			}
		}
	}
	persist(t, func() error { return ins[0].q.Drop(ctx, "in") })
	if names, err := ins[1].q.Boxes(ctx, ""); err != nil || len(names) != 0 {
		t.Errorf("%v are left: %v", names, err)
	}
}
