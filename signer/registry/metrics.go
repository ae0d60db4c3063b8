package registry

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Metrics count what the processes of a registry do.
type Metrics struct {
	registry                       *prometheus.Registry
	published, signed, pushed      prometheus.Counter
	refused, failed, already       *prometheus.CounterVec
	signing                        prometheus.Histogram
	indexed, commits, indexVersion prometheus.Gauge
}

// NewMetrics makes a set of its own.
func NewMetrics() *Metrics {
	m := &Metrics{registry: prometheus.NewRegistry()}
	counter := func(name, help string) prometheus.Counter {
		c := prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
		m.registry.MustRegister(c)
		return c
	}
	by := func(name, help string) *prometheus.CounterVec {
		c := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, []string{"at"})
		m.registry.MustRegister(c)
		return c
	}
	gauge := func(name, help string) prometheus.Gauge {
		g := prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: help})
		m.registry.MustRegister(g)
		return g
	}
	m.published = counter("steps_published_total", "Submissions that got a revision.")
	m.signed = counter("steps_signed_total", "Revisions signed by this process.")
	m.pushed = counter("steps_pushed_total", "Bundles pushed to an OCI registry.")
	m.already = by("steps_repeated_total", "Work that proved to be done before.")
	m.refused = by("steps_refused_total", "Submissions refused for good.")
	m.failed = by("steps_failed_total", "Errors after which the same is tried again.")
	m.indexed = gauge("steps_indexed_total", "Packages that this process put into the index.")
	m.commits = gauge("steps_index_commits_total", "Commits of the index by this process.")
	m.indexVersion = gauge("steps_index_version", "Version of the last commit by this process.")
	m.signing = prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "steps_sign_seconds", Help: "Time to check, sign and store a revision.",
		Buckets: prometheus.ExponentialBuckets(0.0005, 2, 14),
	})
	m.registry.MustRegister(m.signing)
	return m
}

// Committed is for [index.Options].
func (m *Metrics) Committed(version int64, changed int) {
	m.indexed.Add(float64(changed))
	m.commits.Inc()
	m.indexVersion.Set(float64(version))
}

func (m *Metrics) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}
