// Package spool keeps records on disk until the database has accepted them.
//
// The spool is a directory of files of JSON lines. The file "position" names the first record that is not sent yet. A
// record is sent only after it is synced to disk, and it leaves the spool only after the database has committed it. So
// a crash repeats records, but loses none that was synced.
package spool

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"yquota.io/kubernetes/event"
)

const (
	fileBytes = 4 << 20
	suffix    = ".jsonl"
	// time for which records may wait for other records before they are synced together
	syncDelay = 20 * time.Millisecond
)

// Record is an event, a node that was lost, or tags of an application.
type Record struct {
	Event *event.Event `json:"event,omitempty"`
	Lost  *LostNode    `json:"lost,omitempty"`
	Tags  *Tags        `json:"tags,omitempty"`
}

// Tags are the tags of an application.
type Tags struct {
	ApplicationID string   `json:"application_id"`
	Tags          []string `json:"tags"`
}

// LostNode is a node whose containers have ended.
type LostNode struct {
	Node string    `json:"node"`
	At   time.Time `json:"at"`
}

// Position is a place in the spool.
type Position struct {
	File   int64 `json:"file"`
	Offset int64 `json:"offset"`
}

func (p Position) before(q Position) bool {
	return p.File < q.File || p.File == q.File && p.Offset < q.Offset
}

// Spool is an open spool. One goroutine reads and advances it; any goroutine may append.
type Spool struct {
	directory string
	most      int64
	lock      *os.File

	mutex   sync.Mutex
	changed sync.Cond
	closed  bool
	failure error
	// lines that are not written yet, and whether others are being written
	pending   []byte
	isWriting bool
	synced    Position
	sent      Position
	bytes     int64 // of all files, and of lines that are not written yet

	// used by the goroutine that writes only
	out  *os.File
	done chan struct{}
}

