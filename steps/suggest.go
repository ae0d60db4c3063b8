package steps

import (
	"fmt"
	"slices"
	"strings"
)

// maxListed is how many names a message lists.
const maxListed = 16

// suggest says which of the names may have been meant, or lists them all.
func suggest(got string, names []string) string {
	best, least := "", 3
	for _, name := range names {
		distance := editDistance(strings.ToLower(got), name)
		if distance < least && distance < len(name)/2+1 {
			best, least = name, distance
		}
	}
	if best != "" && strings.EqualFold(got, best) {
		return fmt.Sprintf("%q: names are case-sensitive", best)
	}
	if best != "" {
		return fmt.Sprintf("perhaps %q", best)
	}
	if len(names) > maxListed {
		return fmt.Sprintf("one of %s, … (%d in all)", strings.Join(names[:maxListed], ", "), len(names))
	}
	return "one of " + strings.Join(names, ", ")
}

// editDistance is the number of bytes to insert, delete or replace. Long names count as
// far apart.
func editDistance(a, b string) int {
	if len(a) > 64 || len(b) > 64 {
		return 64
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}

func typeNames() []string {
	names := make([]string, len(Types))
	for i, t := range Types {
		names[i] = string(t)
	}
	slices.Sort(names)
	return names
}
