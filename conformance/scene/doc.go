// Package scene has small worlds with something to do in each: a tree, a store
// and an operation on them, for every step type that touches a path, for what may
// stand where a step works, and for the whole life of a package. It is for suites
// that disturb the operation in some way and look at what becomes of the tree.
//
//	for _, s := range scene.All() {
//		w, err := s.Make(dir)
//		…
//		store, err := commit.OpenStore(w.State)
//		store.Intercept(disturb)
//		err = w.Act(ctx, store)
//		now, err := w.Take()
//		fmt.Println(now.Diff(w.Before))
//	}
//
// A [Snapshot] tells everything of a tree that is promised to come back: content,
// mode, owner, times of files, links, hard links, extended attributes, and which
// object it is. Times of directories are not promised and not told.
//
// The commands of most scenes are scripted: they do what a program would, in the
// process of the suite and without a jail, so that a suite can stop them, too. What
// the scenes do not have is a large tree, a second user, or a system other than the
// one that they are made on.
package scene
