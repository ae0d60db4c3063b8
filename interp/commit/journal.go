package commit

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
)

// A journal is a file of records: length and check sum (4 bytes each, little
// endian), then the payload, whose first byte is the type. The sum (CRC-32C) is
// seeded with that of the record before, so records cannot be dropped, doubled
// or brought in from another journal without notice.
//
// Where the first bad record is, the journal ends: it is the tail that a crash
// tore. That this is not damage in the middle is cross-checked with the
// begun-files, see [Tx.begin].
const (
	journalName = "journal"
	maxRecord   = 1 << 16 // a path of PATH_MAX bytes, and some
	maxJournal  = 1 << 31
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// journalWriter appends records to an open journal, in large writes.
type journalWriter struct {
	disk *disk
	file *os.File
	buf  []byte
	sum  uint32
	// size and goodSum are of what is in the file.
	size    int64
	goodSum uint32
}

// add appends a record to the buffer. The buffer reaches the file on flush, or, all
// but the last record, when it is large.
func (j *journalWriter) add(rec func(enc) enc) error {
	if len(j.buf) >= 1<<18 {
		if err := j.flush(); err != nil {
			return err
		}
	}
	at := len(j.buf)
	j.buf = append(j.buf, 0, 0, 0, 0, 0, 0, 0, 0)
	j.buf = rec(enc(j.buf))
	payload := j.buf[at+8:]
	if len(payload) > maxRecord {
		return fmt.Errorf("journal record of %d bytes: at most %d", len(payload), maxRecord)
	}
	j.sum = crc32.Update(j.sum, castagnoli, payload)
	binary.LittleEndian.PutUint32(j.buf[at:], uint32(len(payload)))
	binary.LittleEndian.PutUint32(j.buf[at+4:], j.sum)
	return nil
}

func (j *journalWriter) flush() error {
	if len(j.buf) == 0 {
		return nil
	}
	fd := int(j.file.Fd())
	err := j.disk.write(fd, journalName, j.buf)
	if err == nil {
		j.size, j.goodSum, j.buf = j.size+int64(len(j.buf)), j.sum, j.buf[:0]
		return nil
	}
	// Half a record would hide the ones that say how this ended.
	j.sum, j.buf = j.goodSum, j.buf[:0]
	if cut := j.disk.truncate(fd, journalName, j.size); !errors.Is(err, cut) {
		err = errors.Join(err, cut)
	}
	if _, seek := j.file.Seek(j.size, io.SeekStart); seek != nil {
		err = errors.Join(err, seek)
	}
	return fmt.Errorf("write %s: %w", j.file.Name(), err)
}

// readJournal reads records up to the first bad one. It returns what they say,
// the length of the good part and the check sum there. An error means that the
// file cannot be read, or that good records do not make sense.
func readJournal(r io.Reader, size int64) (*logical, int64, uint32, error) {
	if size > maxJournal {
		return nil, 0, 0, fmt.Errorf("journal of %d bytes: at most %d: %w", size, int64(maxJournal), ErrDamaged)
	}
	l := &logical{copies: map[string]saved{}}
	data, err := io.ReadAll(io.LimitReader(r, size))
	if err != nil {
		return nil, 0, 0, fmt.Errorf("read journal: %w", err)
	}
	var good int64
	var sum uint32
	for rest := data; len(rest) >= 8; {
		n := binary.LittleEndian.Uint32(rest)
		if n == 0 || n > maxRecord || int(n) > len(rest)-8 {
			break
		}
		payload := rest[8 : 8+n]
		next := crc32.Update(sum, castagnoli, payload)
		if next != binary.LittleEndian.Uint32(rest[4:]) {
			break
		}
		if err := l.record(payload); err != nil {
			return nil, 0, 0, fmt.Errorf("journal record at byte %d: %w", good, errors.Join(ErrDamaged, err))
		}
		sum, good, rest = next, good+8+int64(n), rest[8+n:]
	}
	return l, good, sum, nil
}
