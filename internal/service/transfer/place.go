package transfer

import (
	"context"
	"errors"

	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/storage/blob"
	"github.com/confetti-dp/confetti/internal/storage/blob/bucket"
)

// Place is where a service and its workers keep parts, in a configuration: a folder, on a
// file system that syncs as a disk does, or a bucket (bucket.Open has its URL, and where
// its keys are).
type Place struct {
	Folder serve.Path `toml:"folder" or:"/var/lib/confetti-ROLE/parts" help:"A folder, on a file system that all workers see and that syncs as a disk does."`
	Bucket string     `toml:"bucket" or:"s3://parts/ROLE?endpoint=https://s3.example.org&region=us-east-1" help:"Or a bucket, whose keys are in the environment (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY)."`
}

// None reports that neither is set.
func (p Place) None() bool { return p.Folder == "" && p.Bucket == "" }

// Check says what is wrong with the place that a section of a configuration names, and asks
// no bucket.
func (p Place) Check(section string) error {
	switch {
	case p.Folder != "" && p.Bucket != "":
		return serve.Fault(section, errors.New("set either folder or bucket: parts lie in one of them"))
	case p.Folder != "":
		return serve.Fault(section+".folder", serve.Writable(p.Folder))
	case p.Bucket != "" && !bucket.Is(p.Bucket):
		return serve.Fault(section+".bucket", errors.New("is no URL of a bucket: write s3://BUCKET/PREFIX"))
	case p.Bucket != "":
		b, err := bucket.Open(p.Bucket)
		if err == nil {
			b.Close()
		}
		return serve.Fault(section+".bucket", err)
	}
	return nil
}

// Open opens the store, and asks a bucket whether it is there; nil: there is none.
func (p Place) Open(ctx context.Context) (blob.Store, error) {
	if p.None() {
		return nil, nil
	}
	if p.Bucket == "" {
		return blob.OpenFolder(string(p.Folder))
	}
	b, err := bucket.Open(p.Bucket)
	if err == nil {
		_, err = b.List(ctx, "probe")
	}
	if err != nil {
		return nil, err
	}
	return b, nil
}
