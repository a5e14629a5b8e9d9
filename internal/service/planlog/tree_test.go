package planlog

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"fmt"
	"testing"

	"github.com/transparency-dev/formats/log"
	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/confetti-dp/confetti/internal/testkit/costlimit"
	"github.com/confetti-dp/confetti/internal/wire/relay"
	"github.com/confetti-dp/confetti/plan"
)

// The digests are over the checkpoint and the files that github.com/transparency-dev/tessera v1.0.4 wrote in a folder
// for as many entries, each tile's path, length and content: clients, witnesses and auditors see the same bytes.
func TestBytesAreThoseOfAnotherLog(t *testing.T) {
	private, err := relay.NewSignKey(ed25519.NewKeyFromSeed(bytes.Repeat([]byte{3}, 32))).Note("log.example/plans")
	if err != nil {
		t.Fatal(err)
	}
	signer, err := note.NewSigner(private)
	if err != nil {
		t.Fatal(err)
	}
	var all tree
	var entries [][]byte
	for _, c := range []struct {
		size int64
		want string
	}{
		{1, "8b2a6ebeddd3797da46be37bc581335e8c57da96543896561e1e602f9265c293"},
		{2, "d5c98e8684e0089c2b61bcce3691420cd6e0e99011252099dfb71ac42be0d6f0"},
		{5, "05cb0120c302abbb2fed483d7b8268f49ddc8a7455037b6d83501295216bbb9d"},
		{255, "a9f6119e38f50b3b175e3c282c0f4ef83b1137b15505890b156654fce446e9ef"},
		{256, "bddb55618f9bff36c28b6155e06906c8749f23eb16917fe236e1e37153c2149b"},
		{257, "806f1209e17acca7ecd327c14f25e75004ec31e947159740e1d47fe19b1f6740"},
		{700, "063d7b7db29548e3f56844cf2291553cd8ed68a01645adcf984f0ab6b9b9d1ef"},
		{65536, "20065b163a8b9be168d427de064d73e33e4e7b549725cf60b874aa9ec7b41346"},
		{66000, "7406c015ff31d4d456c2dfcac2b1223cfb8df4374de56fd1cf8cae0095d82157"},
	} {
		for all.size < c.size {
			e := plan.Entry{Plan: sha256.Sum256(fmt.Appendf(nil, "plan %d", all.size)), Digest: sha256.Sum256(fmt.Appendf(nil, "text %d", all.size))}
			entries = append(entries, e.Marshal())
			if err := all.add(e.Marshal()); err != nil {
				t.Fatal(err)
			}
		}
		h := sha256.New()
		put := func(tile tlog.Tile, text []byte) {
			if again, err := parseTile(tilePath(tile)); err != nil || again != tile || !within(tile, c.size) {
				t.Fatalf("%s is read as %+v: %v", tilePath(tile), again, err)
			}
			fmt.Fprintf(h, "%s %d\n", tilePath(tile), len(text))
			h.Write(text)
		}
		root, err := tlog.TreeHash(c.size, &all)
		if err != nil {
			t.Fatal(err)
		}
		signed, err := note.Sign(&note.Note{Text: string(log.Checkpoint{Origin: "log.example/plans", Size: uint64(c.size), Hash: root[:]}.Marshal())}, signer)
		if err != nil {
			t.Fatal(err)
		}
		h.Write(signed)
		for _, tile := range tlog.NewTiles(height, 0, c.size) {
			if tile.L == 0 {
				var bundle []byte
				for _, one := range entries[tile.N*width:][:tile.W] {
					bundle = appendEntry(bundle, one)
				}
				put(tlog.Tile{H: height, L: bundles, N: tile.N, W: tile.W}, bundle)
			}
			text, err := tlog.ReadTileData(tile, &all)
			if err != nil {
				t.Fatal(err)
			}
			put(tile, text)
		}
		if got := fmt.Sprintf("%x", h.Sum(nil)); got != c.want {
			t.Errorf("of %d entries: %s, want %s", c.size, got, c.want)
		}
	}
}

// A path that is another one's, or none, and a tile beyond the tree, are refused: nothing is read for them.
func TestPathsOfTiles(t *testing.T) {
	for _, path := range []string{
		"tile/8/0/000", "tile/data/000", "tile/0/0", "tile/0/x000/000", "tile/0/001.p/0", "tile/0/001.p/256", "tile/-1/000", "tile//000", "tile/0/-01",
		"tile/entries/../0/000", "tile/0/000.p/01", "checkpoint", "tile/0/x999/x999/x999/x999/x999/x999/x999/x999/x999/999",
	} {
		if tile, err := parseTile(path); err == nil {
			t.Errorf("%s is %+v", path, tile)
		}
	}
	for path, want := range map[string]bool{
		"tile/0/000": true, "tile/0/001.p/44": true, "tile/0/001.p/45": false, "tile/0/001": false, "tile/1/000.p/1": true, "tile/1/000.p/2": false,
		"tile/entries/001.p/44": true, "tile/entries/001.p/45": false, "tile/63/000.p/1": false, "tile/9/x999/x999/x999/x999/x999/999": false,
	} {
		if tile, err := parseTile(path); err != nil || within(tile, 300) != want {
			t.Errorf("%s of 300 entries: %v, %v", path, !want, err)
		}
	}
}

func FuzzBundle(f *testing.F) {
	f.Add([]byte("\x00\x01a\x00\x00"), uint8(2))
	f.Add([]byte("\xff\xffa"), uint8(1))
	f.Fuzz(func(t *testing.T, text []byte, n uint8) {
		costlimit.Heap(t, 64, len(text)+64, func() {
			all, err := splitBundle(text, int(n))
			if err != nil {
				return
			}
			var again []byte
			for _, one := range all {
				again = appendEntry(again, one)
			}
			if !bytes.Equal(again, text) || len(all) != int(n) {
				t.Errorf("%d entries of %x are written as %x", n, text, again)
			}
		})
	})
}

func FuzzTilePath(f *testing.F) {
	f.Add("tile/entries/x001/x234/067.p/5")
	f.Add("tile/0/000")
	f.Fuzz(func(t *testing.T, path string) {
		costlimit.Heap(t, 64, len(path)+64, func() {
			if tile, err := parseTile(path); err == nil && (tilePath(tile) != path || within(tile, 1<<40) && tile.N > 1<<40) {
				t.Errorf("%q is %+v", path, tile)
			}
		})
	})
}
