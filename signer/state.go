package signer

// Mark is one statement about a package: its revision and the digest of its payload.
type Mark struct {
	Revision      int
	PayloadSHA256 [32]byte
}

// State remembers the newest statement seen of each package. [Verify] asks it for the
// floor below which a bundle is a replay; recording [Verified.Mark] after the steps
// were accepted is for the caller, who also makes it last.
type State interface {
	// Seen returns what was recorded last for a package of a registry, or the zero
	// Mark. An error refuses the bundle and is returned as it is.
	Seen(registry, purl string) (Mark, error)
}

// checkState compares an authentic statement with what was seen before and with what
// the index lists.
func checkState(v *Verified, previous [32]byte, want *Expectation) error {
	mark := v.Mark()
	if want.Listed != (Mark{}) && mark != want.Listed {
		if mark.Revision < want.Listed.Revision {
			return stale(v, want.Listed.Revision, "listed by the index")
		}
		return fail(KindEquivocation, "fetch index and bundle again; if it stays so, tell the registry",
			"bundle: the index lists revision %d with payload sha256 %x, but this is revision %d with %x",
			want.Listed.Revision, want.Listed.PayloadSHA256, mark.Revision, mark.PayloadSHA256)
	}
	if mark.Revision < want.MinRevision {
		return stale(v, want.MinRevision, "seen before")
	}
	if want.State == nil {
		return nil
	}
	seen, err := want.State.Seen(v.Registry, v.PURL)
	if err != nil {
		return err
	}
	const hint = "do not install, and tell the registry: it, or someone with its key, says different things to different people"
	switch {
	case mark.Revision < seen.Revision:
		return stale(v, seen.Revision, "seen before")
	case mark.Revision == seen.Revision && mark.PayloadSHA256 != seen.PayloadSHA256:
		return fail(KindEquivocation, hint, "bundle: revision %d of %s had payload sha256 %x before, and has %x now",
			mark.Revision, v.PURL, seen.PayloadSHA256, mark.PayloadSHA256)
	case mark.Revision == seen.Revision+1 && previous != [32]byte{} && seen.Revision > 0 && previous != seen.PayloadSHA256:
		return fail(KindEquivocation, hint, "bundle: revision %d of %s follows payload sha256 %x, but %x was seen",
			mark.Revision, v.PURL, previous, seen.PayloadSHA256)
	}
	return nil
}

func stale(v *Verified, floor int, why string) error {
	return fail(KindStale, "fetch the current bundle; an older one may be a replay",
		"bundle: revision %d is older than %d, %s", v.Revision, floor, why)
}
