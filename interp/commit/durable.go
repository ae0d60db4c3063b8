package commit

import (
	"fmt"
	"strconv"

	"golang.org/x/sys/unix"
)

// durable writes out the journal and makes everything done so far durable, on every
// mount that the transaction has to do with.
func (w *work) durable() error {
	if err := w.record(); err != nil {
		return err
	}
	if !w.sync {
		return nil
	}
	if fsyncEach {
		if err := w.disk.fsync(int(w.log.file.Fd()), journalName); err != nil {
			return fmt.Errorf("sync %s: %w", w.path(journalName), err)
		}
	}
	return w.syncSlots(0, 1)
}

// record writes out the records that wait for it, once all that they tell of is
// durable on other file systems than the store's: those know nothing of an order
// between them.
func (w *work) record() error {
	if len(w.log.buf) == 0 {
		return nil
	}
	if err := w.syncOthers(); err != nil {
		return err
	}
	return w.log.flush()
}

func (w *work) syncOthers() error { return w.syncSlots(1, len(w.slots)) }

// syncSlots makes the file systems of slot directories durable.
func (w *work) syncSlots(from, to int) error {
	if !w.sync {
		return nil
	}
	for _, sd := range w.slots[min(from, to):to] {
		if sd.fd < 0 {
			continue
		}
		if err := w.disk.sync(sd.fd, sd.path); err != nil {
			return fmt.Errorf("sync %s: %w", sd.path, err)
		}
	}
	return nil
}

// begin closes the segment whose operations were just added: it makes them
// durable as an intent and then marks, with a file, that they may be carried
// out from now on.
func (w *work) begin(kind segmentKind, ops []op) error {
	if err := w.log.add(func(e enc) enc { return append(e, recBegin, byte(kind)) }); err != nil {
		return err
	}
	if err := w.record(); err != nil {
		return err
	}
	// The journal may tell of it from here on, so whatever ends the transaction has to
	// reckon with it.
	seg := segment{kind: kind, ops: ops}
	if kind == captured {
		seg.ran = len(ops)
	}
	w.takeHeirs()
	w.segments = append(w.segments, seg)
	w.snapshot = nil
	if err := w.durable(); err != nil {
		return err
	}
	return w.markBegun(len(w.segments))
}

// markBegun leaves the file that says that segment n may be carried out.
func (w *work) markBegun(n int) error {
	name := begunPrefix + strconv.Itoa(n)
	fd, err := w.disk.create(w.dir, name, 0o600)
	if err != nil && err != unix.EEXIST {
		return fmt.Errorf("write %s: %w", w.path(name), err)
	}
	if err == nil {
		unix.Close(fd)
	}
	if !w.sync || len(w.slots) == 1 {
		return nil
	}
	// On the store's own file system the mark precedes the first rename in the
	// log of the file system. Others know nothing of that.
	if err := w.disk.fsync(w.dir, name); err != nil {
		return fmt.Errorf("write %s: %w", w.path(name), err)
	}
	return nil
}
