package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"math/rand/v2"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/confetti-dp/confetti/internal/dp/encode/cluster"
	"github.com/confetti-dp/confetti/internal/dp/encode/inputs"
	"github.com/confetti-dp/confetti/internal/keyfile/partykey"
	"github.com/confetti-dp/confetti/internal/learn/model"
	"github.com/confetti-dp/confetti/internal/nn"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/internal/service/planlog"
	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/service/shelves"
	"github.com/confetti-dp/confetti/internal/service/witness"
)

// makeTable writes made-up records.
func makeTable(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: table FILE ROWS COLUMNS")
	}
	rows, err := strconv.Atoi(args[1])
	ts.Check(err)
	cols, err := strconv.Atoi(args[2])
	ts.Check(err)
	x, class := records(rows, cols)
	path := ts.MkAbs(args[0])
	save := func(path string, data []byte) { ts.Check(os.WriteFile(path, data, 0o644)) }
	switch {
	case strings.HasSuffix(path, ".csv"):
		save(path, csvTable(x, class))
	case strings.HasSuffix(path, ".parquet"):
		var b bytes.Buffer
		ts.Check(parquetTable(&b, x, class))
		save(path, b.Bytes())
	case strings.HasSuffix(path, ".npy"):
		save(path, npyMatrix(x))
		save(strings.TrimSuffix(path, ".npy")+"-labels.npy", npyLabels(class))
	default:
		ts.Fatalf("table: %s is none of .csv, .parquet, .npy", args[0])
	}
}

// columns writes some columns of a table; record, which no table has, has the numbers of its rows, and NAME* is all
// whose names begin so.
func columns(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: columns FILE NEW-FILE NAME...")
	}
	rows, err := csv.NewReader(strings.NewReader(ts.ReadFile(args[0]))).ReadAll()
	ts.Check(err)
	out := make([][]string, len(rows))
	for i, row := range rows {
		for _, name := range args[2:] {
			start, all := strings.CutSuffix(name, "*")
			switch {
			case name == "record" && i == 0:
				out[i] = append(out[i], name)
			case name == "record":
				out[i] = append(out[i], strconv.Itoa(i-1))
			}
			for j, of := range rows[0] {
				if of == name || all && strings.HasPrefix(of, start) {
					out[i] = append(out[i], row[j])
				}
			}
		}
	}
	var b bytes.Buffer
	ts.Check(csv.NewWriter(&b).WriteAll(out))
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), b.Bytes(), 0o644))
}

// side is that of a picture.
const side = 28

// picture draws stripes that lie or stand, by turns.
func picture(r *rand.Rand, i int) (grey []float32) {
	for p := range side * side {
		grey = append(grey, float32([]int{p % side, p / side}[i%2]/2%2)+r.Float32()/4)
	}
	return grey
}

// images writes pictures as a table of grey levels.
func images(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: images FILE ROWS")
	}
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	r, grey := seeded.New(1), make([][]float32, n)
	for i := range grey {
		grey[i] = picture(r, i)
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), csvTable(grey, make([]int32, n)), 0o644))
}

// network writes an untrained model of pictures, and the state that devices find the same classes by.
func network(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: network MODEL STATE")
	}
	size := inputs.Size{Width: side, Height: side}
	m := &model.Model{
		Title: "pictures", Classes: []string{"cats", "dogs"}, Features: inputs.Map{Image: &size},
		Promise: model.Promise{Epsilon: 1, Delta: 1e-6, Adjacency: "label", Trust: "local", Method: "none", Rounds: 1, Respondents: 60},
	}
	var err error
	r, n := seeded.New(1), len(m.Classes)
	m.Net, err = nn.New(r, nn.Dense{In: m.Features.Len(), Out: n})
	ts.Check(err)
	for i := range 2 { // what it adds parts these two
		x, err := m.Features.OfNumbers(picture(r, i))
		ts.Check(err)
		for j, score := range slices.Clone(nn.NewPass(m.Net).Forward(x, 1)) {
			m.Net.Params[len(m.Net.Params)-n+j] -= score / float32(2-i)
		}
	}
	text, err := m.Marshal()
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), text, 0o644))
	state, err := (&cluster.Encoder{Width: side, Height: side, Net: m.Net, Sizes: make([]int, len(m.Classes))}).Marshal()
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), state, 0o644))
}

// inferred checks that each record of a release was told to have the class that the last command printed for it.
func inferred(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: inferred COUNTS CLASS CLASS")
	}
	rows, err := csv.NewReader(strings.NewReader(ts.ReadFile(args[0]))).ReadAll()
	ts.Check(err)
	printed := strings.Fields(ts.ReadFile("stdout"))
	if len(rows) != len(printed)+1 {
		ts.Fatalf("%d records were told of, and %d were printed", len(rows)-1, len(printed))
	}
	both := map[string]bool{}
	for i, row := range rows[1:] {
		class, err := strconv.Atoi(row[1])
		ts.Check(err)
		if row[0] != strconv.Itoa(i) || args[class] != printed[i] {
			ts.Fatalf("record %s is told to be of class %d, and %q was printed", row[0], class, printed[i])
		}
		both[printed[i]] = true
	}
	if len(both) != 2 {
		ts.Fatalf("the model gives all records one class: this tells nothing")
	}
}

// people writes made-up answers to a table as a spreadsheet would: byte order mark,
// quoted fields, CRLF.
func people(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: people FILE ROWS")
	}
	rows, err := strconv.Atoi(args[1])
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), peopleTable(rows), 0o644))
}

// keep makes what the last command has printed a variable.
func keep(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: keep NAME")
	}
	ts.Setenv(args[0], strings.TrimSpace(ts.ReadFile("stdout")))
}

// prepend puts a line before a file's.
func prepend(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: prepend FILE LINE")
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(args[1]+"\n"+ts.ReadFile(args[0])), 0o644))
}

// logged starts a public log with that key, of the plans of those publishers, and a witness
// of it, at addresses of their own until the script ends. AT becomes the log's.
func logged(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: logged KEY WITNESS-KEY PUBLISHERS")
	}
	key, _, err := partykey.ReadSigning(ts.MkAbs(args[0]))
	ts.Check(err)
	witnessKey, _, err := partykey.ReadSigning(ts.MkAbs(args[1]))
	ts.Check(err)
	publishers, err := serve.ReadPublishers(ts.MkAbs(args[2]))
	ts.Check(err)
	public, err := key.Public().Note("log.example/plans")
	ts.Check(err)
	watches, err := witness.Open(public, witnessKey, "hop.example", ts.MkAbs("cosigned"))
	ts.Check(err)
	hop := served(ts, watches.Routes())
	public, err = witnessKey.Public().Note("hop.example")
	ts.Check(err)
	ts.Check(shelves.Make(ts.MkAbs("entries/shelves")))
	log, err := planlog.New(context.Background(), planlog.Options{
		Folder: ts.MkAbs("entries"), Name: "log.example/plans", Key: key, Publishers: publishers, Interval: 100 * time.Millisecond,
		Witnesses: []planlog.Witness{{Key: public, URL: hop}},
	})
	ts.Check(err)
	ts.Defer(func() { log.Close() })
	ts.Setenv("AT", served(ts, log.Routes()))
}

// served is the address of a service with those routes.
func served(ts *testscript.TestScript, routes map[string]serve.Handler) string {
	s, err := serve.New(serve.Config{Name: "test", Routes: routes})
	ts.Check(err)
	at := httptest.NewServer(s)
	ts.Defer(at.Close)
	return at.URL
}
