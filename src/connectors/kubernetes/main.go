// Yquota-kubernetes feeds yquota with the pods and nodes of a Kubernetes cluster. README.md describes how to install
// it, and settings/settings.yaml its settings.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"

	"yquota.io/kubernetes/cluster"
	"yquota.io/kubernetes/database"
	"yquota.io/kubernetes/mapping"
	"yquota.io/kubernetes/monitor"
	"yquota.io/kubernetes/sender"
	"yquota.io/kubernetes/settings"
	"yquota.io/kubernetes/spool"
)

const (
	requestsPerSecond = 100
	requestBurst      = 200
	// A replica that does not lead keeps its records for so many durations of the Lease.
	heldDurations = 4
	tick          = time.Second
)

func main() {
	file := flag.String("settings", "", "YAML `file` of settings")
	kubeconfig := flag.String("kubeconfig", "", "kubeconfig `file`; by default KUBECONFIG, or else the account of the pod")
	isDry := flag.Bool("dry-run", false, "print rows instead of sending them")
	isVerbose := flag.Bool("verbose", false, "log each difference between the books and the cluster")
	flag.Parse()

	level := slog.LevelInfo
	if *isVerbose {
		level = slog.LevelDebug
	}
	logger := slog.New(slog.NewJSONHandler(os.Stderr, &slog.HandlerOptions{Level: level}))
	slog.SetDefault(logger)
	klog.SetSlogLogger(logger)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *file, *kubeconfig, *isDry); err != nil {
		slog.Error("the connector cannot go on", "error", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, file, kubeconfig string, isDry bool) error {
	s := settings.Defaults()
	if file != "" {
		var err error
		if s, err = settings.Read(file); err != nil {
			return fmt.Errorf("the settings cannot be read: %w", err)
		}
	}
	mapper, err := mapping.New(s.Mapping, s.Nodes)
	if err != nil {
		return fmt.Errorf("the settings are invalid: %w", err)
	}
	config, err := clientConfig(kubeconfig)
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	dynamicClient, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	metadataClient, err := metadata.NewForConfig(config)
	if err != nil {
		return err
	}
	c := &connector{settings: s, mapper: mapper, client: client, dynamic: dynamicClient, owners: cluster.NewOwners(metadataClient, s.Mapping)}
	if isDry {
		return c.dryRun(ctx)
	}
	return c.run(ctx)
}

func clientConfig(kubeconfig string) (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = kubeconfig
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
	if err != nil {
		return nil, err
	}
	config.QPS = requestsPerSecond
	config.Burst = requestBurst
	config.UserAgent = "yquota-kubernetes"
	config.ContentType = "application/vnd.kubernetes.protobuf"
	config.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	return config, nil
}

// A connector is the running program.
type connector struct {
	settings settings.Settings
	mapper   *mapping.Mapper
	client   kubernetes.Interface
	dynamic  dynamic.Interface
	owners   *cluster.Owners
	metrics  *monitor.Metrics
	pods     *cluster.Pods
	nodes    *cluster.Nodes
	recorder *cluster.Recorder
	spool    *spool.Spool
	// namespaces with their labels
	namespaces cache.Store
}

// prepare makes the stores, which record by the recorder.
func (c *connector) prepare(ctx context.Context) {
	c.namespaces = cache.NewStore(cache.MetaNamespaceKeyFunc)
	facts := cluster.NewFacts(c.client, c.namespaces, c.owners)
	c.pods = cluster.NewPods(ctx, c.mapper, facts.Of, c.recorder.Record, c.metrics, c.settings.KubeletWait.Duration)
	c.nodes = cluster.NewNodes(c.mapper, c.recorder.Record, c.metrics)
}

// dryRun prints rows.
func (c *connector) dryRun(ctx context.Context) error {
	c.metrics = monitor.New(func() float64 { return 0 }, func() bool { return false })
	out := json.NewEncoder(os.Stdout)
	c.recorder = cluster.NewRecorder(0, func(records ...spool.Record) error {
		for _, record := range records {
			var err error
			if record.Event != nil {
				err = out.Encode(record.Event)
			} else {
				err = out.Encode(record)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	c.recorder.Lead(true)
	c.prepare(ctx)
	if err := c.follow(ctx); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

// run feeds the database until the context ends.
func (c *connector) run(ctx context.Context) (err error) {
	s := &c.settings
	if s.Lease.Namespace == "" {
		s.Lease.Namespace = os.Getenv("POD_NAMESPACE")
	}
	identity := os.Getenv("POD_NAME")
	if identity == "" {
		if identity, err = os.Hostname(); err != nil {
			return err
		}
	}
	if s.Lease.Namespace == "" {
		return errors.New("lease.namespace is not set, and POD_NAMESPACE is not, either")
	}
	if c.spool, err = spool.Open(s.Spool.Directory, s.Spool.MostMB<<20); err != nil {
		return err
	}
	c.metrics = monitor.New(func() float64 { return float64(c.spool.Bytes()) }, c.spool.IsFull)
	c.recorder = cluster.NewRecorder(heldDurations*s.Lease.Duration.Duration, c.spool.Append)
	sending, err := database.New(s.Source, s.Database, "sender", c.metrics.Database)
	if err != nil {
		return err
	}
	leading, err := database.New(s.Source, s.Database, "leader", c.metrics.Database)
	if err != nil {
		return err
	}

	whole := ctx
	ctx, cancel := context.WithCancelCause(whole)
	defer cancel(nil)
	var running sync.WaitGroup
	running.Go(func() {
		cancel(sender.New(s.Source, c.spool, sending, s.BatchEvents, c.metrics).Run(ctx))
	})
	c.prepare(ctx)
	if err := c.serve(ctx, cancel); err != nil {
		cancel(err)
	}
	if err := c.follow(ctx); err != nil {
		cancel(err)
	}
	c.recorder.Compete()
	cancel(cluster.Lead(ctx, c.client, s.Lease, identity, func(ctx context.Context, lastRenewal time.Time) {
		c.lead(ctx, leading, lastRenewal)
	}))
	leading.Close()
	err = c.spool.Close()
	running.Wait()
	if whole.Err() == nil {
		err = errors.Join(context.Cause(ctx), err) // The connector was not told to end.
	}
	return err
}

// serve serves metrics and health.
func (c *connector) serve(ctx context.Context, cancel context.CancelCauseFunc) error {
	listener, err := net.Listen("tcp", c.settings.Listen)
	if err != nil {
		return err
	}
	server := &http.Server{ReadHeaderTimeout: 10 * time.Second, Handler: c.metrics.Handler(c.recorder.Failure, func() any {
		return c.pods.Uncharged()
	})}
	go func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			cancel(err)
		}
	}()
	context.AfterFunc(ctx, func() { server.Close() })
	return nil
}

// follow begins to follow the cluster, and returns when namespaces, nodes and pods are listed.
func (c *connector) follow(ctx context.Context) error {
	if err := c.reflect(ctx, "namespaces", &corev1.Namespace{}, c.namespaces); err != nil {
		return err
	}
	if err := c.reflect(ctx, "nodes", &corev1.Node{}, c.nodes); err != nil {
		return err
	}
	if err := c.reflect(ctx, "pods", &corev1.Pod{}, c.pods); err != nil {
		return err
	}
	go func() {
		for ctx.Err() == nil {
			if err := c.pods.StartWaiting(); err != nil {
				slog.Error("pods that wait for their kubelet cannot be recorded", "error", err)
			}
			pause(ctx, tick)
		}
	}()
	return nil
}

// reflect fills a store with the objects of a resource, keeps it up to date, and returns when it is filled.
func (c *connector) reflect(ctx context.Context, resource string, kind any, store cache.ReflectorStore) error {
	source := cache.NewListWatchFromClient(c.client.CoreV1().RESTClient(), resource, corev1.NamespaceAll, fields.Everything())
	if pods, ok := store.(*cluster.Pods); ok {
		pods.ListInPages(source)
	}
	reflector := cache.NewReflectorWithOptions(source, kind, store, cache.ReflectorOptions{Name: resource})
	go reflector.RunWithContext(ctx)
	for reflector.LastSyncResourceVersion() == "" {
		if !pause(ctx, 10*time.Millisecond) {
			return context.Cause(ctx)
		}
	}
	slog.Info("listed", "resource", resource)
	return nil
}

// lead does what only the leader does until the context ends.
func (c *connector) lead(ctx context.Context, session *database.Session, lastRenewal time.Time) {
	c.recorder.Lead(true)
	c.metrics.Leading(true)
	defer c.metrics.Leading(false)
	defer c.recorder.Lead(false)
	c.nodes.NeedAll()
	reconciler := &cluster.Reconciler{Client: c.client, Pods: c.pods, Spool: c.spool, Session: session, Settings: c.settings, Metrics: c.metrics,
		AsOf: lastRenewal}
	compare := every(c.settings.Reconcile.Interval.Duration, func() error { return reconciler.Compare(ctx) })
	compareWaiting := every(c.settings.ComputeInterval.Duration, func() error {
		if !reconciler.Waits() {
			return nil
		}
		return reconciler.CompareWaiting(ctx)
	})
	compute := every(c.settings.ComputeInterval.Duration, func() error {
		if !c.spool.IsSent() {
			return nil
		}
		return sender.Compute(ctx, session, c.settings.Source)
	})
	nodes := every(tick, func() error { return cluster.SendNodes(ctx, session, c.nodes) })
	writer := &cluster.Balances{Client: c.dynamic, Session: session}
	balances := every(c.settings.BalanceInterval.Duration, func() error { return writer.Write(ctx) })
	for ctx.Err() == nil {
		for _, do := range []func() error{nodes, compare, compareWaiting, compute, balances} {
			if err := do(); err != nil && ctx.Err() == nil {
				slog.Error("the leader failed; trying again", "error", err)
			}
		}
		pause(ctx, tick)
	}
}

// every returns a function that does the work when the interval has passed since it last succeeded.
func every(interval time.Duration, work func() error) func() error {
	var last time.Time
	return func() error {
		if !last.IsZero() && time.Since(last) < interval {
			return nil
		}
		err := work()
		if err == nil {
			last = time.Now()
		}
		return err
	}
}

// pause waits, and returns false if the context has ended.
func pause(ctx context.Context, duration time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(duration):
		return true
	}
}
