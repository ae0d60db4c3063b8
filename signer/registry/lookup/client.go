package lookup

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/theupdateframework/go-tuf/v2/metadata"
	"github.com/theupdateframework/go-tuf/v2/metadata/config"
	"github.com/theupdateframework/go-tuf/v2/metadata/trustedmetadata"
	"github.com/theupdateframework/go-tuf/v2/metadata/updater"

	"steps.example/signer"
)

// Config says which index to trust. Root, BaseURL and Dir are needed.
type Config struct {
	// Root is the pinned root metadata, from the trust policy.
	Root []byte
	// BaseURL is where tuf/ and bundles/ lie.
	BaseURL string
	// Dir keeps what this machine has seen; it is made with mode 0700, and refused if
	// others may read or write it.
	Dir string
	// Offline: use what Dir holds and ask nobody.
	Offline bool
	// MaxAge is how long ago the index may have been fetched, when offline; 0 is no
	// bound but that of the index.
	MaxAge time.Duration
	// AllowStale accepts an index that has expired or is older than MaxAge. What was
	// accepted is told in [Entry].Stale; put it into the receipt.
	AllowStale bool
	// Client is for http; nil is one with a time limit.
	Client *http.Client
	// Now is the clock; nil is the machine's.
	Now func() time.Time
}

// Entry is what the index says of one package.
type Entry struct {
	PURL     string
	Revision int
	// StepsRequired: the package has steps. If it is false, its bundle says that it
	// has none.
	StepsRequired  bool
	ArtifactSHA256 [32]byte
	PayloadSHA256  [32]byte // of the statement in the bundle
	BundleSHA256   [32]byte
	BundleBytes    int64
	IndexVersion   int64
	// Stale says why the index would have been refused without AllowStale, or "".
	Stale string
}

// Client reads one index. Its methods must not be called at the same time; several
// clients of one directory may be.
type Client struct {
	c      Config
	state  *state
	source *source
	up     *updater.Updater // set once it is refreshed
	stale  string
}

const (
	// maxVersion ends a fast forward: at a commit a second it lasts 68 years.
	maxVersion     = 1<<31 - 1
	maxBundleBytes = 16 << 20
	// maxSnapshot is for 2^14 bins with room to spare.
	maxSnapshot, maxTargets = 2_000_000, 5_000_000
)

// Open checks the configuration and the directory. It does not fetch anything.
func Open(c Config) (*Client, error) {
	if c.Now == nil {
		c.Now = time.Now
	}
	c.BaseURL = strings.TrimSuffix(c.BaseURL, "/")
	src, err := newSource(c.BaseURL, c.Client)
	if err != nil {
		return nil, err
	}
	src.offline = c.Offline
	if _, err := trustedmetadata.New(c.Root); err != nil {
		return nil, fail(signer.KindPolicy, "pin the root.json that the registry publishes", "the pinned root is not root metadata: %s", printable(err))
	}
	st, err := openState(c.Dir)
	if err != nil {
		return nil, err
	}
	return &Client{c: c, state: st, source: src}, nil
}

// Lookup tells what the index says of a package version. The first call of a client
// fetches the current index. An error of [KindAbsent] is the index's own word that it
// has nothing on the package; all other errors mean that nothing is known.
func (c *Client) Lookup(ctx context.Context, purl string) (entry *Entry, err error) {
	// What is no name would be told to be absent.
	if err := signer.CheckPURL(purl); err != nil {
		return nil, err
	}
	unlock, err := c.state.lock()
	if err != nil {
		return nil, err
	}
	defer unlock()
	c.source.ctx = ctx
	// go-tuf trusts what is signed to be complete; a signed oddity must not end the
	// program.
	defer func() {
		if r := recover(); r != nil {
			entry, err = nil, fail(signer.KindMalformed, hintFetch, "signed metadata that makes no sense (%v)", r)
		}
	}()
	if c.up == nil {
		if err := c.refresh(); err != nil {
			return nil, err
		}
	}
	target, err := c.target(purl)
	if err != nil {
		return nil, err
	}
	entry, err = c.entry(purl, target)
	if err != nil {
		return nil, err
	}
	return entry, c.notBefore(entry)
}

// target finds a package's target in its bin.
func (c *Client) target(purl string) (*metadata.TargetFiles, error) {
	target, err := c.up.GetTargetInfo(purl)
	if err == nil {
		return target, nil
	}
	// go-tuf has no type for "not found", so look at what it has verified.
	trusted := c.up.GetTrustedMetadataSet()
	if d := trusted.Targets[metadata.TARGETS].Signed.Delegations; d != nil && d.SuccinctRoles != nil {
		bin := trusted.Targets[d.SuccinctRoles.GetRolesForTarget(purl)[0].Name]
		if bin != nil && bin.Signed.Targets[purl] == nil {
			return nil, fail(KindAbsent, "check the package URL; if it is right, the registry has signed nothing for it",
				"version %d has no entry for %s", trusted.Timestamp.Signed.Version, clipped(purl))
		}
	}
	return nil, classify(err, c.source.last)
}

