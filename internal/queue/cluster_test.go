package queue

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync"
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
		s, err := server.NewServer(&server.Options{
			ServerName: fmt.Sprint("node-", i), Host: "127.0.0.1", Port: server.RANDOM_PORT,
			NoSigs: true, NoLog: true, JetStream: true, StoreDir: t.TempDir(), SyncAlways: true, MaxPayload: MaxBody + headroom,
			MaxPending: 4 * (MaxBody + headroom), JetStreamMaxStore: 1 << 30, // three quarters of the disk for each would not do
			Cluster: server.ClusterOpts{Name: "test", Host: "127.0.0.1", Port: port},
			Routes:  routes,
		})
		if err != nil {
			t.Fatal(err)
		}
		s.Start()
		t.Cleanup(func() {
			s.Shutdown()
			s.WaitForShutdown()
		})
		servers = append(servers, s)
	}
	for _, s := range servers {
		if !s.ReadyForConnections(startTimeout) {
			t.Fatal("a node does not start")
		}
	}
	return servers
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
	persist(t, func() error { _, err := q.Box(ctx, "in"); return err })
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
