package cluster

import (
	"sync"
	"sync/atomic"
	"time"

	"yquota.io/kubernetes/spool"
)

// Recorder passes records on while this replica leads. A replica that does not lead keeps its latest records, for the
// time in which the leader may have gone without recording what happened.
type Recorder struct {
	hold time.Duration
	out  func(...spool.Record) error

	mutex    sync.Mutex
	leads    bool
	competes bool
	held     []heldRecord
	// first error of out; no mutex guards it, because out waits while the spool is full
	failure atomic.Pointer[error]
}

type heldRecord struct {
	at     time.Time
	record spool.Record
}

// NewRecorder returns a recorder that keeps records for a time, and passes them to out.
func NewRecorder(hold time.Duration, out func(...spool.Record) error) *Recorder {
	return &Recorder{hold: hold, out: out}
}

// Record records what happened.
func (r *Recorder) Record(records ...spool.Record) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.leads {
		r.pass(records)
		return
	}
	now := time.Now()
	for _, record := range records {
		r.held = append(r.held, heldRecord{now, record})
	}
	r.forget(now)
}

func (r *Recorder) pass(records []spool.Record) {
	if err := r.out(records...); err != nil {
		r.failure.CompareAndSwap(nil, &err)
	}
}

// forget removes records that are too old. It leaves the slice alone while few are.
func (r *Recorder) forget(now time.Time) {
	if !r.competes {
		return
	}
	old := 0
	for old < len(r.held) && now.Sub(r.held[old].at) > r.hold {
		old++
	}
	if old > len(r.held)/2 {
		r.held = append([]heldRecord(nil), r.held[old:]...)
	}
}

// Compete says that this replica competes for the Lease from now on. Until then it keeps all records, because the first
// list of pods may take long.
func (r *Recorder) Compete() {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.competes = true
	now := time.Now()
	for i := range r.held {
		r.held[i].at = now
	}
}

// Lead says whether this replica leads from now on.
func (r *Recorder) Lead(leads bool) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.leads = leads
	if !leads {
		return
	}
	now := time.Now()
	var records []spool.Record
	for _, held := range r.held {
		if now.Sub(held.at) <= r.hold {
			records = append(records, held.record)
		}
	}
	r.held = nil
	if len(records) > 0 {
		r.pass(records)
	}
}

// Failure returns the first error of out.
func (r *Recorder) Failure() error {
	if failure := r.failure.Load(); failure != nil {
		return *failure
	}
	return nil
}