func (c *Client) entry(purl string, target *metadata.TargetFiles) (*Entry, error) {
	malformed := func(why string) error {
		return fail(signer.KindMalformed, "update steps; if it is new, tell the registry", "entry of %s %s", clipped(purl), why)
	}
	if target.Custom == nil {
		return nil, malformed("does not say what the package needs")
	}
	custom, err := ParseCustom(*target.Custom)
	if err != nil {
		return nil, malformed(printable(err))
	}
	sum := target.Hashes["sha256"]
	if len(sum) != sha256.Size || target.Length < 1 || target.Length > maxBundleBytes {
		return nil, malformed("has no SHA-256 or no sound length")
	}
	e := &Entry{
		PURL: purl, Revision: custom.Revision, StepsRequired: custom.StepsRequired,
		BundleSHA256: [32]byte(sum), BundleBytes: target.Length, Stale: c.stale,
		IndexVersion: c.up.GetTrustedMetadataSet().Timestamp.Signed.Version,
	}
	hex.Decode(e.ArtifactSHA256[:], []byte(custom.Artifact)) // checked by ParseCustom
	hex.Decode(e.PayloadSHA256[:], []byte(custom.Payload))
	return e, nil
}

// Mark is what the index lists, for [signer.Expectation].
func (e *Entry) Mark() signer.Mark {
	return signer.Mark{Revision: e.Revision, PayloadSHA256: e.PayloadSHA256}
}

// Seen tells what was accepted last on this machine: a client is a [signer.State] of
// its registry.
func (c *Client) Seen(_, purl string) (m signer.Mark, err error) {
	var last seen
	if err := c.state.read(seenName(purl), &last); err != nil {
		return m, err
	}
	m.Revision = last.Revision
	hex.Decode(m.PayloadSHA256[:], []byte(last.Payload)) // zero if nothing was seen
	return m, nil
}

var _ signer.State = (*Client)(nil)

// notBefore compares an entry with what was accepted on this machine.
func (c *Client) notBefore(e *Entry) error {
	var last seen
	if err := c.state.read(seenName(e.PURL), &last); err != nil {
		return err
	}
	switch {
	case e.Revision < last.Revision:
		return fail(KindRollback, hintAttack, "names revision %d of %s, but revision %d was accepted here", e.Revision, e.PURL, last.Revision)
	case e.Revision == last.Revision && hex.EncodeToString(e.PayloadSHA256[:]) != last.Payload:
		return fail(KindEquivocation, "keep both bundles and tell the registry: its keys may be stolen",
			"revision %d of %s is not what was accepted here under that number: payload sha256 %x, before %s", e.Revision, e.PURL, e.PayloadSHA256, last.Payload)
	}
	return nil
}

// Bundle fetches the bundle that an entry names. What comes is that or nothing.
func (c *Client) Bundle(ctx context.Context, e *Entry) ([]byte, error) {
	c.source.ctx = ctx
	if c.source.offline {
		return nil, fail(KindUnreachable, "hand in the bundle that came with the package", "bundles are not stored here, and this is offline")
	}
	data, err := c.source.get(bundleKey(e), e.BundleBytes)
	if err != nil {
		return nil, fail(KindOmitted, hintFetch, "names revision %d of %s, but its bundle is not there: %s", e.Revision, e.PURL, printable(err))
	}
	if sum := sha256.Sum256(data); sum != e.BundleSHA256 {
		return nil, fail(KindMixed, hintAttack, "the bundle of %s has sha256 %x, not the %x that the index names", e.PURL, sum, e.BundleSHA256)
	}
	return data, nil
}

func bundleKey(e *Entry) string {
	sum := sha256.Sum256([]byte(e.PURL))
	name := hex.EncodeToString(sum[:])
	return fmt.Sprintf("bundles/%s/%s.%010d.json", name[:2], name, e.Revision)
}

