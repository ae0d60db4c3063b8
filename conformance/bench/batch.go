//go:build linux

package main

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"steps.example/signer"
	"steps.example/signer/batch"
	"steps.example/signer/registry/store"
)

// publicKey reads what [signer.Key.PublicPEM] wrote.
func publicKey(text []byte) (*ecdsa.PublicKey, error) {
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, errors.New("no PEM")
	}
	key, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		return nil, err
	}
	return key.(*ecdsa.PublicKey), nil
}

// submissions writes a list of n, each of 12 steps and for a package of its own.
func (b *suite) submissions(n int) (string, error) {
	path := b.at(fmt.Sprintf("submissions%d", n))
	file, err := os.Create(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	out := bufio.NewWriter(file)
	sum, text := sha256.Sum256([]byte(signArtifact)), strings.ReplaceAll(string(document(12)), "\n", "")
	for i := range n {
		name := fmt.Sprintf(`"name": "bench%07d"`, i)
		fmt.Fprintf(out, "{\"purl\":\"pkg:generic/acme/bench%07d@1.0\",\"artifact_sha256\":\"%x\",\"document\":%s}\n",
			i, sum, strings.Replace(text, `"name": "bench"`, name, 1))
	}
	return path, out.Flush()
}

// batchSize is long enough that the start and the end of a batch do not count.
const batchSize = 2000

// batch compares documents signed with as many bare signatures, on all processors. What
// is signed is verified before it is handed out, so the second comparison is with both:
// it says how far the first one could go.
func (b *suite) batch() error {
	list, err := b.submissions(batchSize)
	if err != nil {
		return err
	}
	key, err := signer.ParsePrivateKey(b.read("key"))
	if err != nil {
		return err
	}
	s, err := signer.NewSigner(key, signer.Evidence{})
	if err != nil {
		return err
	}
	bare, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	digest := sha256.Sum256([]byte(signArtifact))
	sign := func() ([]byte, error) { return ecdsa.SignASN1(rand.Reader, bare, digest[:]) }
	signs := func() (sample, error) {
		return onAllProcessors(batchSize, func() error { _, err := sign(); return err })
	}
	verifies := func() (sample, error) {
		return onAllProcessors(batchSize, func() error {
			sig, err := sign()
			if err == nil && !ecdsa.VerifyASN1(&bare.PublicKey, digest[:], sig) {
				err = errBadSignature
			}
			return err
		})
	}
	toFile := func() (sample, error) { return b.signToFile(list, s) }
	toStore := func() (sample, error) { return b.signToStore(list, s) }
	for _, c := range []struct {
		what        string
		this, other func() (sample, error)
		goal        string
	}{
		{"batch into one file, documents/s, against bare ECDSA signing", toFile, signs, "≥ 0.7"},
		{"batch into one file, against bare ECDSA signing and verifying", toFile, verifies, ""},
		{"bare ECDSA signing and verifying, against bare signing: the most there can be", verifies, signs, ""},
		{"batch into a store (three files each), against bare ECDSA signing and verifying", toStore, verifies, ""},
	} {
		x, y, ratio, err := b.pairs(c.this, c.other)
		if err != nil {
			return err
		}
		perSecond := func(s sample) string { return fmt.Sprintf("%.0f/s", batchSize/s.wall.Seconds()) }
		row(c.what, perSecond(x), perSecond(y), 1/ratio, c.goal)
	}
	return nil
}

func check(_ string, document []byte) (*signer.CheckedDocument, error) {
	return signer.CheckDocument(document)
}

func (b *suite) signToFile(list string, s *signer.Signer) (sample, error) {
	in, err := os.Open(list)
	if err != nil {
		return sample{}, err
	}
	defer in.Close()
	out, err := os.Create(b.at("bundles"))
	if err != nil {
		return sample{}, err
	}
	defer out.Close()
	return timedBatch(func(stats *batch.Stats) error {
		return batch.RunFile(context.Background(), batch.Lines(in, list), out, batch.FileOptions{
			Registry: signRegistry, By: "bench", Signer: s, Check: check, Stats: stats,
		})
	})
}

func (b *suite) signToStore(list string, s *signer.Signer) (sample, error) {
	in, err := os.Open(list)
	if err != nil {
		return sample{}, err
	}
	defer in.Close()
	dir, err := os.MkdirTemp(b.dir, "store")
	if err != nil {
		return sample{}, err
	}
	defer os.RemoveAll(dir)
	st, err := store.Open(context.Background(), "file://"+filepath.ToSlash(dir), signRegistry)
	if err != nil {
		return sample{}, err
	}
	defer st.Close()
	return timedBatch(func(stats *batch.Stats) error {
		return batch.Run(context.Background(), batch.Lines(in, list), batch.Options{Store: st, Signer: s, Check: check, Stats: stats})
	})
}

func timedBatch(run func(*batch.Stats) error) (sample, error) {
	stats := new(batch.Stats)
	start := time.Now()
	err := run(stats)
	s := sample{wall: time.Since(start)}
	if signed, read := stats.Signed.Load(), stats.Read.Load(); err == nil && signed != read {
		err = fmt.Errorf("signed %d of %d", signed, read)
	}
	return s, err
}

// onAllProcessors runs f n times.
func onAllProcessors(n int, f func() error) (sample, error) {
	workers := runtime.GOMAXPROCS(0)
	errs := make([]error, workers)
	start := time.Now()
	var group sync.WaitGroup
	for i := range workers {
		group.Go(func() {
			for range (n + workers - 1 - i) / workers {
				if err := f(); err != nil {
					errs[i] = err
				}
			}
		})
	}
	group.Wait()
	return sample{wall: time.Since(start)}, errors.Join(errs...)
}

// batchMemory runs the command itself, for what it takes at most.
func (b *suite) batchMemory() error {
	var peak [2]int64
	for i, n := range []int{1_000, 100_000} {
		list, err := b.submissions(n)
		if err != nil {
			return err
		}
		out := b.at(fmt.Sprintf("bundles%d", n))
		s, err := b.process(nil, filepath.Join(b.bin, "steps"), "sign", "--batch", list, "--fast", "--key", b.at("key"), "--registry", signRegistry, "-o", out)
		if err := errors.Join(err, os.Remove(list), os.Remove(out)); err != nil {
			return err
		}
		peak[i] = s.rss
	}
	row("memory of a batch of 100,000 documents, against 1,000", mib(peak[1]), mib(peak[0]), float64(peak[1])/float64(peak[0]), "flat")
	return nil
}
