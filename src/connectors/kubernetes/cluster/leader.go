package cluster

import (
	"context"
	"log/slog"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"yquota.io/kubernetes/settings"
)

// A replica tries to renew its Lease renewalsPerDuration times in the duration of the Lease. If no attempt succeeds, the
// replica stops leading before the Lease ends, by the duration divided by deadlineDivisor.
const (
	renewalsPerDuration = 7
	deadlineDivisor     = 3
)

// lock is the Lease. It knows when a leader last renewed the Lease before this replica did.
type lock struct {
	resourcelock.Interface

	mutex     sync.Mutex
	leads     bool
	hasLed    bool
	renewedAt time.Time
}

func (l *lock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	record, raw, err := l.Interface.Get(ctx)
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if err == nil && !l.leads {
		l.renewedAt = record.RenewTime.UTC()
	}
	return record, raw, err
}

func (l *lock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.written(l.Interface.Create(ctx, record))
}

func (l *lock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.written(l.Interface.Update(ctx, record))
}

func (l *lock) written(err error) error {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if err == nil {
		l.leads = true
		l.hasLed = true
	}
	return err
}

func (l *lock) stop() {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.leads = false
}

func (l *lock) lastRenewal() time.Time {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.renewedAt
}

// Lead competes for the Lease until the context ends. While this replica leads, lead runs. It is called with the time
// at which the leader before it last showed that it ran; that is zero if there was none.
func Lead(ctx context.Context, client kubernetes.Interface, lease settings.Lease, identity string,
	lead func(context.Context, time.Time)) error {
	for ctx.Err() == nil {
		own := &lock{Interface: &resourcelock.LeaseLock{
			LeaseMeta:  metav1.ObjectMeta{Namespace: lease.Namespace, Name: lease.Name},
			Client:     client.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: identity},
		}}
		done := make(chan struct{})
		elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
			Lock:            own,
			LeaseDuration:   lease.Duration.Duration,
			RenewDeadline:   lease.Duration.Duration - lease.Duration.Duration/deadlineDivisor,
			RetryPeriod:     lease.Duration.Duration / renewalsPerDuration,
			ReleaseOnCancel: true,
			Name:            lease.Name,
			Callbacks: leaderelection.LeaderCallbacks{
				OnStartedLeading: func(ctx context.Context) {
					defer close(done)
					slog.Info("this replica leads", "identity", identity, "previous leader renewed at", own.lastRenewal())
					lead(ctx, own.lastRenewal())
				},
				OnStoppedLeading: own.stop,
			},
		})
		if err != nil {
			return err
		}
		elector.Run(ctx)
		if own.hasLed {
			<-done
		}
		slog.Info("this replica does not lead any more", "identity", identity)
	}
	return nil
}
