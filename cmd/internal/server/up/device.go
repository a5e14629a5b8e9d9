package up

import (
	"context"
	"net/http"

	"github.com/confetti-dp/confetti/web/client"
)

// device returns what a phone's browser loads, or why there is none.
func device(ctx context.Context) (http.Handler, string) {
	files, err := webclient.Files(ctx)
	if err != nil {
		return nil, err.Error()
	}
	return webclient.Handler(files), ""
}
