package e2e

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"testing"
)

// program is a command that is built from the Go module proxy.
type program struct{ name, pkg, version string }

var (
	fulcio      = program{"fulcio", "github.com/sigstore/fulcio", "v1.8.8"}
	tesseract   = program{"tesseract", "github.com/transparency-dev/tesseract/cmd/tesseract/posix", "v0.1.1"}
	rekor       = program{"rekor-server", "github.com/sigstore/rekor-tiles/v2/cmd/rekor-server/posix", "v2.3.0"}
	timestamper = program{"timestamp-server", "github.com/sigstore/timestamp-authority/v2/cmd/timestamp-server", "v2.1.3"}
	cosign      = program{"cosign", "github.com/sigstore/cosign/v3/cmd/cosign", "v3.1.3"}

	// fakeS3 is a bucket by the protocol of Amazon's S3, with conditional writes.
	fakeS3 = program{"gofakes3", "github.com/johannesboyne/gofakes3/cmd/gofakes3", "v1.2.0"}

	servers = []program{fulcio, tesseract, rekor, timestamper}
)

var (
	build   = flag.String("build", "", "build what is missing first: `servers`, or all to have cosign as well")
	command = flag.String("steps", "", "the steps command to test with, an absolute path of a `FILE`")
)

func TestMain(m *testing.M) {
	flag.Parse()
	if err := buildMissing(*build); err != nil {
		fmt.Fprintln(os.Stderr, "build:", err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func buildMissing(what string) error {
	wanted := append(slices.Clone(servers), fakeS3)
	switch what {
	case "":
		return nil
	case "all":
		wanted = append(wanted, cosign)
	case "servers":
	default:
		return fmt.Errorf("-build=%s: write servers or all", what)
	}
	for _, p := range wanted {
		if err := p.build(); err != nil {
			return fmt.Errorf("%s: %w", p, err)
		}
	}
	return nil
}

func (p program) String() string { return p.name + " " + p.version }

func cache() (string, error) {
	if dir := os.Getenv("STEPS_E2E_CACHE"); dir != "" {
		return filepath.Abs(dir)
	}
	dir, err := os.UserCacheDir()
	return filepath.Join(dir, "steps-e2e"), err
}

// file is where the program is, or will be.
func (p program) file() (string, error) {
	dir, err := cache()
	return filepath.Join(dir, p.name+"-"+p.version), err
}

// installed is the program's file, or an error that says what to do.
func (p program) installed() (string, error) {
	file, err := p.file()
	if err == nil {
		_, err = os.Stat(file)
	}
	if err != nil {
		return "", fmt.Errorf("no %s (%w); `make e2e` builds the servers from the Go module proxy", p, err)
	}
	return file, nil
}

// build installs the program unless it is there. It gets its name at the end, so that
// an interrupted build leaves none.
func (p program) build() error {
	file, err := p.file()
	if err != nil {
		return err
	}
	if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	dir, err := os.MkdirTemp(filepath.Dir(file), "build-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	fmt.Printf("building %s, which takes minutes\n", p)
	cmd := exec.Command("go", "install", "-trimpath", "-ldflags=-s", p.pkg+"@"+p.version)
	cmd.Env = append(os.Environ(), "GOBIN="+dir, "CGO_ENABLED=0")
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	withParent(cmd)
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("go install: %w", err)
	}
	return os.Rename(filepath.Join(dir, path.Base(p.pkg)), file)
}