// Open opens the spool of a directory, which must exist. The spool holds at most so many bytes.
func Open(directory string, most int64) (*Spool, error) {
	s := &Spool{directory: directory, most: most, done: make(chan struct{})}
	s.changed.L = &s.mutex
	lock, err := os.OpenFile(filepath.Join(directory, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		lock.Close()
		return nil, fmt.Errorf("another process uses the spool %s: %w", directory, err)
	}
	s.lock = lock
	if err := s.load(); err != nil {
		lock.Close()
		return nil, err
	}
	go s.sync()
	return s, nil
}

func (s *Spool) path(file int64) string {
	return filepath.Join(s.directory, fmt.Sprintf("%016d%s", file, suffix))
}

func (s *Spool) files() ([]int64, error) {
	names, err := filepath.Glob(filepath.Join(s.directory, "*"+suffix))
	if err != nil {
		return nil, err
	}
	var files []int64
	for _, name := range names {
		var file int64
		if _, err := fmt.Sscanf(filepath.Base(name), "%d"+suffix, &file); err == nil {
			files = append(files, file)
		}
	}
	slices.Sort(files)
	return files, nil
}

// load finds the position, removes an incomplete last line, and begins a new file.
func (s *Spool) load() error {
	text, err := os.ReadFile(filepath.Join(s.directory, "position"))
	if err == nil {
		err = json.Unmarshal(text, &s.sent)
	} else if errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	if err != nil {
		return fmt.Errorf("the position of the spool cannot be read: %w", err)
	}
	files, err := s.files()
	if err != nil {
		return err
	}
	next := s.sent.File + 1
	for _, file := range files {
		if file < s.sent.File {
			if err := os.Remove(s.path(file)); err != nil {
				return err
			}
			continue
		}
		size, err := cutIncompleteLine(s.path(file))
		if err != nil {
			return err
		}
		s.bytes += size
		next = file + 1
	}
	s.synced = Position{File: next}
	return s.begin(next)
}

func cutIncompleteLine(path string) (int64, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	size := int64(bytes.LastIndexByte(text, '\n') + 1)
	if size < int64(len(text)) {
		return size, os.Truncate(path, size)
	}
	return size, nil
}

// begin begins a file. Its name is safe on disk when it has its first record.
func (s *Spool) begin(file int64) error {
	out, err := os.OpenFile(s.path(file), os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	if s.out != nil {
		if err := s.out.Close(); err != nil {
			return err
		}
	}
	s.out = out
	return syncDirectory(s.directory)
}

func syncDirectory(path string) error {
	directory, err := os.Open(path)
	if err != nil {
		return err
	}
	defer directory.Close()
	return directory.Sync()
}

// Append adds records. It waits while the spool is full, and fails if the spool is closed or its disk fails.
func (s *Spool) Append(records ...Record) error {
	var lines []byte
	for i := range records {
		line, err := json.Marshal(&records[i])
		if err != nil {
			return err
		}
		lines = append(append(lines, line...), '\n')
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for !s.closed && s.failure == nil && s.bytes >= s.most {
		s.changed.Wait()
	}
	if s.failure != nil {
		return s.failure
	}
	if s.closed {
		return os.ErrClosed
	}
	s.pending = append(s.pending, lines...)
	s.bytes += int64(len(lines))
	s.changed.Broadcast()
	return nil
}

// sync writes and syncs pending lines until the spool is closed.
func (s *Spool) sync() {
	defer close(s.done)
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for end := s.synced; ; {
		for len(s.pending) == 0 && !s.closed {
			s.changed.Wait()
		}
		if len(s.pending) == 0 {
			return
		}
		if !s.closed {
			s.mutex.Unlock()
			time.Sleep(syncDelay)
			s.mutex.Lock()
		}
		lines := s.pending
		s.pending = nil
		s.isWriting = true
		s.mutex.Unlock()
		next, err := s.write(lines, end)
		s.mutex.Lock()
		s.isWriting = false
		if err != nil {
			s.failure = fmt.Errorf("the spool cannot be written: %w", err)
			s.changed.Broadcast()
			return
		}
		end = next
		s.synced = end
		s.changed.Broadcast()
	}
}

// write writes lines at the end, and returns the new end.
func (s *Spool) write(lines []byte, end Position) (Position, error) {
	if end.Offset >= fileBytes {
		end = Position{File: end.File + 1}
		if err := s.begin(end.File); err != nil {
			return end, err
		}
	}
	if _, err := s.out.Write(lines); err != nil {
		return end, err
	}
	end.Offset += int64(len(lines))
	return end, s.out.Sync()
}

// Failure returns the error of the disk after which nothing can be appended.
func (s *Spool) Failure() error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.failure
}

// Bytes returns the size of the records that are not sent yet, or whose file has other such records.
func (s *Spool) Bytes() int64 {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.bytes
}

// IsFull returns whether the spool accepts no records.
func (s *Spool) IsFull() bool { return s.Bytes() >= s.most }

// IsSent returns whether all records are sent.
func (s *Spool) IsSent() bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return len(s.pending) == 0 && !s.isWriting && !s.sent.before(s.synced)
}

// Read returns the next records that are synced and not sent, at most so many, and the position behind them. It waits
// until there is one. If the spool is closed, it returns none.
func (s *Spool) Read(most int) ([]Record, Position, error) {
	for {
		s.mutex.Lock()
		for !s.closed && s.failure == nil && !s.sent.before(s.synced) {
			s.changed.Wait()
		}
		from, to, closed := s.sent, s.synced, s.closed || s.failure != nil && !s.sent.before(s.synced)
		s.mutex.Unlock()
		if closed {
			return nil, from, nil
		}
		records, next, err := s.read(from, to, most)
		if err != nil || len(records) > 0 {
			return records, next, err
		}
		// The file has no more records.
		if err := s.Advance(s.following(from)); err != nil {
			return nil, from, err
		}
	}
}

// following returns the begin of the first file after a position.
func (s *Spool) following(from Position) Position {
	files, err := s.files()
	if err == nil {
		for _, file := range files {
			if file > from.File {
				return Position{File: file}
			}
		}
	}
	return from
}

func (s *Spool) read(from, to Position, most int) ([]Record, Position, error) {
	file, err := os.Open(s.path(from.File))
	if errors.Is(err, os.ErrNotExist) {
		return nil, from, nil
	}
	if err != nil {
		return nil, from, err
	}
	defer file.Close()
	if _, err := file.Seek(from.Offset, io.SeekStart); err != nil {
		return nil, from, err
	}
	var records []Record
	lines := bufio.NewReader(file)
	for len(records) < most && from.before(to) {
		line, err := lines.ReadBytes('\n')
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, from, err
		}
		var record Record
		if err := json.Unmarshal(line, &record); err != nil {
			return nil, from, fmt.Errorf("%s has an invalid line at byte %d: %w", s.path(from.File), from.Offset, err)
		}
		records = append(records, record)
		from.Offset += int64(len(line))
	}
	return records, from, nil
}

// Advance records that everything before a position is sent, and removes files that are no longer needed.
func (s *Spool) Advance(to Position) error {
	text, err := json.Marshal(to)
	if err != nil {
		return err
	}
	if err := replaceFile(s.directory, "position", text); err != nil {
		return err
	}
	files, err := s.files()
	if err != nil {
		return err
	}
	var freed int64
	for _, file := range files {
		if file >= to.File {
			break
		}
		if info, err := os.Stat(s.path(file)); err == nil {
			freed += info.Size()
		}
		if err := os.Remove(s.path(file)); err != nil {
			return err
		}
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.sent = to
	s.bytes -= freed
	s.changed.Broadcast()
	return nil
}

func replaceFile(directory, name string, text []byte) error {
	path := filepath.Join(directory, name)
	file, err := os.OpenFile(path+".new", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if _, err = file.Write(text); err == nil {
		err = file.Sync()
	}
	if closing := file.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return err
	}
	if err := os.Rename(path+".new", path); err != nil {
		return err
	}
	return syncDirectory(directory)
}

// Close syncs what was appended, and lets Read return.
func (s *Spool) Close() error {
	s.mutex.Lock()
	s.closed = true
	s.changed.Broadcast()
	s.mutex.Unlock()
	<-s.done
	return errors.Join(s.Failure(), s.out.Close(), s.lock.Close())
}
