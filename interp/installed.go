package interp

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"steps.example/interp/changeset"
	"steps.example/interp/commit"
	"steps.example/steps"
)

// Installation is a version of a package that is installed: the receipts that
// made it what it is, oldest first. It begins with the first apply and ends with an
// uninstall; an upgrade hands it on to the next version.
type Installation struct {
	Package  commit.Package
	Layout   string
	Receipts []*commit.Receipt
}

// Installed finds what is installed, by the receipts of a store, oldest first.
func Installed(receipts []*commit.Receipt) []*Installation {
	return installationsOf(commit.Installations(receipts))
}

// installedAs finds the installed versions of a package.
func installedAs(store *commit.Store, name string) ([]*Installation, error) {
	groups, err := store.Installed(name)
	return installationsOf(groups), err
}

func installationsOf(groups [][]*commit.Receipt) []*Installation {
	var out []*Installation
	for _, list := range groups {
		last := list[len(list)-1]
		out = append(out, &Installation{Package: last.Package, Layout: last.Layout, Receipts: list})
	}
	return out
}

// net is what all its receipts together changed.
func (i *Installation) net() *changeset.Changeset {
	list := make([]*changeset.Changeset, 0, len(i.Receipts))
	for _, r := range i.Receipts {
		list = append(list, r.Changeset)
	}
	return commit.Net(list)
}

// leaves is what all its receipts together say of paths, see [commit.Receipt.Leaves].
func (i *Installation) leaves() *changeset.Changeset {
	list := make([]*changeset.Changeset, 0, len(i.Receipts))
	for _, r := range i.Receipts {
		list = append(list, r.Leaves())
	}
	return commit.Net(list)
}

