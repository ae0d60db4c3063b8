package interp_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"steps.example/interp"
)

// An uninstall brings back copies, which lack what its help says that they lack; undo
// puts back the very objects, also after undo of an uninstall.
func TestUninstallCopies(t *testing.T) {
	t.Parallel()
	const marked = "user.steps-test"
	names := []string{"replaced", "edited", "deleted", "moved", "mode"}
	w := newWorld(t, "hb/var/dir/x=x", "hb/var/link -> a")
	for _, name := range names {
		w.make("hb/var/" + name + "=old")
		p := w.at("hb/var/" + name)
		if err := unix.Setxattr(p, marked, []byte("y"), 0); err == unix.ENOTSUP {
			t.Skip("no extended attributes of users here")
		} else if err != nil {
			t.Fatal(err)
		}
		old := time.Unix(1_000_000_000, 5)
		if name != "mode" { // with another name it would be replaced
			if err := os.Link(p, w.at("outside/"+name)); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Chmod(p, 0o640); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(p, old, old); err != nil {
			t.Fatal(err)
		}
	}
	if err := unix.Mkfifo(w.at("hb/var/fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	// look is what each file is, as far as copies have it, and what only the object has.
	look := func(name string) (state, object string) {
		t.Helper()
		var st unix.Stat_t
		if err := unix.Lstat(w.at("hb/var/"+name), &st); err != nil {
			return err.Error(), ""
		}
		buf := make([]byte, 8)
		n, _ := unix.Getxattr(w.at("hb/var/"+name), marked, buf)
		return fmt.Sprintf("%q %o %d:%d %v", w.read("hb/var/"+name), st.Mode, st.Uid, st.Gid, st.Mtim),
			fmt.Sprintf("inode %d, %d links, attribute %q", st.Ino, st.Nlink, buf[:max(n, 0)])
	}
	state, object := map[string]string{}, map[string]string{}
	for _, name := range names {
		state[name], object[name] = look(name)
	}
	before := w.listing()

	done := w.install(w.version("1.0", `"post_install_steps": [
 {"type": "write", "path": {"base": "var", "path": "replaced"}, "content": "new", "overwrite": true},
 {"type": "inreplace", "path": {"base": "var", "path": "edited"}, "before": "old", "after": "new"},
 {"type": "remove", "paths": [{"base": "var", "path": "deleted"}, {"base": "var", "path": "link"}, {"base": "var", "path": "fifo"}]},
 {"type": "remove", "paths": [{"base": "var", "path": "dir"}], "recursive": true},
 {"type": "move", "source": {"base": "var", "path": "moved"}, "target": {"base": "var", "path": "elsewhere"}},
 {"type": "set_permissions", "paths": [{"base": "var", "path": "mode"}], "permissions": "0600"}]`))
	removed, err := w.uninstall(interp.RemoveOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := left(removed.Left), w.at("hb/var/fifo")+": was a socket, FIFO or device, which cannot be made again"; got != want {
		t.Errorf("left %q, want %q", got, want)
	}
	for _, name := range names {
		gotState, gotObject := look(name)
		if gotState != state[name] {
			t.Errorf("%s came back as %s, and was %s", name, gotState, state[name])
		}
		same := name == "moved" || name == "mode"
		if (gotObject == object[name]) != same || !same && !strings.HasSuffix(gotObject, `1 links, attribute ""`) {
			t.Errorf("%s came back as %s, and was %s; the same: want %v", name, gotObject, object[name], same)
		}
		if name != "mode" && w.read("outside/"+name) != "old" {
			t.Errorf("the other name of %s holds %q", name, w.read("outside/"+name))
		}
	}

	w.undo(removed.Receipt.ID)
	w.undo(done.Receipt.ID)
	for _, name := range names {
		if gotState, gotObject := look(name); gotState != state[name] || gotObject != object[name] {
			t.Errorf("undo put back %s as %s, %s; it was %s, %s", name, gotState, gotObject, state[name], object[name])
		}
	}
	if got := w.listing(); got != before {
		t.Errorf("after undo:\n%s\nwant\n%s", got, before)
	}
}
