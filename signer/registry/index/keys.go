package index

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/sigstore/sigstore/pkg/signature"
)

// Keys sign the index. Any signer of a P-256 key will do, one in a KMS as well.
type Keys struct {
	// Root makes the index and replaces keys; nil where it is kept elsewhere.
	Root                         signature.Signer
	Targets, Snapshot, Timestamp signature.Signer
	// Pinned is the root metadata that everything else is checked against, or nil if
	// the index does not exist yet.
	Pinned []byte
}

const rootFile = "root.json"

var keyNames = []string{"root", "targets", "snapshot", "timestamp"}

// GenerateKeys makes the four keys as PEM files in a new directory that its owner alone
// can read.
func GenerateKeys(dir string) error { return generateKeys(dir, keyNames) }

// GenerateOnlineKeys makes all but the root's.
func GenerateOnlineKeys(dir string) error { return generateKeys(dir, keyNames[1:]) }

func generateKeys(dir string, names []string) error {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	for _, name := range names {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			return err
		}
		der, err := x509.MarshalPKCS8PrivateKey(key)
		if err != nil {
			return err
		}
		text := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
		if err := writeNew(keyFile(dir, name), text, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// LoadKeys reads a directory that [GenerateKeys] made. The root's private key may be
// absent.
func LoadKeys(dir string) (*Keys, error) {
	k := new(Keys)
	for i, to := range []*signature.Signer{&k.Root, &k.Targets, &k.Snapshot, &k.Timestamp} {
		signer, err := loadKey(keyFile(dir, keyNames[i]))
		if errors.Is(err, fs.ErrNotExist) && keyNames[i] == "root" {
			continue
		}
		if err != nil {
			return nil, err
		}
		*to = signer
	}
	pinned, err := readSmall(filepath.Join(dir, rootFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	k.Pinned = pinned
	return k, nil
}

// LoadRootKey reads of such a directory what replacing its keys needs: the root's private
// key and the root metadata. The other keys may be lost.
func LoadRootKey(dir string) (*Keys, error) {
	root, err := loadKey(keyFile(dir, keyNames[0]))
	if err != nil {
		return nil, err
	}
	pinned, err := readSmall(filepath.Join(dir, rootFile))
	return &Keys{Root: root, Pinned: pinned}, err
}

// Pin writes the root metadata into the key directory. Clients get the same file.
func (k *Keys) Pin(dir string) error {
	return writeNew(filepath.Join(dir, rootFile), k.Pinned, 0o644)
}

func keyFile(dir, name string) string { return filepath.Join(dir, name+".key") }

func loadKey(path string) (signature.Signer, error) {
	text, err := readSmall(path)
	if err != nil {
		return nil, err
	}
	fault := func(why string) error {
		return fmt.Errorf("index key %s: %s; make the keys with steps registry init", path, why)
	}
	block, _ := pem.Decode(text)
	if block == nil || block.Type != "PRIVATE KEY" {
		return nil, fault("no PKCS#8 PEM block")
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, fault(err.Error())
	}
	key, ok := parsed.(*ecdsa.PrivateKey)
	if !ok || key.Curve != elliptic.P256() {
		return nil, fault("is no P-256 key")
	}
	return signature.LoadECDSASigner(key, crypto.SHA256)
}

func readSmall(path string) ([]byte, error) {
	const limit = 1 << 20
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && len(data) > limit {
		err = fmt.Errorf("%s: more than %d bytes", path, limit)
	}
	return data, err
}

func writeNew(path string, data []byte, perm os.FileMode) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Sync(), f.Close())
}
