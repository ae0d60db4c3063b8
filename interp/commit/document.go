package commit

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

const (
	documentName = "document.json"
	// MaxDocument bounds, in bytes, a document that is kept beside a receipt.
	MaxDocument = 32 << 20
)

// ErrNoDocument says that no document is kept beside a receipt.
var ErrNoDocument = errors.New("no document was stored with the receipt")

// writeDocument puts a document beside the receipt to be, and gives its hash.
func (w *work) writeDocument(data []byte) (string, error) {
	if len(data) > MaxDocument {
		return "", fmt.Errorf("store document: %d bytes: at most %d", len(data), MaxDocument)
	}
	if err := w.writePrivate(documentName, data); err != nil {
		return "", fmt.Errorf("write %s: %w", w.path(documentName), err)
	}
	return hashHex(data), nil
}

// writePrivate makes a file in the transaction's directory.
func (w *work) writePrivate(name string, data []byte) error {
	fd, err := w.disk.create(w.dir, name, 0o600)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	err = w.disk.write(fd, name, data)
	if err == nil && fsyncEach && w.sync {
		err = w.disk.fsync(fd, name)
	}
	return err
}

// Document is the document that was stored with a receipt, byte for byte. An
// error matches [ErrNoDocument] where there is none, and [ErrDamaged] where it is
// not the one that the receipt names.
func (s *Store) Document(r *Receipt) ([]byte, error) {
	if r.Stored == "" {
		return nil, fmt.Errorf("receipt %s: %w", r.ID, ErrNoDocument)
	}
	if !validID(r.ID) {
		return nil, fmt.Errorf("receipt %q: %w", r.ID, ErrNoReceipt)
	}
	dir, err := openPrivate(int(s.dir.Fd()), receiptsDir+"/"+r.ID)
	if err != nil {
		return nil, fmt.Errorf("receipt %s: %w", r.ID, err)
	}
	defer unix.Close(dir)
	data, err := readPrivate(dir, documentName, MaxDocument)
	if err == nil && hashHex(data) != r.Stored {
		err = errors.New("is not the document that was stored")
	}
	if err != nil {
		return nil, fmt.Errorf("receipt %s: %s: %w", r.ID, documentName, errors.Join(ErrDamaged, err))
	}
	return data, nil
}
