package commit

import (
	"cmp"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"

	"steps.example/interp/changeset"
)

// The owners' file is a copy, made for speed, of what the receipts say of paths. It
// names the receipts that it was made from, with the stamps of their files; what it
// has from a receipt counts only while that is there, with that stamp. Who can
// write to the store can forge receipts just as well.
//
//	magic, 16 bytes, the last of which is the version
//	check sum (CRC-32C) of all that follows, 4 bytes, little endian
//	receipts: their number, then id, stamp, package, version, layout, action, version
//	          that was replaced, id of the receipt that was taken back, and number of
//	          records of each
//	records:  their number, the offset of each in what follows (4 bytes, little
//	          endian), then path, number of the receipt, kind, and state or base of
//	          each, ordered by path and receipt
//
// Numbers and strings are as in the journal.
const (
	ownersName = "owners"
	ownersNew  = "owners.new"
	ownerMagic = "steps owners\x00\x00\x00\x03"
	maxOwners  = 1 << 29
	// The smallest record is a path of two bytes and two numbers.
	minRecord = 5
)

var errOwners = errors.New("malformed")

// ownerFile is an owners' file in memory. The zero value is an empty one.
type ownerFile struct {
	receipts []ownerReceipt
	count    int
	offsets  []byte // 4 bytes a record
	records  []byte
}

// decodeOwners checks a file as a whole, by its sum, and the table of receipts. To
// walk through the records would cost more than all that is looked up in them: each
// is checked when it is read, and one that is malformed in spite of the sum counts as
// not there.
func decodeOwners(data []byte) (ownerFile, error) {
	var f ownerFile
	head := len(ownerMagic) + 4
	if len(data) < head || len(data) > maxOwners || string(data[:len(ownerMagic)]) != ownerMagic {
		return f, fmt.Errorf("not an owners' file of this version: %w", errOwners)
	}
	if crc32.Checksum(data[head:], castagnoli) != binary.LittleEndian.Uint32(data[len(ownerMagic):]) {
		return f, fmt.Errorf("check sum: %w", errOwners)
	}
	d := &dec{b: data[head:]}
	n := d.u()
	if n > uint64(len(d.b)) {
		return f, errOwners
	}
	for range n {
		var r ownerReceipt
		r.id, r.stamp = d.s(), d.stamp()
		r.pkg.Name, r.pkg.Version, r.layout = d.s(), d.s(), d.s()
		r.action, r.replaced, r.undoes, r.records = d.s(), d.s(), d.s(), int(d.u32())
		if d.bad || !validID(r.id) || len(f.receipts) > 0 && f.receipts[len(f.receipts)-1].id >= r.id {
			return f, errOwners
		}
		f.receipts = append(f.receipts, r)
	}
	n = d.u()
	if d.bad || n > uint64(len(d.b)/(4+minRecord)) {
		return f, errOwners
	}
	f.count, f.offsets, f.records = int(n), d.b[:4*n], d.b[4*n:]
	return f, nil
}

// bytes is s without a copy.
func (d *dec) bytes() []byte {
	n := d.u()
	if n > uint64(len(d.b)) {
		d.bad = true
	}
	if d.bad {
		return nil
	}
	v := d.b[:n]
	d.b = d.b[n:]
	return v
}

// hash takes a SHA-256 off, or none.
func (d *dec) hash() []byte {
	v := d.bytes()
	if len(v) != 0 && len(v) != 32 {
		d.bad = true
	}
	return v
}

// kindCodes has Other first: a kind that is none of these is that.
var kindCodes = []changeset.Kind{changeset.Other, changeset.Dir, changeset.File, changeset.Symlink}

func (e enc) ownerRecord(path string, receipt int, rec *ownerRecord) enc {
	e = append(e.s(path).u(uint64(receipt)), byte(rec.what))
	switch {
	case rec.what&(recordPut|recordUse) != 0:
		st := rec.state
		e = append(e, byte(max(0, slices.Index(kindCodes, st.Kind))))
		e = e.u(uint64(st.Mode)).i(int64(st.UID)).i(int64(st.GID)).i(st.Size)
		return e.hash(st.SHA256).s(st.Target).i(st.MTime)
	case rec.what&recordBase != 0:
		e = e.hash(rec.base.SHA256).s(rec.base.Target)
		if rec.base.Held {
			return append(e, 1)
		}
		return append(e, 0)
	}
	return e
}

