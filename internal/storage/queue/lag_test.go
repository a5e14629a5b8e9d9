package queue

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/nats-io/nats-server/v2/server"
)

// lagging is a stream with replicas, whose consumers are on one that has as few messages as
// it says when they are made. The others come later.
type lagging struct {
	jetstream.Stream
	has     uint64
	deleted bool // meanwhile: all that it has not
}

func (l lagging) CachedInfo() *jetstream.StreamInfo {
	info := *l.Stream.CachedInfo()
	info.Config.Replicas = 3
	return &info
}

func (l lagging) CreateConsumer(ctx context.Context, config jetstream.ConsumerConfig) (jetstream.Consumer, error) {
	if l.deleted {
		if err := l.Purge(ctx, jetstream.WithPurgeKeep(l.has)); err != nil {
			return nil, err
		}
	}
	c, err := l.Stream.CreateConsumer(ctx, config)
	return behind{c, l.has}, err
}

type behind struct {
	jetstream.Consumer
	has uint64
}

func (b behind) CachedInfo() *jetstream.ConsumerInfo {
	info := *b.Consumer.CachedInfo()
	info.NumPending = min(info.NumPending, b.has)
	return &info
}

// A replica that lags behind is not taken for the whole: what the leader has is read to its end.
func TestAReplicaThatLags(t *testing.T) {
	s := ready(t, node(t, server.Options{ServerName: "one"}))
	q, err := Open(t.Context(), Config{URL: s.ClientURL()})
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	for _, has := range []uint64{0, 1, 7} {
		name := fmt.Sprint("box-", has)
		b := box(t, q, name)
		var want []string
		for i := range 7 {
			want = append(want, fmt.Sprint(i))
			if _, err := b.Put(t.Context(), fmt.Sprint(i), "label", []byte("body")); err != nil {
				t.Fatal(err)
			}
		}
		for _, label := range []string{"", "label"} {
			b := &Box{q, lagging{Stream: b.stream, has: has}, b.begin}
			var got []string
			if err := b.Each(t.Context(), label, func(key string, _ []byte) error { got = append(got, key); return nil }); err != nil || !slices.Equal(got, want) {
				t.Errorf("a replica that has %d of 7: %v, %v", has, got, err)
			}
		}
		if err := b.Each(t.Context(), "other", func(string, []byte) error { t.Error("there is none"); return nil }); err != nil {
			t.Error(err)
		}
	}
}

// What is deleted while it is waited for is not missed.
func TestTheNewestIsDeletedMeanwhile(t *testing.T) {
	s := ready(t, node(t, server.Options{ServerName: "one"}))
	q, err := Open(t.Context(), Config{URL: s.ClientURL()})
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	b := box(t, q, "box")
	if _, err := b.Put(t.Context(), "a", "label", []byte("body")); err != nil {
		t.Fatal(err)
	}
	b.stream = lagging{b.stream, 0, true}
	if err := b.Each(t.Context(), "", func(string, []byte) error { t.Error("it is deleted"); return nil }); err != nil {
		t.Error(err)
	}
}
