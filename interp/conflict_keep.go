package interp

import (
	"path/filepath"
	"slices"
	"strings"

	"steps.example/interp/changeset"
	"steps.example/interp/commit"
)

// spare takes out of a changeset what happens at paths that the user wants left
// alone, and what cannot happen without it: the other end of a move, the removal of
// a directory above, and what would be in a directory that is not made. What is
// left is as coherent as the whole was.
func spare(cs *changeset.Changeset, alone func(path string) bool) (rest *changeset.Changeset, spared []commit.Spared) {
	s := sparing{cs: cs, index: make(map[string]int, len(cs.Changes)), out: map[int]bool{}}
	for i := range cs.Changes {
		if alone(cs.Changes[i].Path) {
			s.todo = append(s.todo, i)
		}
	}
	if len(s.todo) == 0 {
		return cs, nil
	}
	s.prepare()
	for len(s.todo) > 0 {
		i := s.todo[len(s.todo)-1]
		s.todo = s.todo[:len(s.todo)-1]
		if !s.out[i] {
			s.out[i] = true
			s.follow(i)
		}
	}
	rest = &changeset.Changeset{}
	for i := range cs.Changes {
		c := &cs.Changes[i]
		if !s.out[i] {
			rest.Changes = append(rest.Changes, *c)
			continue
		}
		spared = append(spared, commit.Spared{Path: c.Path, Verb: c.Verb(), Steps: c.Steps})
	}
	return rest, spared
}

type sparing struct {
	cs    *changeset.Changeset
	index map[string]int // by path
	movee map[string]int // by the path that the object comes from
	out   map[int]bool
	todo  []int
}

func (s *sparing) prepare() {
	s.movee = map[string]int{}
	for i := range s.cs.Changes {
		c := &s.cs.Changes[i]
		s.index[c.Path] = i
		if c.From != "" {
			s.movee[c.From] = i
		}
	}
}

// follow adds what cannot happen if change i does not.
func (s *sparing) follow(i int) {
	c := &s.cs.Changes[i]
	if k, ok := s.index[c.From]; ok {
		s.todo = append(s.todo, k)
	}
	if k, ok := s.movee[c.Path]; ok {
		s.todo = append(s.todo, k)
	}
	if c.Before != nil {
		// It stays, so the directories that it is in do.
		for dir := filepath.Dir(c.Path); dir != "/"; dir = filepath.Dir(dir) {
			if k, ok := s.index[dir]; ok && s.cs.Changes[k].Leaves() {
				s.todo = append(s.todo, k)
			}
		}
	}
	if c.After != nil && c.After.Kind == changeset.Dir && (c.Before == nil || c.Leaves()) {
		s.below(c.Path)
	}
}

// below adds what would be in a directory that will not be there.
func (s *sparing) below(path string) {
	at, _ := slices.BinarySearchFunc(s.cs.Changes, path+"/", func(c changeset.Change, p string) int { return strings.Compare(c.Path, p) })
	for ; at < len(s.cs.Changes) && strings.HasPrefix(s.cs.Changes[at].Path, path+"/"); at++ {
		s.todo = append(s.todo, at)
	}
}
