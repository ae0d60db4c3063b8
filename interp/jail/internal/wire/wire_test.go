package wire

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func sampleOrder() Order {
	return Order{
		ABI: 7, Namespaces: true, Network: true, Ports: []uint16{1, 65535}, Filter: []uint64{1 << 63, 6}, Token: "t",
		Grants: []Grant{{"/usr", Read | Exec}, {"/tmp/not-utf8-\xff", Write}},
		Links:  []Link{{"/bin", "usr/bin"}},
		Layers: []Layer{{"/opt", "/var/u", "/var/w"}},
		Dir:    "/tmp", Path: "/usr/bin/true", Args: []string{"/usr/bin/true", ""}, Env: []string{"A=\xfe"},
		CPUSeconds: 1, FileSize: 2, OpenFiles: 3, Processes: 4, Memory: 1 << 63,
	}
}

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	for _, want := range []Order{{}, sampleOrder()} {
		got, err := DecodeOrder(want.Encode())
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("order: %v\n%s", err, diff)
		}
	}
	want := Report{Outcome: Signaled, Code: 9, Errno: 2, Message: "x\x00\xff"}
	got, err := DecodeReport(want.Encode())
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("report: %v\n%s", err, diff)
	}
}

func TestDecodeRefuses(t *testing.T) {
	t.Parallel()
	order := sampleOrder().Encode()
	for n := range order {
		if _, err := DecodeOrder(order[:n]); err == nil {
			t.Fatalf("%d of %d bytes were accepted", n, len(order))
		}
	}
	for _, tc := range []struct {
		name string
		data []byte
	}{
		{"trailing byte", append(bytes.Clone(order), 0)},
		{"other version", append([]byte{Version + 1}, order[1:]...)},
		{"flag of two", append(append(bytes.Clone(order[:16]), 2), order[17:]...)},
	} {
		if _, err := DecodeOrder(tc.data); err == nil {
			t.Errorf("%s: accepted", tc.name)
		}
	}
	if _, err := DecodeReport(Report{}.Encode()); err == nil {
		t.Error("report without an outcome: accepted")
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(sampleOrder().Encode())
	f.Add(Report{Outcome: Exited, Code: 3, Message: "m"}.Encode())
	f.Fuzz(func(t *testing.T, data []byte) {
		if o, err := DecodeOrder(data); err == nil && !bytes.Equal(o.Encode(), data) {
			t.Errorf("order %+v does not encode to its source", o)
		}
		if r, err := DecodeReport(data); err == nil && !bytes.Equal(r.Encode(), data) {
			t.Errorf("report %+v does not encode to its source", r)
		}
	})
}
