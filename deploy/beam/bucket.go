package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem"

	"github.com/confetti-dp/confetti/internal/storage/blob/bucket"
)

// Buckets are read and written by the code that the analyzer has for them, which reaches any
// S3-compatible service: the endpoint, the region and the keys are those of the environment,
// on each worker.
func init() {
	filesystem.Register("s3", func(context.Context) filesystem.Interface { return buckets{} })
}

type buckets struct{}

// opened are the buckets that were, by their names.
var opened sync.Map

// at returns the bucket of a path, and the rest of it.
func at(path string) (*bucket.Bucket, string, error) {
	of, name, _ := strings.Cut(strings.TrimPrefix(path, "s3://"), "/")
	if b, there := opened.Load(of); there {
		return b.(*bucket.Bucket), name, nil
	}
	b, err := bucket.Open("s3://" + of)
	if err == nil {
		opened.Store(of, b)
	}
	return b, name, err
}

func (buckets) Close() error { return nil }

// pattern is what stands for the shards and pieces of a batch.
const pattern = "/*/*"

// List lists what is two levels below a folder.
func (buckets) List(ctx context.Context, glob string) (paths []string, err error) {
	folder, ok := strings.CutSuffix(glob, pattern)
	if !ok || strings.ContainsAny(folder, "*?[") {
		return nil, fmt.Errorf("%s: the parts in a bucket are s3://BUCKET/FOLDER%s", glob, pattern)
	}
	b, under, err := at(folder)
	if err != nil {
		return nil, err
	}
	names, err := b.List(ctx, under)
	for _, name := range names {
		if strings.Count(strings.TrimPrefix(name, under), "/") == strings.Count(pattern, "/") {
			paths = append(paths, strings.TrimSuffix(folder, under)+name)
		}
	}
	return paths, err
}

func (buckets) get(ctx context.Context, path string) ([]byte, error) {
	b, name, err := at(path)
	if err != nil {
		return nil, err
	}
	return b.Get(ctx, name)
}

func (s buckets) OpenRead(ctx context.Context, path string) (io.ReadCloser, error) {
	body, err := s.get(ctx, path)
	return io.NopCloser(bytes.NewReader(body)), err
}

func (s buckets) Size(ctx context.Context, path string) (int64, error) {
	body, err := s.get(ctx, path)
	return int64(len(body)), err
}

func (buckets) OpenWrite(ctx context.Context, path string) (io.WriteCloser, error) {
	b, name, err := at(path)
	if err == nil && name == "" {
		err = errors.New("-out is a bucket, and no name in it")
	}
	return &writer{put: func(body []byte) error { return b.Put(ctx, name, body) }}, err
}

// writer writes what it was given when it is closed.
type writer struct {
	bytes.Buffer
	put func([]byte) error
}

func (w *writer) Close() error { return w.put(w.Bytes()) }
