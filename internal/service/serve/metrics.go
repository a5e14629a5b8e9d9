package serve

import (
	"context"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/otel/attribute"
	exporter "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/metric"
	sdk "go.opentelemetry.io/otel/sdk/metric"
)

// Metrics are the numbers of one service, as /metrics shows them. Labels name
// routes, plans and hops, never a person; there are at most 1,000 combinations
// of an instrument's labels, and the rest are counted together.
type Metrics struct {
	// Meter makes the service's own instruments. Their names begin with
	// confetti_ in what is shown.
	Meter metric.Meter

	requests metric.Int64Counter
	seconds  metric.Float64Histogram
	page     http.Handler
	registry *prometheus.Registry

	labels sync.Map // of requests, by outcome: they are dear to make
}

// outcome is what is counted of a request.
type outcome struct {
	route  string
	status int
}

// labels are those of an outcome, and of its route alone.
type labels struct{ outcome, route metric.MeasurementOption }

const maxSeries = 1000

// NewMetrics makes an empty set with those of every service.
func NewMetrics() *Metrics {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	reader := must(exporter.New(exporter.WithRegisterer(registry), exporter.WithNamespace("confetti"), exporter.WithoutScopeInfo(), exporter.WithoutTargetInfo()))
	provider := sdk.NewMeterProvider(sdk.WithReader(reader), sdk.WithCardinalityLimit(maxSeries))
	m := &Metrics{registry: registry, Meter: provider.Meter("confetti"), page: promhttp.HandlerFor(registry, promhttp.HandlerOpts{})}
	m.requests = must(m.Meter.Int64Counter("http_requests", metric.WithDescription("Requests answered, by route and status.")))
	m.seconds = must(m.Meter.Float64Histogram("http_request_duration", metric.WithUnit("s"), metric.WithDescription("Time to answer, by route."),
		metric.WithExplicitBucketBoundaries(.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60)))
	return m
}

// must panics on errors of names and options that stand in this file.
func must[T any](v T, err error) T {
	if err != nil {
		panic("serve: " + err.Error())
	}
	return v
}

func (m *Metrics) request(ctx context.Context, route string, status int, took time.Duration) {
	l, there := m.labels.Load(outcome{route, status})
	if !there { // routes and statuses are few
		at := attribute.String("route", route)
		l, _ = m.labels.LoadOrStore(outcome{route, status}, labels{
			metric.WithAttributeSet(attribute.NewSet(at, attribute.String("status", strconv.Itoa(status)))), metric.WithAttributeSet(attribute.NewSet(at)),
		})
	}
	m.requests.Add(ctx, 1, l.(labels).outcome)
	m.seconds.Record(ctx, took.Seconds(), l.(labels).route)
}

func (s *Server) metrics(w http.ResponseWriter, r *http.Request) error {
	s.config.Metrics.page.ServeHTTP(w, r)
	return nil
}
