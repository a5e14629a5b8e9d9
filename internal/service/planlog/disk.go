//go:build !windows

package planlog

import (
	"context"

	"github.com/transparency-dev/tessera"
	"github.com/transparency-dev/tessera/storage/posix"
)

// disk opens the log's folder.
func disk(ctx context.Context, o Options) (tessera.Driver, error) {
	return posix.New(ctx, posix.Config{Path: o.Folder, HTTPClient: o.Client})
}
