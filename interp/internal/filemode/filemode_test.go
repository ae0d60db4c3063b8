package filemode

import (
	"errors"
	"testing"
)

func TestApply(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		spec  string
		old   uint32
		dir   bool
		umask uint32
		want  uint32
	}{
		// Octal.
		{"0755", 0o640, false, 0o022, 0o755},
		{"644", 0o750, true, 0o022, 0o644},
		{"0000", 0o640, false, 0o022, 0},
		{"7", 0o777, false, 0, 0o007},
		{"4755", 0o640, false, 0o022, 0o4755},
		{"4755", 0o750, true, 0o022, 0o4755},
		{"0755", 0o6777, false, 0, 0o755},
		{"755", 0o7777, true, 0, 0o6755},
		{"0755", 0o7777, true, 0, 0o6755},
		{"2755", 0o4777, true, 0, 0o6755},
		{"00755", 0o6777, true, 0, 0o755},
		{"04755", 0o2777, true, 0, 0o4755},
		{"0000000000755", 0, false, 0, 0o755},
		// Symbolic.
		{"u+x", 0o640, false, 0o022, 0o740},
		{"go-w", 0o777, true, 0o022, 0o755},
		{"a=r", 0o640, false, 0o022, 0o444},
		{"u=rwX,go=rX", 0o640, false, 0o022, 0o644},
		{"u=rwX,go=rX", 0o700, false, 0o022, 0o755},
		{"u=rwX,go=rX", 0o600, true, 0o022, 0o755},
		{"u+x,g-r", 0o640, false, 0o022, 0o700},
		{"ug=rw,o=", 0o755, false, 0o022, 0o660},
		{"u+r-w", 0o200, false, 0, 0o400},
		{"u=", 0o777, false, 0, 0o077},
		{"a+X", 0o001, false, 0, 0o111},
		{"a-x+X", 0o777, false, 0, 0o666},
		{"a-x+X", 0o777, true, 0, 0o777},
		// Without a class the umask counts.
		{"+x", 0o640, false, 0o022, 0o751},
		{"+x", 0o640, false, 0o026, 0o751},
		{"+x", 0o640, false, 0o027, 0o750},
		{"+w", 0o444, false, 0o022, 0o644},
		{"-w", 0o666, false, 0o022, 0o466},
		{"=rwx", 0, false, 0o022, 0o755},
		{"=", 0o7777, false, 0o022, 0},
		{"=", 0o7777, true, 0o022, 0o6000},
		{"+rwx,+x", 0, false, 0o077, 0o700},
		// Copies.
		{"g=u", 0o640, false, 0, 0o660},
		{"o+g", 0o650, false, 0, 0o655},
		{"u-o", 0o705, false, 0, 0o205},
		{"=u", 0o700, false, 0o022, 0o755},
		// Set-ID and sticky.
		{"g+s", 0o640, false, 0o022, 0o2640},
		{"u+s", 0o640, false, 0, 0o4640},
		{"o+s", 0o640, false, 0, 0o640},
		{"+s", 0o640, false, 0o777, 0o6640},
		{"a-s", 0o6755, true, 0, 0o755},
		{"o+t", 0o750, true, 0o022, 0o1750},
		{"u+t", 0o750, true, 0, 0o750},
		{"u=rwx", 0o4700, true, 0, 0o4700},
		{"u=rwx", 0o4700, false, 0, 0o700},
		{"a=", 0o7777, true, 0, 0o6000},
		{"a=s", 0, true, 0, 0o6000},
		// Octal behind an operator.
		{"+111", 0o644, false, 0o777, 0o755},
		{"-6000", 0o6755, true, 0, 0o755},
		{"=755", 0o6000, true, 0, 0o755},
		{"u+w,=0", 0o7777, false, 0, 0},
	} {
		m, err := Parse(tc.spec)
		if err != nil {
			t.Errorf("Parse(%q) = %v", tc.spec, err)
			continue
		}
		if got := m.Apply(tc.old, tc.dir, tc.umask); got != tc.want {
			t.Errorf("%q on %#o, dir %v, umask %#o: got %#o, want %#o", tc.spec, tc.old, tc.dir, tc.umask, got, tc.want)
		}
		if got := m.Apply(tc.old|0o170000, tc.dir, tc.umask); got != tc.want {
			t.Errorf("%q minds file type bits: got %#o, want %#o", tc.spec, got, tc.want)
		}
	}
}

func TestParseErrors(t *testing.T) {
	t.Parallel()
	for _, spec := range []string{
		"", " ", "rwx!", "8", "0789", "10000", "77777", "0x1", "0755 ", " 755", "755,u+x", "u", "ugo", "u+q", "z+x",
		"u+x,", ",u+x", "u+x,,g+x", "u+x g+x", "u+gr", "u+ug", "u+7", "a=755", "+755x", "+755+x", "+10000", "u+x\x00", "\x00", "+x\n", "é+x", "u+é", "0755\x00", "-R",
	} {
		_, err := Parse(spec)
		var syntax *SyntaxError
		if !errors.As(err, &syntax) || syntax.Offset < 0 || syntax.Offset > len(spec) {
			t.Errorf("Parse(%q) = %v, want a SyntaxError", spec, err)
		}
	}
}

func TestMaySetID(t *testing.T) {
	t.Parallel()
	for spec, want := range map[string]bool{
		"0755": false, "4755": true, "2000": true, "1777": false, "06000": true,
		"u+s": true, "g=s": true, "a=s": true, "+s": true, "ug=rwxs": true, "+6000": true, "=2755": true, "u+x,g+s": true, "o=t,a=xs": true,
		"o+s": false, "-s": false, "u-s": false, "u+t": false, "a=rwx": false, "g=u": false, "-6000": false, "u=": false, "+1777": false,
	} {
		m, err := Parse(spec)
		if err != nil {
			t.Fatal(err)
		}
		if got := m.MaySetID(); got != want {
			t.Errorf("MaySetID of %q = %v", spec, got)
		}
	}
}

func TestZeroMode(t *testing.T) {
	t.Parallel()
	if got := (Mode{}).Apply(0o6755, true, 0o022); got != 0o6755 || (Mode{}).MaySetID() {
		t.Errorf("got %#o", got)
	}
}

// FuzzParse checks MaySetID against what Apply does.
func FuzzParse(f *testing.F) {
	for _, spec := range []string{"0755", "u=rwX,go=rX", "+x", "g=u,o-s", "=7777", "ug+s-t"} {
		f.Add(spec, uint32(0o640), true, uint32(0o022))
	}
	f.Fuzz(func(t *testing.T, spec string, old uint32, dir bool, umask uint32) {
		m, err := Parse(spec)
		if err != nil {
			var syntax *SyntaxError
			if !errors.As(err, &syntax) {
				t.Errorf("Parse(%q): %v", spec, err)
			}
			return
		}
		umask &= 0o777
		got := m.Apply(old, dir, umask)
		if got > 0o7777 {
			t.Errorf("%q: got %#o", spec, got)
		}
		if gained := got &^ old & 0o6000; gained != 0 && !m.MaySetID() {
			t.Errorf("%q on %#o gains %#o, but MaySetID is false", spec, old, gained)
		}
	})
}
