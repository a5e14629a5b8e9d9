package main

import (
	"bytes"
	"cmp"
	"crypto/md5"
	"crypto/sha1"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
)

// rpmArch returns a processor's name in RPM.
func rpmArch(t target) string {
	return map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[t.arch]
}

// rpmVersion returns a version as RPM orders it: a tilde comes before the version without it.
func rpmVersion(v string) string { return strings.Replace(v, "-", "~", 1) }

// Types of what a header of RPM has, and bits of what a package asks for.
const (
	rpmInt16, rpmInt32, rpmString, rpmBin, rpmStrings, rpmI18N = 3, 4, 6, 7, 8, 9

	rpmLess, rpmEqual, rpmLib = 1 << 1, 1 << 3, 1 << 24
)

// header is one of RPM: entries, each with a tag.
type header struct{ entries []entry }

type entry struct {
	tag, kind, count int
	text             []byte
}

func (h *header) strings(tag, kind int, all ...string) {
	h.entries = append(h.entries, entry{tag, kind, len(all), []byte(strings.Join(all, "\x00") + "\x00")})
}

func (h *header) int32s(tag int, all ...int) {
	var b []byte
	for _, n := range all {
		b = binary.BigEndian.AppendUint32(b, uint32(n))
	}
	h.entries = append(h.entries, entry{tag, rpmInt32, len(all), b})
}

func (h *header) int16s(tag int, all ...int) {
	var b []byte
	for _, n := range all {
		b = binary.BigEndian.AppendUint16(b, uint16(n))
	}
	h.entries = append(h.entries, entry{tag, rpmInt16, len(all), b})
}

// bytes returns the header as it lies in a file, all of it in one region with that tag.
func (h *header) bytes(region int) []byte {
	slices.SortFunc(h.entries, func(a, b entry) int { return cmp.Compare(a.tag, b.tag) })
	var index, store []byte
	put := func(to []byte, tag, kind, at, count int) []byte {
		for _, n := range []int{tag, kind, at, count} {
			to = binary.BigEndian.AppendUint32(to, uint32(int32(n)))
		}
		return to
	}
	for _, e := range h.entries {
		for width := map[int]int{rpmInt16: 2, rpmInt32: 4}[e.kind]; width > 0 && len(store)%width != 0; {
			store = append(store, 0)
		}
		index = put(index, e.tag, e.kind, len(store), e.count)
		store = append(store, e.text...)
	}
	index = append(put(nil, region, rpmBin, len(store), 16), index...)
	store = put(store, region, rpmBin, -16*(len(h.entries)+1), 16)
	out := []byte{0x8e, 0xad, 0xe8, 1, 0, 0, 0, 0}
	out = binary.BigEndian.AppendUint32(out, uint32(len(h.entries)+1))
	out = binary.BigEndian.AppendUint32(out, uint32(len(store)))
	return append(append(out, index...), store...)
}

// rpm returns a package of version 3 of the format: lead, signature without a key, header, and a cpio by gzip.
func (e edition) rpm(t target, p pack, all []file) ([]byte, error) {
	plain := cpio(e.at.Unix(), all)
	payload := packed(plain)
	h := e.about(t, p, all)
	h.strings(5092, rpmStrings, digest(payload)) // of the payload, and by which function
	h.int32s(5093, 8)
	described := h.bytes(63)

	sum := md5.Sum(append(slices.Clone(described), payload...))
	sha := sha1.Sum(described)
	var signed header
	signed.int32s(1000, len(described)+len(payload))
	signed.int32s(1007, len(plain))
	signed.entries = append(signed.entries, entry{1004, rpmBin, 16, sum[:]})
	signed.strings(269, rpmString, hex.EncodeToString(sha[:]))
	signed.strings(273, rpmString, digest(described))
	signature := signed.bytes(62)
	for len(signature)%8 != 0 {
		signature = append(signature, 0)
	}

	lead := make([]byte, 96)
	copy(lead, []byte{0xed, 0xab, 0xee, 0xdb, 3, 0})
	binary.BigEndian.PutUint16(lead[8:], map[string]uint16{"amd64": 1, "arm64": 19}[t.arch])
	copy(lead[10:75], fmt.Sprintf("%s-%s-1", p.name, rpmVersion(e.version)))
	binary.BigEndian.PutUint16(lead[76:], 1) // Linux
	binary.BigEndian.PutUint16(lead[78:], 5) // a signature in a header
	return slices.Concat(lead, signature, described, payload), nil
}

