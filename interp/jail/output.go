//go:build linux || darwin

package jail

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// drain is how long a pipe may stay open after every process that could write
// to it is gone.
const drain = 10 * time.Second

// Buffers are kept, as clearing new ones takes longer than what most commands
// print.
const bufferSize = 64 << 10

var buffers = sync.Pool{New: func() any { return new([bufferSize]byte) }}

// An output is a command's output as it arrives.
type output struct {
	pipe   *os.File
	data   []byte
	capped bool
	err    error
	done   chan struct{}
}

// collect reads pipe in the background, keeps the first limit bytes and calls
// full once when there are more.
func collect(pipe *os.File, limit int64, full func()) *output {
	o := &output{pipe: pipe, done: make(chan struct{})}
	go func() {
		defer close(o.done)
		pooled := buffers.Get().(*[bufferSize]byte)
		defer buffers.Put(pooled)
		buf := pooled[:]
		for {
			n, err := pipe.Read(buf)
			room := limit - int64(len(o.data))
			o.data = append(o.data, buf[:min(int64(n), room)]...)
			if int64(n) > room && !o.capped {
				o.capped = true
				full()
			}
			if err != nil {
				if err != io.EOF {
					o.err = fmt.Errorf("jail: reading the command's output: %w", err)
				}
				return
			}
		}
	}()
	return o
}

// finish waits for the end of the output and returns what was kept.
func (o *output) finish() ([]byte, error) {
	defer o.pipe.Close()
	if err := o.pipe.SetReadDeadline(time.Now().Add(drain)); err != nil {
		return nil, fmt.Errorf("jail: reading the command's output: %w", err)
	}
	<-o.done
	if errors.Is(o.err, os.ErrDeadlineExceeded) {
		return nil, errors.New("jail: something still holds the command's output open after its end")
	}
	return o.data, o.err
}