// hash adds a SHA-256 in hex; one that is none is left out.
func (e enc) hash(sum string) enc {
	raw, err := hex.DecodeString(sum)
	if err != nil || len(raw) != 32 {
		raw = nil
	}
	return e.s(string(raw))
}

// at reads record i.
func (f *ownerFile) at(i int) *dec {
	offset := binary.LittleEndian.Uint32(f.offsets[4*i:])
	if uint64(offset) > uint64(len(f.records)) {
		return &dec{bad: true}
	}
	return &dec{b: f.records[offset:]}
}

// path is the path of record i, nil where that is malformed.
func (f *ownerFile) path(i int) []byte { return f.at(i).bytes() }

// record is record i. It reports false where that is malformed.
func (f *ownerFile) record(i int) (path string, receipt int, rec ownerRecord, ok bool) {
	d := f.at(i)
	path = d.s()
	n := d.u()
	if n >= uint64(len(f.receipts)) || len(path) < 2 || path[0] != '/' {
		return "", 0, rec, false
	}
	rec = ownerRecord{by: &f.receipts[n], what: recordKind(d.byte())}
	switch rec.what {
	case recordPut, recordPut | recordStays, recordUse:
		kind := d.byte()
		if int(kind) >= len(kindCodes) {
			return "", 0, rec, false
		}
		rec.state = &changeset.State{Kind: kindCodes[kind], Mode: d.u32(), UID: int(d.i()), GID: int(d.i()), Size: d.i()}
		rec.state.SHA256, rec.state.Target, rec.state.MTime = hex.EncodeToString(d.hash()), d.s(), d.i()
	case recordGone:
	case recordBase:
		rec.base = Base{Path: path, SHA256: hex.EncodeToString(d.hash()), Target: d.s(), Held: d.byte() == 1}
	default:
		d.bad = true
	}
	return path, int(n), rec, !d.bad
}

// search is the number of the first record at path or behind it.
func (f *ownerFile) search(path string) int {
	lo, hi := 0, f.count
	for lo < hi {
		mid := (lo + hi) / 2
		if string(f.path(mid)) < path {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

// encode writes all that o knows as a file. It gives nil where that is too much
// for one, or was read from one that is malformed.
func (o *Owners) encode() []byte {
	type item struct {
		path string
		rec  ownerRecord
	}
	items := make([]item, 0, o.file.count)
	receipts := map[string]*ownerReceipt{}
	for i := range o.file.receipts {
		if !o.gone[i] {
			receipts[o.file.receipts[i].id] = &o.file.receipts[i]
		}
	}
	for i := range o.file.count {
		path, receipt, rec, ok := o.file.record(i)
		if !ok {
			return nil // to be made from the receipts, some day
		}
		if !o.gone[receipt] {
			items = append(items, item{path, rec})
		}
	}
	for path, list := range o.late {
		for _, rec := range list {
			items = append(items, item{path, rec})
		}
	}
	for _, r := range o.fresh {
		receipts[r.id] = r
	}
	slices.SortStableFunc(items, func(a, b item) int {
		return cmp.Or(cmp.Compare(a.path, b.path), cmp.Compare(a.rec.by.id, b.rec.by.id))
	})
	ids := make([]string, 0, len(receipts))
	for id := range receipts {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	number := make(map[string]int, len(ids))
	body := enc{}.u(uint64(len(ids)))
	for i, id := range ids {
		r := receipts[id]
		number[id] = i
		body = body.s(r.id).stamp(r.stamp).s(r.pkg.Name).s(r.pkg.Version).s(r.layout)
		body = body.s(r.action).s(r.replaced).s(r.undoes).u(uint64(r.records))
	}
	body = body.u(uint64(len(items)))
	var records enc
	for i := range items {
		body = binary.LittleEndian.AppendUint32(body, uint32(len(records)))
		records = records.ownerRecord(items[i].path, number[items[i].rec.by.id], &items[i].rec)
		if len(body)+len(records) > maxOwners/2 {
			return nil
		}
	}
	body = append(body, records...)
	out := append([]byte(ownerMagic), 0, 0, 0, 0)
	binary.LittleEndian.PutUint32(out[len(ownerMagic):], crc32.Checksum(body, castagnoli))
	return append(out, body...)
}
