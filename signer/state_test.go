package signer

import (
	"errors"
	"testing"
)

// memory is a State as a client keeps it.
type memory map[string]Mark

func (m memory) Seen(registry, purl string) (Mark, error) { return m[registry+" "+purl], nil }

type brokenState struct{ error }

func (s brokenState) Seen(string, string) (Mark, error) { return Mark{}, s.error }

// A registry that shows different people different things, and one that shows old
// ones.
func TestState(t *testing.T) {
	t.Parallel()
	key := testKey(t, "signer")
	policy := mustPolicy(t, policyMap(key))
	signed := func(bend func(*Request)) []byte {
		r := testRequest()
		bend(&r)
		return mustSign(t, key, r)
	}
	verify := func(data []byte, want Expectation) (Mark, error) {
		v, err := Verify(data, policy, want)
		if err != nil {
			return Mark{}, err
		}
		return v.Mark(), nil
	}
	seven := signed(func(*Request) {})
	mark, err := verify(seven, testWant())
	if err != nil {
		t.Fatal(err)
	}
	six := signed(func(r *Request) { r.Revision = 6 })
	otherSeven := signed(func(r *Request) { r.Document = edit(t, testDocument, "caf", "evil") })
	resigned := signed(func(r *Request) { r.IssuedAt = r.IssuedAt.AddDate(0, 0, 1) })
	eight := signed(func(r *Request) { r.Revision, r.Previous = 8, mark.PayloadSHA256 })
	otherEight := signed(func(r *Request) { r.Revision, r.Previous = 8, testArtifact })
	unlinkedEight := signed(func(r *Request) { r.Revision = 8 })
	ten := signed(func(r *Request) { r.Revision, r.Previous = 10, testArtifact })

	seen := memory{testRegistry + " " + testPURL: mark}
	elsewhere := memory{"https://other.example " + testPURL: {Revision: 99}, testRegistry + " pkg:generic/acme/foo@2": {Revision: 99}}
	for _, tc := range []struct {
		name  string
		data  []byte
		state State
		kind  Kind // "" for success
		want  string
	}{
		{"never seen", seven, memory{}, "", ""},
		{"others seen", seven, elsewhere, "", ""},
		{"the same again", seven, seen, "", ""},
		{"an older one", six, seen, KindStale, "revision 6 is older than 7"},
		{"another document of that revision", otherSeven, seen, KindEquivocation, "revision 7"},
		{"another statement of that revision", resigned, seen, KindEquivocation, "revision 7"},
		{"the next", eight, seen, "", ""},
		{"the next, not linked", unlinkedEight, seen, "", ""},
		{"the next of another history", otherEight, seen, KindEquivocation, "follows payload"},
		{"a later one, of which the links were not seen", ten, seen, "", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			want := testWant()
			want.State = tc.state
			_, err := verify(tc.data, want)
			if tc.kind != "" {
				wantError(t, err, tc.kind, tc.want)
			} else if err != nil {
				t.Error(err)
			}
		})
	}
	t.Run("a state that fails", func(t *testing.T) {
		t.Parallel()
		want, failure := testWant(), errors.New("disk on fire")
		want.State = brokenState{failure}
		if _, err := verify(seven, want); !errors.Is(err, failure) {
			t.Errorf("got %v", err)
		}
	})
	for _, tc := range []struct {
		name   string
		listed Mark
		kind   Kind
		want   string
	}{
		{"as listed", mark, "", ""},
		{"older than listed", Mark{8, mark.PayloadSHA256}, KindStale, "revision 7 is older than 8, listed"},
		{"newer than listed", Mark{6, mark.PayloadSHA256}, KindEquivocation, "the index lists revision 6"},
		{"other than listed", Mark{7, testArtifact}, KindEquivocation, "the index lists revision 7"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			want := testWant()
			want.Listed = tc.listed
			_, err := verify(seven, want)
			if tc.kind != "" {
				wantError(t, err, tc.kind, tc.want)
			} else if err != nil {
				t.Error(err)
			}
		})
	}
}