// roots are the directories that its receipts speak of.
func (i *Installation) roots() []string {
	var out []string
	for _, r := range i.Receipts {
		out = append(out, r.Roots...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// yoursOf is what is the user's of each package. Its versions share their paths.
func yoursOf(installed []*Installation) map[commit.Identity]commit.Yours {
	receipts := map[commit.Identity][]*commit.Receipt{}
	for _, i := range installed {
		for _, r := range i.Receipts {
			receipts[r.Identity()] = append(receipts[r.Identity()], r)
		}
	}
	out := map[commit.Identity]commit.Yours{}
	for id, list := range receipts {
		slices.SortFunc(list, func(a, b *commit.Receipt) int { return strings.Compare(a.ID, b.ID) })
		out[id] = commit.YoursIn(list)
	}
	return out
}

// stored is the newest receipt that has its document.
func (i *Installation) stored() *commit.Receipt {
	for _, r := range slices.Backward(i.Receipts) {
		if r.Stored != "" {
			return r
		}
	}
	return nil
}

// ErrNotStored says that a package was installed without its document being kept,
// so that the phases of its removal are not known.
var ErrNotStored = errors.New("the document that it was installed with was not stored, so the steps of its removal are not known")

// job is the stored document as it was interpreted, to be removed or installed
// once more.
func (i *Installation) job(store *commit.Store, now Target, removal bool) (Job, error) {
	r := i.stored()
	if r == nil {
		return Job{}, fmt.Errorf("%s %s: %w", i.Package.Name, i.Package.Version, ErrNotStored)
	}
	data, err := store.Document(r)
	if err != nil {
		return Job{}, err
	}
	doc, err := steps.Decode(data, steps.Limits{})
	if err != nil {
		return Job{}, fmt.Errorf("receipt %s: the stored document: %w", r.ID, err)
	}
	target, err := targetOf(r, now)
	if err != nil {
		return Job{}, err
	}
	return Job{Document: doc, Phases: PhasesOf(doc, removal), Removal: removal, Target: target, stored: removal}, nil
}

// links are the links that it made and left, by path.
func (i *Installation) links() map[string]string {
	out := map[string]string{}
	for _, c := range i.net().Changes {
		if c.After != nil && c.After.Kind == changeset.Symlink && c.From == "" {
			out[c.Path] = c.After.Target
		}
	}
	return out
}

// storedTarget is what a receipt keeps of a [Target]: what is the same whoever
// acts later.
type storedTarget struct {
	OS             string            `json:"os"`
	Dirs           map[string]string `json:"dirs"`
	Approved       []string          `json:"approved,omitempty"`
	ProtectedNames []string          `json:"protected_names,omitempty"`
	Placeholders   bool              `json:"placeholders,omitempty"`
}

func encodeTarget(t Target) ([]byte, error) {
	return json.Marshal(storedTarget{t.OS, t.Dirs, t.Approved, t.ProtectedNames, t.Placeholders})
}

// targetOf is the target of a receipt, for whoever acts now: now has User,
// SearchPath, Umask and Protected, and further approvals.
func targetOf(r *commit.Receipt, now Target) (Target, error) {
	var kept storedTarget
	if err := json.Unmarshal(r.Target, &kept); err != nil {
		return Target{}, fmt.Errorf("receipt %s: its target: %w", r.ID, err)
	}
	now.Layout, now.Name, now.Version = r.Layout, r.Package.Name, r.Package.Version
	now.OS, now.Dirs, now.Placeholders = kept.OS, maps.Clone(kept.Dirs), kept.Placeholders
	now.Approved = slices.Concat(kept.Approved, now.Approved)
	now.ProtectedNames = slices.Concat(kept.ProtectedNames, now.ProtectedNames)
	return now, nil
}

// The phases of an installation and of a removal, in their order. A removal
// begins each half with the links that the installation's half made.
var (
	installPhases = []steps.Phase{steps.PhasePreInstall, steps.PhasePreflight, steps.PhasePostInstall, steps.PhasePostflight}
	removalPhases = []steps.Phase{
		steps.PhasePreInstall, steps.PhasePreflight, steps.PhasePreRemove, steps.PhaseUninstallPreflight,
		steps.PhasePostInstall, steps.PhasePostflight, steps.PhasePostRemove, steps.PhaseUninstallPostflight,
	}
)

// PhasesOf lists the document's phases of an installation, or of a removal, in
// their order.
func PhasesOf(doc *steps.Document, removal bool) []steps.Phase {
	candidates := installPhases
	if removal {
		candidates = removalPhases
	}
	return slices.DeleteFunc(slices.Clone(candidates), func(p steps.Phase) bool {
		return !slices.ContainsFunc(doc.Blocks, func(b steps.Block) bool { return b.Phase == p })
	})
}

// NotInstalledError says that a package is not installed, or which versions are.
type NotInstalledError struct {
	Name string
	// Versions are those that are installed, where one must be chosen.
	Versions []string
}

func (e *NotInstalledError) Error() string {
	if len(e.Versions) > 0 {
		return fmt.Sprintf("%s is installed in several versions, %s: say which", e.Name, strings.Join(e.Versions, ", "))
	}
	return e.Name + " is not installed with this prefix and state"
}

// Find finds an installed package by name and version; "" stands for the only one.
func Find(store *commit.Store, name, version string) (*Installation, error) {
	found, err := installedAs(store, name)
	if err != nil {
		return nil, err
	}
	found = slices.DeleteFunc(found, func(i *Installation) bool { return version != "" && i.Package.Version != version })
	if len(found) == 1 {
		return found[0], nil
	}
	e := &NotInstalledError{Name: name}
	for _, i := range found {
		e.Versions = append(e.Versions, i.Package.Version)
	}
	if version != "" && len(found) == 0 {
		e.Name += " " + version
	}
	return nil, e
}

// still makes sure that the installation is what it was when it was looked up.
func (i *Installation) still(store *commit.Store) func() error {
	return func() error {
		list, err := installedAs(store, i.Package.Name)
		if err != nil {
			return err
		}
		for _, now := range list {
			if now.Layout == i.Layout && now.Package == i.Package && slices.EqualFunc(i.Receipts, now.Receipts, func(a, b *commit.Receipt) bool { return a.ID == b.ID }) {
				return nil
			}
		}
		return fmt.Errorf("another process has changed %s meanwhile: %w; nothing was changed, try again", i.Package.Name, commit.ErrMoved)
	}
}
