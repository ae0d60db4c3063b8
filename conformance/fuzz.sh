# Fuzzes every target of the project for $1 each (a Go duration, default 20s).
set -eu
cd "$(dirname "$0")/.."
grep -rl --include='*_test.go' '^func Fuzz' . | while read -r file; do
	sed -n 's/^func \(Fuzz[A-Za-z0-9]*\)(.*/\1/p' "$file" | while read -r target; do
		echo "== $(dirname "$file") $target"
		go test "$(dirname "$file")" -run '^$' -fuzz "^$target\$" -fuzztime "${1:-20s}" -fuzzminimizetime 1x
	done
done
