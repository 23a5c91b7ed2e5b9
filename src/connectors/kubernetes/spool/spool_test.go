package spool

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"yquota.io/kubernetes/event"
)

func open(t *testing.T, directory string, most int64) *Spool {
	t.Helper()
	s, err := Open(directory, most)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func record(i int) Record {
	return Record{Event: &event.Event{Kind: event.Start, ContainerID: fmt.Sprintf("c%d", i), OccurredAt: time.Unix(int64(i), 1000).UTC(), Allocation: `{"cpu-milli":1}`}}
}

func add(t *testing.T, s *Spool, from, to int) {
	t.Helper()
	for i := from; i < to; i++ {
		if err := s.Append(record(i)); err != nil {
			t.Fatal(err)
		}
	}
}

// take reads and advances over records, which must be those from one number to another.
func take(t *testing.T, s *Spool, from, to int) {
	t.Helper()
	for from < to {
		records, next, err := s.Read(to - from)
		if err != nil || len(records) == 0 {
			t.Fatalf("%d records: %v", len(records), err)
		}
		for _, r := range records {
			if want := record(from); *r.Event != *want.Event {
				t.Fatalf("%v, but should be %v", r.Event, want.Event)
			}
			from++
		}
		if err := s.Advance(next); err != nil {
			t.Fatal(err)
		}
	}
}

func closeSpool(t *testing.T, s *Spool) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestRecordsSurviveARestart(t *testing.T) {
	directory := t.TempDir()
	s := open(t, directory, 1<<30)
	add(t, s, 0, 100)
	take(t, s, 0, 40)
	closeSpool(t, s)
	for i := 1; i <= 3; i++ {
		s = open(t, directory, 1<<30)
		add(t, s, 90+10*i, 100+10*i)
		closeSpool(t, s)
	}
	s = open(t, directory, 1<<30)
	take(t, s, 40, 130)
	closeSpool(t, s)
	s = open(t, directory, 1<<30)
	add(t, s, 0, 1)
	if s.IsSent() {
		t.Error("a new record counts as sent")
	}
	take(t, s, 0, 1)
	if !s.IsSent() {
		t.Error("the spool is not sent")
	}
	closeSpool(t, s)
}

func TestABatchIsReadAgainUntilItIsSent(t *testing.T) {
	directory := t.TempDir()
	s := open(t, directory, 1<<30)
	add(t, s, 0, 10)
	for range 2 {
		if records, _, err := s.Read(5); err != nil || len(records) == 0 || *records[0].Event != *record(0).Event {
			t.Fatalf("%v: %v", records, err)
		}
	}
	closeSpool(t, s)
	s = open(t, directory, 1<<30)
	take(t, s, 0, 10)
	closeSpool(t, s)
}

func TestAnIncompleteLineIsCut(t *testing.T) {
	directory := t.TempDir()
	s := open(t, directory, 1<<30)
	add(t, s, 0, 3)
	closeSpool(t, s)
	names, _ := filepath.Glob(filepath.Join(directory, "*"+suffix))
	file, err := os.OpenFile(names[len(names)-1], os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.WriteString(`{"event":{"eve`); err != nil {
		t.Fatal(err)
	}
	file.Close()
	s = open(t, directory, 1<<30)
	add(t, s, 3, 5)
	take(t, s, 0, 5)
	closeSpool(t, s)
}

func TestSentFilesAreRemoved(t *testing.T) {
	directory := t.TempDir()
	s := open(t, directory, 1<<30)
	long := Record{Event: &event.Event{ContainerID: strings.Repeat("x", 1<<20)}}
	for range 13 {
		if err := s.Append(long); err != nil {
			t.Fatal(err)
		}
		for s.synced.Offset == 0 && len(s.pending) > 0 {
			time.Sleep(time.Millisecond)
		}
		time.Sleep(2 * syncDelay) // so that the lines are not written together
	}
	before, _ := s.files()
	for sent := 0; sent < 13; {
		records, next, err := s.Read(5)
		if err != nil {
			t.Fatal(err)
		}
		sent += len(records)
		if err := s.Advance(next); err != nil {
			t.Fatal(err)
		}
	}
	after, _ := s.files()
	if len(before) < 3 || len(after) != 1 || s.Bytes() > 2*fileBytes {
		t.Errorf("%d files became %d, with %d bytes", len(before), len(after), s.Bytes())
	}
	closeSpool(t, s)
}

func TestAFullSpoolWaits(t *testing.T) {
	s := open(t, t.TempDir(), 100)
	add(t, s, 0, 1)
	if !s.IsFull() {
		t.Fatal("the spool is not full")
	}
	var added sync.WaitGroup
	added.Go(func() {
		if err := s.Append(record(1)); !errors.Is(err, os.ErrClosed) {
			t.Errorf("a full spool: %v", err)
		}
	})
	time.Sleep(50 * time.Millisecond)
	take(t, s, 0, 1)
	closeSpool(t, s)
	added.Wait()
}

func TestOneProcessUsesTheSpool(t *testing.T) {
	directory := t.TempDir()
	s := open(t, directory, 1<<30)
	if _, err := Open(directory, 1<<30); err == nil {
		t.Error("a second process may open it")
	}
	closeSpool(t, s)
}

func TestReadEndsWithTheSpool(t *testing.T) {
	s := open(t, t.TempDir(), 1<<30)
	var read sync.WaitGroup
	read.Go(func() {
		if records, _, err := s.Read(1); len(records) != 0 || err != nil {
			t.Errorf("%v: %v", records, err)
		}
	})
	closeSpool(t, s)
	read.Wait()
}
