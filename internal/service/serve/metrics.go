package serve

import (
	"net/http"
	"strconv"
	"time"

	"github.com/confetti-dp/confetti/internal/service/serve/metrics"
)

// Metrics are the numbers of one service, as /metrics shows them.
type Metrics struct {
	Meter *metrics.Set // makes the service's own instruments

	requests *metrics.Counter
	seconds  *metrics.Histogram
}

// answerTimes are the steps of times to answer, in seconds.
var answerTimes = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60}

// NewMetrics returns a set with the instruments of every service.
func NewMetrics() *Metrics {
	set := metrics.New("confetti_")
	return &Metrics{
		Meter:    set,
		requests: set.Counter("http_requests", "Requests answered, by route and status.", "route", "status"),
		seconds:  set.Histogram("http_request_duration", "Time to answer, by route.", answerTimes, "route"),
	}
}

// request counts an answer.
func (m *Metrics) request(route string, status int, took time.Duration) {
	m.requests.Add(1, route, strconv.Itoa(status))
	m.seconds.Record(took, route)
}

// slow returns the time within which 99 of 100 answers of these routes came, and how many there were.
// It is the upper edge of a step of the histogram, and so an upper bound; 0 where it is
// beyond the last.
func (m *Metrics) slow(routes map[string]Handler) (most time.Duration, n uint64) {
	counts := make([]uint64, len(answerTimes)+1)
	for route := range routes {
		for step, c := range m.seconds.Counts(route) {
			counts[step] += c
			n += c
		}
	}
	within := uint64(0)
	for step, edge := range answerTimes {
		if within += counts[step]; n > 0 && 100*within >= 99*n {
			return time.Duration(edge * float64(time.Second)), n
		}
	}
	return 0, n
}

func (s *Server) metrics(w http.ResponseWriter, r *http.Request) error {
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	return s.config.Metrics.Meter.Write(r.Context(), w)
}
