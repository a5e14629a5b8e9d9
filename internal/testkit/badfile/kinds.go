package badfile

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
)

// kind is a way in which a file is bad.
type kind struct {
	is                    string                               // completes "the file"
	missing, folder, huge bool                                 // what it is: huge takes, or claims to take, far more room than it has
	only                  string                               // extension that it is of; "": that of the good file
	text                  func(ext string, good []byte) []byte // of the file
	place                 func(name string) error              // makes what is no file, in the place of text
}

const (
	hugeSize = 3 << 30 // of a file of holes, which takes no room
	junkSize = 5000
)

// kinds are eight ways, some of them of several kinds of file. First is one that whoever writes over a file does not mind.
var kinds = []kind{
	{is: "is empty", text: func(string, []byte) []byte { return nil }},
	{is: "does not exist", place: func(string) error { return nil }, missing: true},
	{is: "is a folder", place: func(name string) error { return os.Mkdir(name, 0o755) }, folder: true},
	{is: "is a link to nothing", place: func(name string) error { return os.Symlink("nothing-is-here", name) }},
	{is: "is junk", text: junk},
	{is: "is junk", only: ".parquet", text: junk},
	{is: "is cut off", text: cut},
	{is: "is huge", huge: true, text: cut},
	{is: "claims to be huge", huge: true, only: ".npy", text: func(string, []byte) []byte { return npy("(4294967296, 1000)", nil) }},
	{is: "claims to be huge", huge: true, only: ".parquet", text: func(string, []byte) []byte { return []byte("PAR1\x15\x02\x19\xff\xff\xff\x7fPAR1") }},
	{is: "has other columns", text: others},
	{is: "has no numbers", only: ".npy", text: func(string, []byte) []byte { return npy("(2, 2)", []float64{math.NaN(), math.Inf(1), 1e300, 0}) }},
}

func junk(string, []byte) []byte {
	r, out := rand.New(rand.NewPCG(1, 2)), make([]byte, junkSize)
	for i := range out {
		out[i] = byte(r.Uint64())
	}
	return out
}

// cut returns the first half of the good file, where there is one.
func cut(ext string, good []byte) []byte {
	if len(good) > 0 {
		return good[:len(good)/2]
	}
	return map[string][]byte{".json": []byte(`{"version": 1, "na`), ".toml": []byte("version = 1\n[questi")}[ext]
}

// others are of the right form, and nothing else is right.
func others(ext string, _ []byte) []byte {
	switch ext {
	case ".json":
		return []byte(`{"surprise":[1,2,3],"number":1e999}` + "\n")
	case ".toml":
		return []byte("surprise = [1, 2, nan]\n")
	}
	return []byte("surprise,other\nNaN,Inf\n-Inf,1e400\n1e-45,3e38\n")
}

// npy returns a file of numbers that says to have such a shape.
func npy(shape string, numbers []float64) []byte {
	header := "{'descr': '<f8', 'fortran_order': False, 'shape': " + shape + ", }\n"
	out := append([]byte("\x93NUMPY\x01\x00"), byte(len(header)), 0)
	out = append(out, header...)
	for _, x := range numbers {
		out = binary.LittleEndian.AppendUint64(out, math.Float64bits(x))
	}
	return out
}

// names are of the bad files: with the good one's extension, and of tables with those that they may have, too.
func (k kind) names(good string) []string {
	ext := filepath.Ext(good)
	switch {
	case k.only == "":
		return []string{"bad" + ext}
	case ext == ".csv":
		return []string{"bad" + k.only}
	}
	return nil
}

// write puts the bad file there.
func (k kind) write(name, good string) error {
	sweep(name)
	if k.place != nil {
		return k.place(name)
	}
	text, err := os.ReadFile(good)
	if err != nil {
		text = nil // there is no good one
	}
	if err := os.WriteFile(name, k.text(filepath.Ext(name), text), 0o600); err != nil || !strings.HasPrefix(k.is, "is huge") {
		return err
	}
	return os.Truncate(name, hugeSize)
}
