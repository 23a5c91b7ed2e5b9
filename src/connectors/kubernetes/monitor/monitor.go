// Package monitor has the metrics of the connector and its HTTP interface.
package monitor

import (
	"encoding/json"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Reasons for which a running pod is not charged, or not charged for all it uses.
const (
	NoProject  = "no project"
	NoRequests = "no requests"
	Claims     = "resource claims"
)

// Metrics are the metrics of the connector.
type Metrics struct {
	registry  *prometheus.Registry
	events    *prometheus.CounterVec
	sent      prometheus.Counter
	refused   prometheus.Counter
	lastSent  prometheus.Gauge
	database  prometheus.Gauge
	leading   prometheus.Gauge
	running   prometheus.Gauge
	uncharged *prometheus.GaugeVec
	ends      *prometheus.CounterVec
	skewed    prometheus.Counter
	nodes     *prometheus.GaugeVec
	waiting   prometheus.Gauge
	conflicts prometheus.Gauge
	isSynced  atomic.Bool
}

// New returns metrics. The functions return the size of the spool in bytes, and whether it is full.
func New(spoolBytes func() float64, spoolFull func() bool) *Metrics {
	m := &Metrics{registry: prometheus.NewRegistry()}
	counter := func(name, help string) prometheus.Counter {
		c := prometheus.NewCounter(prometheus.CounterOpts{Name: "yquota_kubernetes_" + name, Help: help})
		m.registry.MustRegister(c)
		return c
	}
	counters := func(name, label, help string) *prometheus.CounterVec {
		c := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "yquota_kubernetes_" + name, Help: help}, []string{label})
		m.registry.MustRegister(c)
		return c
	}
	gauge := func(name, help string) prometheus.Gauge {
		g := prometheus.NewGauge(prometheus.GaugeOpts{Name: "yquota_kubernetes_" + name, Help: help})
		m.registry.MustRegister(g)
		return g
	}
	gauges := func(name, label, help string) *prometheus.GaugeVec {
		g := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "yquota_kubernetes_" + name, Help: help}, []string{label})
		m.registry.MustRegister(g)
		return g
	}
	m.events = counters("events_total", "event", "Events that the connector made from changes of pods.")
	m.sent = counter("sent_events_total", "Events that the database has committed.")
	m.refused = counter("refused_records_total", "Records that the database refused, and that were set aside by the connector.")
	m.lastSent = gauge("last_sent_timestamp_seconds", "Time of the last batch that the database committed.")
	m.database = gauge("database_up", "1 if the database answered the last statement, else 0.")
	m.leading = gauge("leading", "1 if this replica leads, else 0.")
	m.running = gauge("running_pods", "Pods that hold resources of a node.")
	m.uncharged = gauges("uncharged_pods", "reason", "Running pods that are not charged, or not charged for all they use.")
	m.ends = counters("ends_total", "source", "Ends of pods, by the source of their time.")
	m.skewed = counter("skewed_ends_total", "Ends that the clocks put before the start: such a pod is charged nothing.")
	m.nodes = gauges("nodes", "state", "Nodes, and those that are not ready.")
	m.waiting = gauge("reconcile_waiting_pods", "Pods that a comparison would finish, and that wait for a person; 0 if none does.")
	m.conflicts = gauge("reconcile_conflicts", "Differences that the last comparison could not repair.")
	m.registry.MustRegister(
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "yquota_kubernetes_spool_bytes", Help: "Size of the spool."}, spoolBytes),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "yquota_kubernetes_spool_full", Help: "1 if the spool is full, else 0."},
			func() float64 { return number(spoolFull()) }))
	return m
}

func number(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

// Event counts an event.
func (m *Metrics) Event(kind string) { m.events.WithLabelValues(kind).Inc() }

// Sent counts events that the database has committed.
func (m *Metrics) Sent(events int) {
	m.sent.Add(float64(events))
	m.lastSent.Set(float64(time.Now().UnixMilli()) / 1000)
}

// Refused counts a record that the database refused.
func (m *Metrics) Refused() { m.refused.Inc() }

// Database says whether the database answers.
func (m *Metrics) Database(isUp bool) { m.database.Set(number(isUp)) }

// Leading says whether this replica leads.
func (m *Metrics) Leading(leads bool) { m.leading.Set(number(leads)) }

// Running adds to the number of running pods.
func (m *Metrics) Running(n float64) { m.running.Add(n) }

// Uncharged adds to the number of pods that are not charged for a reason.
func (m *Metrics) Uncharged(reason string, n float64) { m.uncharged.WithLabelValues(reason).Add(n) }

// End counts the end of a pod.
func (m *Metrics) End(source string, isSkewed bool) {
	m.ends.WithLabelValues(source).Inc()
	if isSkewed {
		m.skewed.Inc()
	}
}

// Nodes says how many nodes there are, and how many of them are not ready.
func (m *Metrics) Nodes(all, unready int) {
	m.nodes.WithLabelValues("all").Set(float64(all))
	m.nodes.WithLabelValues("not ready").Set(float64(unready))
}

// ReconcileWaits says how many pods a comparison would finish when a person agrees.
func (m *Metrics) ReconcileWaits(pods int) { m.waiting.Set(float64(pods)) }

// Conflicts says how many differences the last comparison could not repair.
func (m *Metrics) Conflicts(n int) { m.conflicts.Set(float64(n)) }

// SetSynced says that the connector knows all pods.
func (m *Metrics) SetSynced() { m.isSynced.Store(true) }

// Handler returns the HTTP interface. The function health returns the error after which the connector cannot go on, and
// uncharged the pods that are not charged.
func (m *Metrics) Handler(health func() error, uncharged func() any) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		if err := health(); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if !m.isSynced.Load() {
			http.Error(w, "the pods are not listed yet", http.StatusServiceUnavailable)
		}
	})
	mux.HandleFunc("GET /uncharged", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(uncharged())
	})
	return mux
}
