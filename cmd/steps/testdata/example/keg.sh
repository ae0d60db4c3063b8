# Makes the example package's tree in the directory $1: a keg as it comes out of
# a bottle, linked into a prefix, with something left by an older version.
set -eu
mkdir -p "$1"
cd "$1"
keg=Cellar/hello/1.0.0
mkdir -p $keg/bin $keg/libexec $keg/share/man/man1 bin etc opt share/man/man1 var
printf '#!/bin/sh\nGREETING=unset\necho "$GREETING"\n' >$keg/libexec/hello.sh
printf '.TH HELLO 1\n' >$keg/share/man/man1/hello.1
ln -s ../Cellar/hello/1.0.0 opt/hello
ln -s ../Cellar/hello/0.9.0/bin/hello bin/hello
ln -s ../../../Cellar/other/2.0/share/man/man1/other.1 share/man/man1/other.1
printf 'old\n' >Cellar/hello/cache.stale
