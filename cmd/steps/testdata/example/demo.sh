# The whole road, on a tree that is thrown away: key, signature, verification,
# plan, apply, undo. `make demo` runs it; bin/steps must be built.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
BIN=${BIN:-$here/../../../../bin}
PATH=$(cd "$BIN" && pwd):$PATH
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export XDG_STATE_HOME="$work/state"
prefix=$work/brew
purl=pkg:generic/example/hello@1.0.0

say() { printf '\n\033[1m$ %s\033[0m\n' "$*"; "$@"; }
tree() { (cd "$prefix" && find . -mindepth 1 \( -type l -printf '%P -> %l\n' -o -type d -printf '%P/\n' -o -printf '%P\n' \) | sort); }

sh "$here/keg.sh" "$prefix"
cd "$work"
tar -czf hello.tar.gz -C "$prefix/Cellar/hello" 1.0.0
cp "$here/hello.json" .
tree >before

say steps validate hello.json
say steps keygen steps.key --policy trust.json --registry https://registry.example --package 'pkg:generic/example/*'
say steps sign hello.json --key steps.key --artifact hello.tar.gz --purl $purl --registry https://registry.example -o hello.bundle
say steps verify-bundle hello.bundle --policy trust.json --artifact hello.tar.gz --purl $purl
say steps plan hello.bundle --policy trust.json --artifact hello.tar.gz --purl $purl --prefix "$prefix" -o hello.plan
say steps apply --plan hello.plan --policy trust.json
say tree
say "$prefix/bin/hello"
say steps status --prefix "$prefix"
say steps verify --prefix "$prefix"
say steps undo --prefix "$prefix"
tree >after
cmp before after
printf '\nThe tree is as it was before.\n'