// Accept checks that a verified bundle, however it came here, is the one that the index
// names, and remembers its revision: no older one is accepted from then on.
func (c *Client) Accept(e *Entry, v *signer.Verified) error {
	switch {
	case v.PURL != e.PURL || v.ArtifactSHA256 != e.ArtifactSHA256:
		return fail(signer.KindWrongPackage, hintAttack, "names another package file: %s, sha256 %x", e.PURL, e.ArtifactSHA256)
	case v.Revision < e.Revision:
		return fail(signer.KindStale, "fetch the current bundle; an older one may be a replay",
			"the bundle is revision %d, but %d is current", v.Revision, e.Revision)
	case v.Revision > e.Revision:
		return fail(KindFastForward, "wait until the index names it; if it does not, tell the registry",
			"the bundle is revision %d, which the index does not know; %d is current", v.Revision, e.Revision)
	case v.PayloadSHA256 != e.PayloadSHA256:
		return fail(KindEquivocation, "keep both bundles and tell the registry: its keys may be stolen",
			"the bundle and the index differ on revision %d of %s: payload sha256 %x and %x", e.Revision, e.PURL, v.PayloadSHA256, e.PayloadSHA256)
	}
	unlock, err := c.state.lock()
	if err != nil {
		return err
	}
	defer unlock()
	if err := c.notBefore(e); err != nil {
		return err
	}
	return c.state.write(seenName(e.PURL), seen{e.PURL, e.Revision, hex.EncodeToString(e.PayloadSHA256[:])})
}

// refresh brings the index up to date, or reads the one in the directory.
func (c *Client) refresh() error {
	var low floor
	if err := c.state.read("floor.json", &low); err != nil {
		return err
	}
	root, err := c.startRoot(low)
	if err != nil {
		return err
	}
	before, _ := os.ReadFile(filepath.Join(c.c.Dir, "tuf", timestampName))
	up, err := c.update(root, c.c.Now())
	c.stale = ""
	if e := classify(err, c.source.last); e != nil {
		if !c.c.AllowStale || e.(*signer.Error).Kind != KindExpired {
			return e
		}
		// Signatures and versions are checked as ever; nothing is too old.
		c.stale = e.(*signer.Error).Msg
		if up, err = c.update(root, time.Unix(0, 0)); err != nil {
			return classify(err, c.source.last)
		}
	}
	trusted := up.GetTrustedMetadataSet()
	version, keys := trusted.Timestamp.Signed.Version, onlineKeys(trusted.Root)
	switch age := c.c.Now().Sub(low.Refreshed); {
	case version > maxVersion:
		return fail(KindFastForward, "tell the registry: its keys may be stolen", "version %d is beyond any honest count", version)
	case keys == low.Keys && version < low.Timestamp:
		return fail(KindRollback, hintAttack, "version %d is older than %d, seen here (rollback)", version, low.Timestamp)
	case !c.c.Offline && keys == low.Keys && contradict(before, c.source.timestamp):
		return fail(KindEquivocation, "keep both files and tell the registry: its keys may be stolen",
			"version %d is signed twice, with different content", version)
	case c.c.Offline && c.c.MaxAge > 0 && age > c.c.MaxAge:
		why := fmt.Sprintf("fetched %s ago, more than %s", age.Round(time.Second), c.c.MaxAge)
		if !c.c.AllowStale {
			return fail(KindExpired, "go online, or accept it with --allow-stale", "%s", why)
		}
		c.stale = strings.TrimPrefix(c.stale+"; index: "+why, "; ")
	}
	if !c.c.Offline {
		if err := syncDir(filepath.Join(c.c.Dir, "tuf")); err != nil {
			return stateError(err)
		}
		sum := sha256.Sum256(c.c.Root)
		if err := c.state.write("floor.json", floor{hex.EncodeToString(sum[:]), keys, version, c.c.Now().UTC()}); err != nil {
			return err
		}
	}
	c.up = up
	return nil
}

// update runs go-tuf's client workflow at the given time.
func (c *Client) update(root []byte, now time.Time) (*updater.Updater, error) {
	up, err := updater.New(&config.UpdaterConfig{
		MaxRootRotations: 256, MaxDelegations: 4,
		RootMaxLength: 512_000, TimestampMaxLength: 16_384, SnapshotMaxLength: maxSnapshot, TargetsMaxLength: maxTargets,
		Fetcher: c.source, LocalTrustedRoot: root,
		LocalMetadataDir: filepath.Join(c.c.Dir, "tuf"), LocalTargetsDir: filepath.Join(c.c.Dir, "tuf"),
		RemoteMetadataURL: c.c.BaseURL + "/tuf", UnsafeLocalMode: c.c.Offline,
	})
	if err != nil {
		return nil, err
	}
	up.UnsafeSetRefTime(now)
	return up, up.Refresh()
}

// startRoot is the newest root that this machine has verified: starting from the pinned
// one again would let an attacker hide that keys were replaced. A new pinned root counts
// from the start.
func (c *Client) startRoot(low floor) ([]byte, error) {
	sum := sha256.Sum256(c.c.Root)
	if low.Pinned == hex.EncodeToString(sum[:]) {
		stored, err := os.ReadFile(filepath.Join(c.c.Dir, "tuf", "root.json"))
		if err != nil {
			return nil, stateError(err)
		}
		return stored, nil
	}
	if low.Pinned != "" {
		if err := c.state.forget(); err != nil {
			return nil, err
		}
	}
	return c.c.Root, nil
}
