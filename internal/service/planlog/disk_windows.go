package planlog

import (
	"context"
	"errors"

	"github.com/transparency-dev/tessera"
)

// disk refuses: a log's folder needs locks and syncs that the library has for Unix alone.
func disk(context.Context, Options) (tessera.Driver, error) {
	return nil, errors.New("a public log does not run on Windows: run this role on Linux or macOS")
}