// about returns what the header says of the package and its files.
func (e edition) about(t target, p pack, all []file) *header {
	h, at := new(header), int(e.at.Unix())
	h.strings(100, rpmStrings, "C") // the languages of what is said
	h.strings(1000, rpmString, p.name)
	h.strings(1001, rpmString, rpmVersion(e.version))
	h.strings(1002, rpmString, "1")
	h.strings(1004, rpmI18N, p.about)
	h.strings(1005, rpmI18N, p.about+".")
	h.int32s(1006, at)
	h.strings(1007, rpmString, "localhost")
	h.strings(1014, rpmString, "Apache-2.0")
	h.strings(1015, rpmString, maintainer)
	h.strings(1016, rpmI18N, "Applications/Internet")
	h.strings(1020, rpmString, home)
	h.strings(1021, rpmString, "linux")
	h.strings(1022, rpmString, rpmArch(t))
	h.strings(1044, rpmString, p.name+"-"+rpmVersion(e.version)+"-1.src.rpm")
	h.strings(1124, rpmString, "cpio")
	h.strings(1125, rpmString, "gzip")
	h.strings(1126, rpmString, strconv.Itoa(level))
	h.strings(1047, rpmStrings, p.name)
	h.int32s(1112, rpmEqual)
	h.strings(1113, rpmStrings, rpmVersion(e.version)+"-1")
	needs := []struct{ name, version string }{{"rpmlib(CompressedFileNames)", "3.0.4-1"}, {"rpmlib(FileDigests)", "4.6.0-1"}, {"rpmlib(PayloadFilesHavePrefix)", "4.0-1"}}
	if strings.Contains(e.version, "-") {
		needs = append(needs, struct{ name, version string }{"rpmlib(TildeInVersions)", "4.10.0-1"})
	}
	var names, versions []string
	var how []int
	for _, n := range needs {
		names, versions, how = append(names, n.name), append(versions, n.version), append(how, rpmLib|rpmLess|rpmEqual)
	}
	h.strings(1049, rpmStrings, names...)
	h.int32s(1048, how...)
	h.strings(1050, rpmStrings, versions...)

	var dirs, bases, digests, links, owners, langs []string
	var sizes, modes, devices, times, flags, inodes, at32, verify, numbers []int
	total := 0
	for i, f := range all {
		dir := "/" + path.Dir(f.name) + "/"
		if !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
		bases, at32 = append(bases, path.Base(f.name)), append(at32, slices.Index(dirs, dir))
		sizes, modes, times = append(sizes, len(f.text)), append(modes, 0o100000|int(f.mode)), append(times, at)
		digests, links, owners, langs = append(digests, digest(f.text)), append(links, ""), append(owners, "root"), append(langs, "")
		devices, inodes, flags, verify, numbers = append(devices, 1), append(inodes, i+1), append(flags, 0), append(verify, -1), append(numbers, 0)
		total += len(f.text)
	}
	h.int32s(1009, total)
	h.int32s(1028, sizes...)
	h.int16s(1030, modes...)
	h.int16s(1033, numbers...)
	h.int32s(1034, times...)
	h.strings(1035, rpmStrings, digests...)
	h.strings(1036, rpmStrings, links...)
	h.int32s(1037, flags...)
	h.strings(1039, rpmStrings, owners...)
	h.strings(1040, rpmStrings, owners...)
	h.int32s(1045, verify...)
	h.int32s(1095, devices...)
	h.int32s(1096, inodes...)
	h.strings(1097, rpmStrings, langs...)
	h.int32s(1116, at32...)
	h.strings(1117, rpmStrings, bases...)
	h.strings(1118, rpmStrings, dirs...)
	h.int32s(5011, 8) // files' digests are SHA-256
	return h
}

// cpio returns files in the form "newc", with the prefix that packages have.
func cpio(at int64, all []file) []byte {
	var b bytes.Buffer
	put := func(name string, inode int, mode, at int64, text []byte) {
		fmt.Fprintf(&b, "070701%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x", inode, mode, 0, 0, 1, at, len(text), 0, 0, 0, 0, len(name)+1, 0)
		b.WriteString(name + "\x00")
		for b.Len()%4 != 0 {
			b.WriteByte(0)
		}
		b.Write(text)
		for b.Len()%4 != 0 {
			b.WriteByte(0)
		}
	}
	for i, f := range all {
		put("./"+f.name, i+1, 0o100000|f.mode, at, f.text)
	}
	put("TRAILER!!!", 0, 0, 0, nil)
	return b.Bytes()
}
