package jail

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"
)

// A world is what an attacker can try to reach: directories with and without
// grants, listeners, a process and a file in shared memory, all outside.
type world struct {
	In, RO, Out string // writable, but not executable; readable; not granted
	TCP, UDP    int    // ports on 127.0.0.1 with a listener
	Other       int    // another TCP port with one
	Stream      string // path of a Unix stream listener
	Datagram    string // path of a Unix datagram socket
	Abstract    string // name of an abstract Unix listener, without the NUL
	Victim      int    // a process of the same user
	Caller      int    // the process that makes the jail
	Thread      int    // one of its threads
	Shm         string // path of a file in /dev/shm; empty where there is none
	SetID       string // a program with another user's rights; empty where there is none

	close []func()
}

func (w *world) in(name string) string  { return filepath.Join(w.In, name) }
func (w *world) ro(name string) string  { return filepath.Join(w.RO, name) }
func (w *world) out(name string) string { return filepath.Join(w.Out, name) }

func (w *world) encode() string {
	data, err := json.Marshal(w)
	if err != nil {
		panic("BUG(steps): " + err.Error())
	}
	return string(data)
}

// victimSecret is in the environment of the process that the world is about.
const victimSecret = "STEPS_VICTIM_SECRET=hunter2"

var worlds atomic.Int64

// newWorld makes a world; end takes it away.
func (s *site) newWorld() (_ *world, err error) {
	id := fmt.Sprintf("w%d", worlds.Add(1))
	dir := filepath.Join(s.base, id)
	w := &world{
		In: filepath.Join(dir, "in"), RO: filepath.Join(dir, "ro"), Out: filepath.Join(dir, "out"),
		Stream: filepath.Join(dir, "s"), Datagram: filepath.Join(dir, "d"),
		Abstract: fmt.Sprintf("%s-%d-%s", filepath.Base(s.base), os.Getpid(), id),
		Caller:   os.Getpid(), Thread: unix.Gettid(),
	}
	defer func() {
		if err != nil {
			w.end()
			err = fmt.Errorf("making a world for the attack: %w", err)
		}
	}()
	for _, d := range []string{dir, w.In, w.RO, w.Out} {
		if err := os.Mkdir(d, 0o755); err != nil {
			return nil, err
		}
		if d == dir {
			continue
		}
		if err := errors.Join(
			os.WriteFile(filepath.Join(d, "file"), []byte("text of "+d), 0o644),
			os.WriteFile(filepath.Join(d, "tool"), []byte("#!/bin/sh\nexit 0\n"), 0o755),
			os.Mkdir(filepath.Join(d, "dir"), 0o755),
		); err != nil {
			return nil, err
		}
	}
	if err := w.listen(); err != nil {
		return nil, err
	}
	if err := w.share(id); err != nil {
		return nil, err
	}
	victim := exec.Command("/bin/sleep", "1000")
	victim.Env = []string{victimSecret}
	victim.Dir = "/"
	if err := w.start(victim); err != nil {
		return nil, err
	}
	w.Victim = victim.Process.Pid
	return w, nil
}

func (w *world) listen() error {
	for _, port := range []*int{&w.TCP, &w.Other} {
		tcp, err := net.Listen("tcp4", "127.0.0.1:0")
		if err != nil {
			return err
		}
		w.closing(func() { tcp.Close() })
		*port = tcp.Addr().(*net.TCPAddr).Port
	}
	udp, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		return err
	}
	w.closing(func() { udp.Close() })
	w.UDP = udp.LocalAddr().(*net.UDPAddr).Port
	for _, address := range []string{w.Stream, "@" + w.Abstract} {
		l, err := net.Listen("unix", address)
		if err != nil {
			return err
		}
		w.closing(func() { l.Close() })
	}
	datagram, err := net.ListenPacket("unixgram", w.Datagram)
	if err != nil {
		return err
	}
	w.closing(func() { datagram.Close() })
	return nil
}

// share makes the file in shared memory and finds a set-id program.
func (w *world) share(id string) error {
	if info, err := os.Stat("/dev/shm"); err == nil && info.IsDir() {
		f, err := os.CreateTemp("/dev/shm", "steps-jail-"+id+"-")
		if err != nil {
			return err
		}
		w.Shm = f.Name()
		w.closing(func() { os.Remove(w.Shm) })
		if err := f.Close(); err != nil {
			return err
		}
	}
	if os.Geteuid() != 0 {
		w.SetID = findSetID()
		return nil
	}
	data, err := os.ReadFile("/usr/bin/id")
	if err != nil {
		return err
	}
	path := w.ro("setid")
	if err := os.WriteFile(path, data, 0o755); err != nil {
		return err
	}
	if err := os.Chown(path, nobody, nobody); errors.Is(err, unix.EINVAL) {
		return nil // this user namespace knows no other user
	} else if err != nil {
		return err
	}
	w.SetID = path
	return os.Chmod(path, 0o755|os.ModeSetuid)
}

// findSetID finds a program of the system that runs with root's rights.
func findSetID() string {
	for _, name := range []string{"su", "mount", "passwd", "newgrp", "chsh"} {
		path, err := filepath.EvalSymlinks("/usr/bin/" + name)
		if err != nil {
			continue
		}
		var st unix.Stat_t
		if err := unix.Stat(path, &st); err == nil && st.Mode&unix.S_ISUID != 0 && st.Uid == 0 {
			return path
		}
	}
	return ""
}

// nobody is a user who is not root.
const nobody = 65534

// start starts a process that ends with the world, or with this thread.
func (w *world) start(cmd *exec.Cmd) error {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = unix.SIGKILL
	if err := cmd.Start(); err != nil {
		return err
	}
	w.closing(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	return nil
}

func (w *world) closing(f func()) { w.close = append(w.close, f) }

// end takes away everything but files, which go with the site.
func (w *world) end() {
	for _, f := range w.close {
		f()
	}
	w.close = nil
}

// outside describes everything that no attack may change.
func (w *world) outside() (string, error) {
	var b strings.Builder
	for _, root := range []string{w.RO, w.Out} {
		err := filepath.WalkDir(root, func(p string, d os.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			stat := info.Sys().(*syscall.Stat_t)
			fmt.Fprintf(&b, "%s %v %d:%d %v", strings.TrimPrefix(p, filepath.Dir(root)), info.Mode(), stat.Uid, stat.Gid, info.ModTime().UnixNano())
			if info.Mode().IsRegular() {
				data, err := os.ReadFile(p)
				if err != nil {
					return err
				}
				fmt.Fprintf(&b, " %q", data[:min(len(data), 100)])
			}
			b.WriteByte('\n')
			return nil
		})
		if err != nil {
			return "", err
		}
	}
	return b.String(), nil
}

// hurt says what an attack changed in a world that was as before, or nothing.
func (w *world) hurt(before string) string {
	after, err := w.outside()
	if err != nil {
		return err.Error()
	}
	if after != before {
		old := strings.Split(before, "\n")
		for line := range strings.SplitSeq(after, "\n") {
			if len(old) == 0 || line != old[0] {
				return "it changed something outside: " + line
			}
			old = old[1:]
		}
		return "it removed something outside: " + old[0]
	}
	if err := unix.Kill(w.Victim, 0); err != nil {
		return "a process outside ended"
	}
	return ""
}
