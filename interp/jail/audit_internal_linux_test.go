package jail

import (
	"slices"
	"testing"
)

func TestAuditRecords(t *testing.T) {
	t.Parallel()
	d := denials{token: "jail-0badcafe"}
	for _, r := range []struct {
		kind uint16
		text string
	}{
		{auditLandlockAccess, `audit(1729738800.268:30): domain=195ba459b blockers=fs.read_file path="/etc/shadow" dev="vda2" ino=351`},
		{auditLandlockDomain, `audit(1729738800.268:30): domain=195ba459b status=allocated mode=enforcing pid=300 uid=0 exe="/usr/bin/steps-jail" comm="jail-0badcafe"`},
		{auditLandlockAccess, `audit(1729738800.268:31): domain=195ba459b blockers=fs.read_file path="/etc/shadow" dev="vda2" ino=351`},
		{auditLandlockAccess, `audit(1729738800.269:32): domain=195ba459b blockers=net.connect_tcp daddr=127.0.0.1 dest=80`},
		{auditLandlockAccess, `audit(1729738800.270:33): domain=195ba459b blockers=fs.make_reg,fs.refer path=2F746D702F6120620A dev="vda2" ino=9`},
		{auditLandlockAccess, `audit(1729738800.271:34): domain=1aaaaaaaa blockers=fs.execute path="/somebody/else" dev="vda2" ino=10`},
		{auditLandlockDomain, `audit(1729738800.271:34): domain=1aaaaaaaa status=allocated mode=enforcing pid=301 uid=0 exe="/bin/x" comm="other"`},
		{auditLandlockDomain, `audit(1729738800.272:35): domain=195ba459b status=deallocated denials=4`},
		{1300, `audit(1): nonsense`},
	} {
		d.add(r.kind, r.text)
	}
	want := []Denial{
		{"fs.read_file", "/etc/shadow", "landlock"},
		{"net.connect_tcp", "port 80", "landlock"},
		{"fs.make_reg,fs.refer", `/tmp/a b\n`, "landlock"},
	}
	if got := d.of(); !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

func FuzzAuditRecord(f *testing.F) {
	f.Add(`audit(1:2): domain=1 blockers=fs.read_file path="/x" comm=41`)
	f.Fuzz(func(t *testing.T, text string) {
		d := denials{token: "x"}
		d.add(auditLandlockAccess, text)
		d.add(auditLandlockDomain, text)
		d.of()
	})
}
