package jail_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Ordinary programs work in a writable directory, with no more than the
// system's files granted.
func TestTools(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		tools      string // all must be there
		script     string
		want       string // in the output
		namespaces bool   // needs them
	}{
		{"sh", `mkdir -p a/b && echo one >a/b/x && cat <a/b/x && rm -r a && ls -la . >/dev/null`, "one", false},
		{"bash", `cat <(echo sub) && echo "${BASH_VERSION:+yes}"`, "sub\nyes", false},
		{"cp", `mkdir src && echo x >src/f && ln -s f src/l && mkfifo src/p && cp -a src dst && test -L dst/l && cp -r /usr/share/zoneinfo/Etc z; echo done`, "done", false},
		{"tar", `mkdir src && echo x >src/f && chmod 640 src/f && tar czf a.tgz src && mkdir out && tar xzf a.tgz -C out && cat out/src/f`, "x", false},
		{"install", `echo x >f && install -d -m 755 d/e && install -m 600 f d/e/g && stat -c %a d/e/g`, "600", false},
		{"mv", `mkdir a b && echo x >a/f && mv a/f b/f && mv b c && cat c/f`, "x", false},
		{"sed", `echo old >f && sed -i s/old/new/ f && cat f`, "new", false},
		{"find xargs", `touch a b c && find . -type f -print0 | xargs -0 -n1 -P2 basename | sort | tr -d '\n'`, "abc", false},
		{"gcc", `printf '#include <stdio.h>\n#include <pthread.h>\nstatic void *f(void *p) { puts("made"); return p; }\nint main(void) { pthread_t t; return pthread_create(&t, 0, f, 0) || pthread_join(t, 0); }\n' >m.c && gcc -O1 -pthread -o m m.c && ./m`, "made", false},
		{"make gcc", `printf 'all: a b c\n%%: %%.c\n\tgcc -o $@ $<\n' >Makefile && for n in a b c; do echo 'int main(void) { return 0; }' >$n.c; done && make -j4 >/dev/null && ./a && ./b && ./c && echo made`, "made", false},
		{"git", `git init -q . && git config user.email a@b && git config user.name a && echo x >f && git add f && git commit -q -m first && git log --oneline | wc -l && git clone -q . ../in/clone && cat clone/f`, "1\nx", false},
		{"perl", `perl -e 'print join(",", map { $_ * 2 } 1..3)'`, "2,4,6", false},
		{"python3", `python3 -c 'import subprocess, tempfile, json, threading, socket, hashlib
a, b = socket.socketpair()
a.send(b"pair")
t = threading.Thread(target=lambda: print(b.recv(4).decode()))
t.start(); t.join()
with tempfile.NamedTemporaryFile() as f: f.write(b"x")
print(subprocess.run(["sh", "-c", "echo child"], capture_output=True, text=True).stdout)'`, "pair\nchild", false},
		{"python3", `python3 -c 'import multiprocessing
if __name__ == "__main__":
    with multiprocessing.Pool(2) as pool: print(sum(pool.map(abs, range(-4, 4))))'`, "16", true},
		{"go", `mkdir tmp; export TMPDIR=$PWD/tmp GOCACHE=$PWD/cache GOPATH=$PWD/gopath GOFLAGS=-mod=mod GOTOOLCHAIN=local CGO_ENABLED=0
printf 'module m\ngo 1.20\n' >go.mod && printf 'package main\nfunc main() { println("built") }\n' >m.go && go build -o m . && ./m 2>&1`, "built", false},
		{"node", `node -e 'const { execFileSync } = require("child_process"); require("fs").writeFileSync("f", "x"); console.log("node", execFileSync("/bin/echo", ["child"]).toString())'`, "node child", false},
	} {
		for _, m := range modes(t) {
			t.Run(m.name+"/"+tc.tools, func(t *testing.T) {
				t.Parallel()
				for name := range strings.FieldsSeq(tc.tools) {
					tool(t, name)
				}
				if tc.namespaces && !m.support.Namespaces {
					t.Skip("needs a /dev/shm, which is there with namespaces")
				}
				dir := filepath.Join(tempDir(t), "in")
				if err := os.Mkdir(dir, 0o755); err != nil {
					t.Fatal(err)
				}
				p := policy(t, dir)
				p.Execs = append(p.Execs, dir)
				p.Env[0] += ":/usr/local/go/bin"
				shellPath := "/bin/sh"
				if strings.HasPrefix(tc.tools, "bash") {
					shellPath = "/bin/bash"
				}
				res := m.run(t, p, shellPath, "-e", "-c", tc.script)
				if !res.OK() || !strings.Contains(string(res.Stdout), tc.want) {
					t.Errorf("exit %d %s\n%s%s", res.ExitCode, res.Signal, res.Stdout, res.Stderr)
				}
			})
		}
	}
}
