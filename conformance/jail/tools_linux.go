package jail

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"steps.example/interp/jail"
)

// tools are real programs at work in their writable directory, with no more
// than the system granted. What they build there they may run.
var tools = []struct {
	name   string
	needs  string // programs, separated by spaces
	script string
	want   string // in the output
	// cache is a directory that the control leaves to the jail, to save time.
	cache string
}{
	{"gcc", "gcc", `printf '#include <stdio.h>\n#include <pthread.h>\nstatic void *f(void *p) { puts("made"); return p; }\nint main(void) { pthread_t t; return pthread_create(&t, 0, f, 0) || pthread_join(t, 0); }\n' >m.c && gcc -O1 -pthread -o m m.c && ./m`, "made", ""},
	{"make -j", "make gcc", `printf 'all: a b c\n%%: %%.c\n\tgcc -o $@ $<\n' >Makefile && for n in a b c; do echo 'int main(void) { return 0; }' >$n.c; done && make -j4 >/dev/null && ./a && ./b && ./c && echo made`, "made", ""},
	{"tar", "tar gzip", `mkdir src && echo x >src/f && chmod 640 src/f && ln -s f src/l && tar czf a.tgz src && mkdir out && tar xzpf a.tgz -C out && cat out/src/l && stat -c %a out/src/f`, "x\n640", ""},
	{"cp -a", "cp", `mkdir src && echo x >src/f && ln -s f src/l && mkfifo src/p && cp -a src dst && test -L dst/l && test -p dst/p && cp -r /usr/share/zoneinfo/Etc z && cat dst/f`, "x", ""},
	{"install", "install", `echo x >f && install -d -m 755 d/e && install -m 600 f d/e/g && stat -c %a d/e/g`, "600", ""},
	{"git", "git", `git init -q . && git config user.email a@b && git config user.name a && echo x >f && git add f && git commit -q -m first && git log --oneline | wc -l && git clone -q . clone && cat clone/f`, "1\nx", ""},
	{"python3", "python3", `python3 -c 'import subprocess, tempfile, threading, socket, hashlib
a, b = socket.socketpair()
a.send(b"pair")
t = threading.Thread(target=lambda: print(b.recv(4).decode()))
t.start(); t.join()
with tempfile.NamedTemporaryFile() as f: f.write(b"x")
print(subprocess.run(["sh", "-c", "echo child"], capture_output=True, text=True).stdout)'`, "pair\nchild", ""},
	{"node", "node", `node -e 'require("fs").writeFileSync("f", "x"); console.log("node", require("child_process").execFileSync("/bin/echo", ["child"]).toString())'`, "node child", ""},
	{"go build", "go", `mkdir m && cd m && printf 'package main\nfunc main() { println("made") }\n' >m.go && printf 'module m\ngo 1.20\n' >go.mod && go build -o m . && ./m 2>&1`, "made", ".cache"},
	{"perl", "perl", `perl -e 'print join(",", map { $_ * 2 } 1..3)'`, "2,4,6", ""},
	{"sed -i", "sed", `echo old >f && sed -i s/old/new/ f && cat f`, "new", ""},
	{"find, xargs", "find xargs", `touch a b c && find . -name '[abc]' -print0 | xargs -0 -n1 -P2 basename | sort | tr -d '\n'`, "abc", ""},
}

func toolCases() []Case {
	var cases []Case
	for _, t := range tools {
		cases = append(cases, Case{91, t.name, "allowed", func(ctx context.Context, s *site, r *Result) {
			for name := range strings.FieldsSeq(t.needs) {
				if !installed(name) {
					r.skip("no %s under /usr", name)
					return
				}
			}
			var left string
			s.withWorld(r, func(w *world) {
				left = w.in(t.cache)
				cmd := s.command(ctx, w, "/bin/sh", "-e", "-c", t.script)
				out, err := cmd.CombinedOutput()
				if err == nil && !strings.Contains(string(out), t.want) {
					err = fmt.Errorf("it printed %q", out)
				} else if err != nil {
					err = fmt.Errorf("%w: %s", err, out)
				}
				r.controlled(err)
			})
			s.withWorld(r, func(w *world) {
				p := s.policy(w)
				executeWritable(&p, w)
				if t.cache != "" {
					// The control keeps it elsewhere if its environment says so.
					err := os.CopyFS(w.in(t.cache), os.DirFS(left))
					if err != nil && !errors.Is(err, fs.ErrNotExist) {
						r.fail("copying the cache: %v", err)
						return
					}
				}
				res, err := s.jailed(ctx, p, jail.Command{Path: "/bin/sh", Args: []string{"-e", "-c", t.script}})
				if err != nil {
					r.fail("%v", err)
					return
				}
				r.Got = "ok"
				if !res.OK() || !strings.Contains(string(res.Stdout), t.want) {
					r.Got = fmt.Sprintf("exit %d %s", res.ExitCode, res.Signal)
					r.fail("%s", jail.Printable(append(res.Stdout, res.Stderr...)))
				}
			})
		}})
	}
	return cases
}

// installed reports whether a program is where the jail's commands look.
func installed(name string) bool {
	for _, dir := range []string{"/usr/local/bin", "/usr/bin", "/bin", "/usr/local/go/bin"} {
		path, err := filepath.EvalSymlinks(filepath.Join(dir, name))
		if err != nil || !strings.HasPrefix(path, "/usr/") && !strings.HasPrefix(path, "/bin/") {
			continue
		}
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && unix.Access(path, unix.X_OK) == nil {
			return true
		}
	}
	return false
}
