package serve

import (
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
)

const askTimes = 3 // services that are asked for their time

// AskTimes returns what services answer, the first few of those that have a URL, for
// clock.Asked to compare their time with ours. Who does not answer is left out.
func AskTimes(ctx context.Context, client *http.Client, urls ...string) []*http.Response {
	ctx, cancel := context.WithTimeout(ctx, AskFor)
	defer cancel()
	var asked []string
	var answers []*http.Response
	for _, url := range urls {
		if url == "" || slices.Contains(asked, url) || len(asked) == askTimes {
			continue
		}
		asked = append(asked, url)
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(url, "/")+"/healthz", nil)
		if err != nil {
			continue
		}
		res, err := client.Do(req)
		if err != nil {
			continue
		}
		io.Copy(io.Discard, io.LimitReader(res.Body, 1<<10))
		res.Body.Close()
		answers = append(answers, res)
	}
	return answers
}
