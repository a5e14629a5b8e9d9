package verify_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/internal/plan/author"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/release/page"
	"github.com/confetti-dp/confetti/internal/release/pagemarks"
	"github.com/confetti-dp/confetti/internal/release/results"
	"github.com/confetti-dp/confetti/internal/release/sheets"
	"github.com/confetti-dp/confetti/internal/release/statement"
	"github.com/confetti-dp/confetti/internal/table/columnar"
	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/internal/testkit/releasetest"
	"github.com/confetti-dp/confetti/internal/wire/relay"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/question/histogram"
	"github.com/confetti-dp/confetti/release"
	"github.com/confetti-dp/confetti/release/verify"
	"github.com/confetti-dp/confetti/simulate"
)

const (
	people = 600
	parq   = "counts.parquet"
	drawn  = "page " + release.PageFile
)

// key is one that signs, known to everybody.
func key(seed byte) ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed(bytes.Repeat([]byte{seed}, ed25519.SeedSize))
}

func public(seed byte) string { return plan.Publisher(key(seed).Public().(ed25519.PublicKey)) }

const publisher, stranger = 1, 2

// good is a release as release fetch keeps it, of a collection of two hops.
type good struct {
	signed plan.Signed
	files  map[string][]byte
}

// kept makes one: with answers that were encoded, randomized, sealed and mixed, and the receipts that hops sign of
// what they mixed.
func kept(t testing.TB) good {
	t.Helper()
	p := example.Histogram(example.OneHot(example.Drinks()))
	p.Crowd.Minimum, p.Budget.Epsilon, p.Budget.Adjacency = people, 4, "replacement"
	north, errNorth := relay.GenerateSignKey()
	south, errSouth := relay.GenerateSignKey()
	must(t, errors.Join(errNorth, errSouth))
	p.Route.Mix.Instances[0].Hops[0].Receipts, p.Route.Mix.Instances[0].Hops[1].Receipts = north.Public().String(), south.Public().String()
	p.Times.Opens, p.Times.Closes = time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC), time.Date(2026, 12, 8, 0, 0, 0, 0, time.UTC)
	keys, err := simulate.NewKeys(&p)
	must(t, err)
	p.Analyzer.Releases = example.Releaser
	p = example.Design(t, p)
	proto, err := protocol.New(p)
	must(t, err)
	values := make([]question.Value, people)
	for i := range values {
		values[i] = histogram.Answers{Values: []any{[]string{"coffee", "coffee", "tea", "beer"}[i%4]}}
	}
	c, err := simulate.Full(proto, keys, values, 1, func(string, int, int) {})
	must(t, err)
	r, model, err := releasetest.Publish(proto, c.Crowds, results.Public{})
	must(t, err)
	r.Created = time.Date(2026, 12, 8, 1, 0, 0, 0, time.UTC)
	r.Provenance = release.Provenance{Software: "confetti test", Randomness: "fresh randomness"}
	sheet, err := results.Beside(model, results.Public{})
	must(t, err)
	g := good{plan.Sign(p, key(publisher)), map[string][]byte{verify.PlanFile: author.TOML(p), sheets.CountsFile: sheet.Text}}
	g.files[verify.SignedFile] = append(g.signed.Marshal(), '\n')
	var text, html, columns bytes.Buffer
	must(t, errors.Join(r.WriteJSON(&text), page.WriteHTML(&html, r), columnar.Write(&columns, sheets.CountsFile, bytes.NewReader(sheet.Text))))
	g.files[release.JSONFile], g.files[release.PageFile], g.files[parq] = text.Bytes(), html.Bytes(), columns.Bytes()

	envelopes := uint64(people * p.Envelopes.PerDevice)
	first := relay.Receipt{Plan: p.Hash(), Respondents: people, In: envelopes, Out: envelopes, BatchOut: sha256.Sum256([]byte("once"))}
	one := first.Sign(north)
	second := relay.Receipt{Plan: p.Hash(), Hop: 1, Respondents: people, In: envelopes, Out: envelopes, BatchIn: first.BatchOut, BatchOut: sha256.Sum256([]byte("twice")), Previous: one.Hash()}
	receipts := relay.Receipts{Format: relay.ReceiptsFormat, Plan: p.Name(), Files: map[string]string{}, Batches: []relay.BatchReceipts{{
		SHA256: hex.EncodeToString(second.BatchOut[:]), Whole: people, Receipts: [][]byte{one.Bytes(), second.Sign(south).Bytes()},
	}}}
	for _, name := range []string{release.JSONFile, release.PageFile, sheets.CountsFile} {
		receipts.Files[verify.Format(name)] = relay.FileDigest(g.files[name])
	}
	g.files[relay.ReceiptsFile], err = receipts.Marshal()
	must(t, err)
	g.sign(g.files)
	return g
}

// sign signs what the receipts are of, as the analyzer.
func (g good) sign(files map[string][]byte) {
	files[relay.SignatureFile] = example.SignRelease(relay.ReleaseOf(g.signed.Plan.Hash(), files[relay.ReceiptsFile]))
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// look is what release verify finds of these files, for somebody who expects the publisher.
func (g good) look(files map[string][]byte) (verify.Report, error) {
	trusted := plan.Trust(public(publisher))
	return verify.Release(g.evidence(files, &trusted))
}

func (g good) evidence(files map[string][]byte, trusted *plan.Publishers) verify.Evidence {
	return verify.Evidence{
		Files: files, Trusted: trusted, Version: "confetti test", Columns: columnar.Same, Answers: results.Again, Words: results.Words,
		State: func(io.Writer, string) error { return errors.New("there is none") },
		Draw: func(signed plan.Signed, json, audit []byte) ([]byte, error) {
			r, err := release.Read(bytes.NewReader(json))
			if err != nil {
				return nil, err
			}
			words, err := statement.New(signed, audit)
			if err == nil {
				err = words.Write(&r)
			}
			var b bytes.Buffer
			if err == nil {
				err = page.WriteOf(&b, r, json, "confetti test")
			}
			return b.Bytes(), err
		},
	}
}

// forgery is a change of a release's files. Whoever makes it renews the digests in the receipts, which nobody but
// the analyzer signs; a dishonest analyzer signs them too, and draws the page of what it has changed.
type forgery struct {
	name   string
	change func(map[string][]byte)
	// finds is the finding that refuses it though the analyzer signs it, or an error's words where it cannot be
	// read; numbers: that nobody has signed it, and an analyzer may.
	finds string
	leaf  bool // of one leaf, which may be refused for its form, too
}

const (
	numbers = "numbers"
	unread  = "unread: "
	open    = "" // of a leaf that nobody but the analyzer knows: it holds if the analyzer has signed it
)

// renewed brings the receipts' digests to what the files are now.
func renewed(files map[string][]byte) {
	var r relay.Receipts
	if json.Unmarshal(files[relay.ReceiptsFile], &r) != nil || r.Files == nil {
		return
	}
	for _, name := range []string{release.JSONFile, release.PageFile, sheets.CountsFile} {
		if _, there := r.Files[verify.Format(name)]; there && files[name] != nil {
			r.Files[verify.Format(name)] = relay.FileDigest(files[name])
		}
	}
	if text, err := r.Marshal(); err == nil {
		files[relay.ReceiptsFile] = text
	}
}

// leaves calls one for each leaf of a JSON value, with what sets it.
func leaves(at string, v any, set func(any), one func(at string, v any, set func(any))) {
	switch v := v.(type) {
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			leaves(at+"."+k, v[k], func(x any) { v[k] = x }, one)
		}
	case []any:
		for i := range v {
			leaves(fmt.Sprintf("%s[%d]", at, i), v[i], func(x any) { v[i] = x }, one)
		}
	default:
		one(at, v, set)
	}
}

// other is another value of the same type.
func other(v any) any {
	switch v := v.(type) {
	case bool:
		return !v
	case float64:
		return v + 1
	case string:
		if at, err := time.Parse(time.RFC3339, v); err == nil {
			return at.Add(-10000 * time.Hour).Format(time.RFC3339)
		}
		return v + "x"
	}
	return "x"
}

// class is that of a leaf: its path without the numbers of rows.
func class(at string) string { return regexp.MustCompile(`\[\d+\]`).ReplaceAllString(at, "[]") }

// ofEachLeaf has one forgery for each leaf of a JSON file, which the finding of its class refuses. Of rows of alike
// leaves three are enough.
func ofEachLeaf(file string, text []byte, finds func(class string) string) (all []forgery) {
	var v any
	if json.Unmarshal(text, &v) != nil {
		panic(file)
	}
	seen := map[string]int{}
	leaves(file, v, nil, func(at string, _ any, _ func(any)) {
		if seen[class(at)]++; seen[class(at)] > 3 {
			return
		}
		all = append(all, forgery{at, func(files map[string][]byte) {
			var v any
			json.Unmarshal(files[file], &v)
			leaves(file, v, nil, func(here string, old any, set func(any)) {
				if here == at {
					if set(other(old)); strings.HasSuffix(at, ".epsilon") { // a larger one is what an older program proved
						set(old.(float64) / 2)
					}
				}
			})
			files[file], _ = json.MarshalIndent(v, "", "  ")
		}, finds(class(at)), true})
	})
	return all
}

// ofEachCell has one for each kind of cell of the table: each column of its first and last rows.
func ofEachCell(text []byte) (all []forgery) {
	rows, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil {
		panic(err)
	}
	for _, i := range []int{0, 1, len(rows) - 1} {
		for j := range rows[i] {
			all = append(all, forgery{fmt.Sprintf("counts.csv row %d, %s", i, rows[0][j]), func(files map[string][]byte) {
				rows, _ := csv.NewReader(bytes.NewReader(files[sheets.CountsFile])).ReadAll()
				if x, err := strconv.ParseFloat(rows[i][j], 64); err == nil {
					rows[i][j] = strconv.FormatFloat(x+7, 'g', -1, 64)
				} else {
					rows[i][j] += "x"
				}
				var b bytes.Buffer
				csv.NewWriter(&b).WriteAll(rows)
				files[sheets.CountsFile] = b.Bytes()
			}, "answers", false})
		}
	}
	return all
}

// inJSON changes release.json.
func inJSON(change func(map[string]any)) func(map[string][]byte) {
	return func(files map[string][]byte) {
		var v map[string]any
		json.Unmarshal(files[release.JSONFile], &v)
		change(v)
		files[release.JSONFile], _ = json.MarshalIndent(v, "", "  ")
	}
}

// ofGuarantees changes each guarantee's numbers.
func ofGuarantees(change func(g map[string]any)) func(map[string][]byte) {
	return inJSON(func(v map[string]any) {
		for _, g := range v["guarantees"].([]any) {
			change(g.(map[string]any))
		}
	})
}

// first returns the first of a list in a JSON object.
func first(v map[string]any, key string) map[string]any { return v[key].([]any)[0].(map[string]any) }

func replaced(file, old, new string) func(map[string][]byte) {
	return func(files map[string][]byte) {
		if !bytes.Contains(files[file], []byte(old)) {
			panic(file + " has no " + old)
		}
		files[file] = bytes.Replace(files[file], []byte(old), []byte(new), 1)
	}
}

func set(file, text string) func(map[string][]byte) {
	return func(files map[string][]byte) { files[file] = []byte(text) }
}

func without(file string) func(map[string][]byte) {
	return func(files map[string][]byte) { delete(files, file) }
}

// inReceipts changes the receipts.
func inReceipts(change func(*relay.Receipts)) func(map[string][]byte) {
	return func(files map[string][]byte) {
		r, err := relay.ParseReceipts(files[relay.ReceiptsFile])
		if err != nil {
			panic(err)
		}
		change(&r)
		files[relay.ReceiptsFile], _ = r.Marshal()
	}
}

// forgeries are by hand, beside those of each leaf and cell.
func forgeries(g good) []forgery {
	body := "</body>"
	all := []forgery{
		{"every count is 999999", func(files map[string][]byte) {
			files[sheets.CountsFile] = regexp.MustCompile(`\d+\.\d+`).ReplaceAll(files[sheets.CountsFile], []byte("999999"))
		}, "answers", false},
		{"counts.csv is empty", set(sheets.CountsFile, ""), "answers", false},
		{"counts.csv is a formula", set(sheets.CountsFile, "=cmd|' /C calc'!A0\n"), "answers", false},
		{"counts.parquet is rubbish", set(parq, "rubbish"), parq, false},
		{"counts.parquet of another table", func(files map[string][]byte) {
			var b bytes.Buffer
			columnar.Write(&b, sheets.CountsFile, bytes.NewReader(bytes.Replace(files[sheets.CountsFile], []byte("tea"), []byte("gin"), 1)))
			files[parq] = b.Bytes()
		}, parq, false},
		{"another page, with a script", set(release.PageFile, "<h1>epsilon 0.01</h1><script>alert(1)</script>"), drawn, false},
		{"a script in the page", replaced(release.PageFile, body, "<script>alert(1)</script>"+body), drawn, false},
		{"a handler in the page", replaced(release.PageFile, "<main>", `<main onclick="alert(1)">`), drawn, false},
		{"an image from elsewhere", replaced(release.PageFile, body, `<img src="https://elsewhere.example/x.png">`+body), drawn, false},
		{"a drawn image from elsewhere", replaced(release.PageFile, body, `<svg><image href="https://elsewhere.example/x.png"/></svg>`+body), drawn, false},
		{"a drawn image that is a document", replaced(release.PageFile, body, `<svg><image href="data:image/svg+xml;base64,PHN2Zz4="/></svg>`+body), drawn, false},
		{"a drawn image by a link", replaced(release.PageFile, body, `<svg><image xlink:href="data:image/png;base64,AAAA"/></svg>`+body), drawn, false},
		{"a link to elsewhere", replaced(release.PageFile, body, `<a href="https://elsewhere.example">see</a>`+body), drawn, false},
		{"a style that asks elsewhere", replaced(release.PageFile, "</style>", "p{background:url(https://elsewhere.example)}</style>"), drawn, false},
		{"a page that leads elsewhere", replaced(release.PageFile, "<head>", `<head><meta http-equiv="refresh" content="0;url=https://elsewhere.example">`), drawn, false},
		{"a page of another release", func(files map[string][]byte) {
			files[release.PageFile] = regexp.MustCompile(`(name="`+pagemarks.DigestName+`" content=")[0-9a-f]{4}`).ReplaceAll(files[release.PageFile], []byte("${1}0000"))
		}, drawn, false},
		{"a page that says other numbers", replaced(release.PageFile, "<h1>", "<h1>NOT "), drawn + " again", false},
		{"a template in the page", replaced(release.PageFile, body, `<iframe srcdoc="x"></iframe>`+body), drawn, false},
		{"the page is missing", without(release.PageFile), "missing", false},
		{"the table is missing", without(sheets.CountsFile), "missing", false},
		{"a file too many", set("results.csv", "tea,99\n"), "surplus", false},
		{"an audit that nobody signed for", set(release.AuditFile, "{}"), release.AuditFile, false},
		{"a study's release that nobody signed for", func(files map[string][]byte) { files["study.json"] = files[release.JSONFile] }, "study.json", false},
		{"evidence that is none", set(relay.EvidenceFile, "evidence"), "log", false},
		{"epsilons divided by 10", ofGuarantees(func(g map[string]any) {
			if e, ok := g["epsilon"].(float64); ok {
				g["epsilon"] = e / 10
			}
		}), "guarantees", false},
		{"deltas divided by 10", ofGuarantees(func(g map[string]any) { g["delta"] = g["delta"].(float64) / 10 }), "guarantees", false},
		{"a thousand million others", ofGuarantees(func(g map[string]any) { g["users"] = 1e9 }), "guarantees", false},
		{"another adjacency", ofGuarantees(func(g map[string]any) { g["adjacency"] = "removal" }), "guarantees", false},
		{"another trust", ofGuarantees(func(g map[string]any) { g["trust"] = "no shuffler" }), "guarantees", false},
		{"more rounds", ofGuarantees(func(g map[string]any) { g["rounds"] = 1000 }), "guarantees", false},
		{"one guarantee more", inJSON(func(v map[string]any) {
			gs := v["guarantees"].([]any)
			text, _ := json.Marshal(gs[0])
			var more map[string]any
			json.Unmarshal(text, &more)
			more["observer"] = "anybody"
			more["epsilon"] = 0.01
			v["guarantees"] = append([]any{more}, gs...)
		}), "guarantees", false},
		{"one guarantee twice", inJSON(func(v map[string]any) {
			gs := v["guarantees"].([]any)
			v["guarantees"] = append(gs, gs[0])
		}), "guarantees", false},
		{"one guarantee less", inJSON(func(v map[string]any) { v["guarantees"] = v["guarantees"].([]any)[1:] }), "guarantees", false},
		{"no guarantee", inJSON(func(v map[string]any) { v["guarantees"] = []any{} }), unread + "guarantees is empty", false},
		{"a verdict of its own", inJSON(func(v map[string]any) { v["guarantees"].([]any)[0].(map[string]any)["verdict"] = "epsilon 0.01" }), unread + "unknown field", false},
		{"a note", inJSON(func(v map[string]any) { v["notes"] = []any{"It is as safe as can be."} }), unread + "unknown field", false},
		{"a label of the first number", inJSON(func(v map[string]any) { first(v, "headline")["label"] = "Nobody" }), unread + "unknown field", false},
		{"a note of the first number", inJSON(func(v map[string]any) { first(v, "headline")["note"] = "Sure." }), unread + "unknown field", false},
		{"a title of the answers", inJSON(func(v map[string]any) { first(v, "sections")["title"] = "Safe" }), unread + "unknown field", false},
		{"a title of a table", inJSON(func(v map[string]any) { first(first(v, "sections"), "tables")["title"] = "Safe" }), unread + "unknown field", false},
		{"columns of a table", inJSON(func(v map[string]any) { first(first(v, "sections"), "tables")["columns"] = []any{} }), unread + "unknown field", false},
		{"words about a figure", inJSON(func(v map[string]any) { first(first(v, "sections"), "figures")["alt"] = "Safe" }), unread + "unknown field", false},
		{"a number of another kind", inJSON(func(v map[string]any) { first(v, "headline")["name"] = "accuracy" }), "names", false},
		{"a number of another attribute", inJSON(func(v map[string]any) { first(v, "headline")["name"] = "attribute_2_largest" }), "names", false},
		{"a section of another kind", inJSON(func(v map[string]any) { first(v, "sections")["name"] = "classification" }), "names", false},
		{"a number twice", inJSON(func(v map[string]any) { v["headline"] = append(v["headline"].([]any), first(v, "headline")) }), unread + "two findings of one name", false},
		{"what a simulation knows", inJSON(func(v map[string]any) { first(v, "headline")["truth"] = 1 }), "names", false},
		{"a value that is not asked about", inJSON(func(v map[string]any) {
			row := first(first(v, "sections"), "tables")["rows"].([]any)[0].([]any)
			row[0].(map[string]any)["key"] = "poison"
		}), "names", false},
		{"two values exchanged", inJSON(func(v map[string]any) {
			rows := first(first(v, "sections"), "tables")["rows"].([]any)
			one, other := rows[0].([]any)[0].(map[string]any), rows[1].([]any)[0].(map[string]any)
			one["key"], other["key"] = other["key"], one["key"]
		}), "answers", false},
		{"a remark", inJSON(func(v map[string]any) { v["remarks"] = []any{"It is as safe as can be."} }), unread + "remarks are made of what is no simulation", false},
		{"a section of protection", inJSON(func(v map[string]any) { v["protection"] = []any{} }), unread + "unknown field", false},
		{"a crowd less", inJSON(func(v map[string]any) { v["crowds"] = []any{} }), unread + "crowds is empty", false},
		{"a crowd more", inJSON(func(v map[string]any) { v["crowds"] = append(v["crowds"].([]any), map[string]any{"smallest": people}) }), "crowds", false},
		{"a larger crowd", inJSON(func(v map[string]any) { v["crowds"].([]any)[0].(map[string]any)["smallest"] = 10 * people }), "crowds", false},
		{"a withheld crowd", inJSON(func(v map[string]any) { v["crowds"].([]any)[0].(map[string]any)["smallest"] = 0 }), "crowds", false},
		{"fragments dropped", inJSON(func(v map[string]any) { v["dropped"] = 3 }), "crowds", false},
		{"another kind", inJSON(func(v map[string]any) { v["kind"] = "density" }), unread + "unknown field", false},
		{"a simulation", inJSON(func(v map[string]any) { v["source"] = "simulation" }), "kind", false},
		{"a trial", inJSON(func(v map[string]any) { v["source"] = "trial" }), "kind", false},
		{"synthetic people", inJSON(func(v map[string]any) { v["synthetic"] = true }), "kind", false},
		{"made in 1999", inJSON(func(v map[string]any) { v["created"] = "1999-01-01T00:00:00Z" }), "kind", false},
		{"of another plan", inJSON(func(v map[string]any) { v["plan"] = strings.Repeat("0", 64) }), "plan", false},
		{"a million respondents", inJSON(func(v map[string]any) {
			for _, m := range v["headline"].([]any) {
				if m := m.(map[string]any); m["name"] == "respondents" {
					m["value"], m["low"], m["high"], m["level"] = 1e6, 0, 0, 0
				}
			}
		}), "respondents", false},
		{"plan.toml says another epsilon", func(files map[string][]byte) {
			files[verify.PlanFile] = regexp.MustCompile(`epsilon = 4(\.0)?\n`).ReplaceAll(files[verify.PlanFile], []byte("epsilon = 0.5\n"))
		}, "plan", false},
		{"plan.toml is none", set(verify.PlanFile, "plan"), "plan", false},
		{"the plan of a stranger", func(files map[string][]byte) {
			files[verify.SignedFile] = plan.Sign(g.signed.Plan, key(stranger)).Marshal()
		}, "signature", false},
		{"the plan unsigned", without(verify.SignedFile), "signature", false},
		{"no plan", func(files map[string][]byte) { delete(files, verify.SignedFile); delete(files, verify.PlanFile) }, "plan", false},
		{"a table that nobody publishes", func(files map[string][]byte) {
			delete(files, sheets.CountsFile)
			delete(files, parq)
			inReceipts(func(r *relay.Receipts) { delete(r.Files, sheets.CountsFile) })(files)
		}, "answers", false},
		{"a table that was cut short", inJSON(func(v map[string]any) { v["cells"] = 2_000_000 }), "answers", false},
		{"no receipts", without(relay.ReceiptsFile), "receipts", false},
		{"no batches", inReceipts(func(r *relay.Receipts) { r.Batches = nil }), "receipts", false},
		{"a batch twice", inReceipts(func(r *relay.Receipts) { r.Batches = append(r.Batches, r.Batches[0]) }), "receipts", false},
		{"more whole than came", inReceipts(func(r *relay.Receipts) { r.Batches[0].Whole = people + 1 }), "receipts", false},
		{"fewer whole than promised for", inReceipts(func(r *relay.Receipts) { r.Batches[0].Whole = 1 }), "kept", false},
		{"a hop left out", inReceipts(func(r *relay.Receipts) { r.Batches[0].Receipts = r.Batches[0].Receipts[:1] }), "receipts", false},
		{"hops exchanged", inReceipts(func(r *relay.Receipts) { slices.Reverse(r.Batches[0].Receipts) }), "receipts", false},
		{"a bit of a hop's signature", inReceipts(func(r *relay.Receipts) { r.Batches[0].Receipts[0][len(r.Batches[0].Receipts[0])-1] ^= 1 }), "receipts", false},
		{"another batch", inReceipts(func(r *relay.Receipts) { r.Batches[0].SHA256 = strings.Repeat("0", 64) }), "receipts", false},
		{"the receipts of no file", inReceipts(func(r *relay.Receipts) { r.Files = map[string]string{} }), "missing", false},
		{"the receipts not of the table", inReceipts(func(r *relay.Receipts) { delete(r.Files, sheets.CountsFile) }), sheets.CountsFile, false},
		{"the receipts of a file that no release has", inReceipts(func(r *relay.Receipts) { r.Files["x"] = strings.Repeat("0", 64) }), "missing", false},
		{"the receipts of another plan", inReceipts(func(r *relay.Receipts) { r.Plan = strings.Repeat("0", 64) }), "receipts", false},
		{"no signature", without(relay.SignatureFile), numbers, false},
		{"the signature of a stranger", func(files map[string][]byte) {
			files[relay.SignatureFile] = relay.ReleaseOf(g.signed.Plan.Hash(), files[relay.ReceiptsFile]).Sign(key(stranger))
		}, numbers, false},
		{"the signature of the publisher", func(files map[string][]byte) {
			files[relay.SignatureFile] = relay.ReleaseOf(g.signed.Plan.Hash(), files[relay.ReceiptsFile]).Sign(key(publisher))
		}, numbers, false},
		{"the signature of another plan's release", func(files map[string][]byte) {
			files[relay.SignatureFile] = example.SignRelease(relay.ReleaseOf([32]byte{1}, files[relay.ReceiptsFile]))
		}, numbers, false},
		{"a signature that is none", set(relay.SignatureFile, "confetti/release/v1\nAAAA\n"), numbers, false},
		{"withdrawn since", func(files map[string][]byte) { files[relay.WithdrawalFile] = g.withdrawal(publisher) }, "withdrawn", false},
		{"withdrawn by a stranger", func(files map[string][]byte) { files[relay.WithdrawalFile] = g.withdrawal(stranger) }, "withdrawn", false},
		{"a withdrawal that is none", set(relay.WithdrawalFile, "{}"), "withdrawn", false},
	}
	all = append(all, ofEachLeaf(release.JSONFile, g.files[release.JSONFile], ofRelease)...)
	all = append(all, ofEachLeaf(relay.ReceiptsFile, g.files[relay.ReceiptsFile], ofReceipts)...)
	all = append(all, ofEachCell(g.files[sheets.CountsFile])...)
	for _, name := range slices.Sorted(maps.Keys(g.files)) { // a byte of each file, and each in the place of another
		finds := damaged[name]
		all = append(all, forgery{"a byte more in " + name, func(files map[string][]byte) { files[name] = append(bytes.Clone(files[name]), 'x') }, finds[0], false})
		if name != release.JSONFile {
			all = append(all, forgery{"release.json in the place of " + name, func(files map[string][]byte) { files[name] = files[release.JSONFile] }, finds[1], false})
		}
	}
	return all
}

func (g good) withdrawal(seed byte) []byte {
	w, err := plan.Withdraw(plan.Withdrawal{Plan: g.signed.Plan.Hash(), At: time.Date(2027, 1, 2, 3, 4, 5, 0, time.UTC), Reason: "the question misled"}, key(seed))
	if err != nil {
		panic(err)
	}
	return w.Marshal()
}

// damaged is what refuses a byte more in a file, and another file in its place.
var damaged = map[string][2]string{
	release.JSONFile: {unread + "reading the release"}, release.PageFile: {drawn + " again", drawn}, sheets.CountsFile: {"answers", "answers"}, parq: {parq, parq},
	verify.SignedFile: {"plan", "plan"}, verify.PlanFile: {"plan", "plan"}, relay.ReceiptsFile: {"receipts", "receipts"}, relay.SignatureFile: {numbers, numbers},
}

// ofRelease is what refuses another leaf in release.json; open: nothing does, and docs/limits-software.md says so.
func ofRelease(class string) string {
	part, _, _ := strings.Cut(strings.TrimPrefix(class, release.JSONFile+"."), "[")
	if (part == "headline" || part == "sections") && (strings.HasSuffix(class, ".name") || strings.HasSuffix(class, ".key") || strings.HasSuffix(class, ".categories[]")) {
		return "names"
	}
	switch part {
	case "plan", "crowds", "guarantees":
		return part
	case "schema":
		return unread + "use the confetti that wrote it"
	case "synthetic", "created", "source", "provenance.randomness":
		return "kind"
	case "headline", "sections":
		return "answers"
	case "provenance.software":
		return open
	}
	panic("what refuses another " + class + "?")
}

// ofReceipts is what refuses another leaf in the receipts.
func ofReceipts(class string) string {
	switch part := strings.TrimPrefix(class, relay.ReceiptsFile+"."); part {
	case "files.json":
		return release.JSONFile
	case "files.html":
		return release.PageFile
	case "files.counts.csv":
		return sheets.CountsFile
	}
	return "receipts"
}

// refusing returns what a forgery is refused by: findings, or an error.
func refusing(t *testing.T, name string, report verify.Report, err error) (by []string) {
	if err != nil {
		return []string{unread + err.Error()}
	}
	for _, finding := range report.Findings {
		if !finding.Holds {
			by = append(by, finding.What)
			if finding.Says == "" {
				t.Errorf("%s: %s says nothing", name, finding.What)
			}
		}
	}
	if len(by) > 0 && (len(report.First) == 0 || !strings.Contains(report.First[0], "did not hold")) {
		t.Errorf("%s: what is said first is %q", name, report.First)
	}
	return by
}

func among(by []string, finds string) bool {
	return slices.ContainsFunc(by, func(one string) bool {
		return one == finds || strings.HasPrefix(finds, unread) && strings.HasPrefix(one, unread) && strings.Contains(one, strings.TrimPrefix(finds, unread))
	})
}

// Every forgery is refused by the finding that is named beside it: as it stands in the folder by the file that was
// changed; with renewed digests by the analyzer's signature; and whatever follows from plan, receipts and tables
// though the analyzer signs it.
func TestEveryForgeryIsRefused(t *testing.T) {
	g := kept(t)
	report, err := g.look(g.files)
	if err != nil || report.Failed() != 0 || !report.Expected || !strings.HasPrefix(report.First[0], "All ") {
		t.Fatalf("the release as it was made: %v\n%+v", err, report)
	}
	all := forgeries(g)
	if len(all) < 100 {
		t.Errorf("%d forgeries", len(all))
	}
	refused := func(f forgery, files map[string][]byte, how, finds string) {
		t.Helper()
		report, err := g.look(files)
		by := refusing(t, f.name, report, err)
		switch malformed := err != nil && f.leaf; {
		case malformed:
		case finds == open && len(by) > 0:
			t.Errorf("%s, %s: it is refused by %q, and not open any more", f.name, how, by)
		case finds != open && !among(by, finds):
			t.Errorf("%s, %s: refused by %q, want %q", f.name, how, by, finds)
		}
	}
	signed := 0
	for _, f := range all {
		files := maps.Clone(g.files)
		f.change(files)
		first := f.finds
		for _, name := range []string{release.JSONFile, release.PageFile, sheets.CountsFile} { // of which there are digests
			switch changed := !bytes.Equal(files[name], g.files[name]); {
			case changed && files[name] == nil:
				first = "missing"
			case changed && !strings.HasPrefix(f.finds, unread):
				first = name
			}
		}
		if f.finds == "plan" || !bytes.Equal(files[relay.ReceiptsFile], g.files[relay.ReceiptsFile]) { // without which nothing else is looked at
			first = f.finds
		}
		refused(f, files, "as it stands", first)
		renewed(files)
		if maps.EqualFunc(files, g.files, bytes.Equal) {
			continue // of a digest, which is right again
		}
		_, unlisted := relay.ParseReceipts(files[relay.ReceiptsFile])
		if bytes.Equal(files[relay.ReceiptsFile], g.files[relay.ReceiptsFile]) || strings.HasPrefix(f.finds, unread) || f.finds == "plan" || unlisted != nil {
			refused(f, files, "renewed", f.finds)
		} else {
			refused(f, files, "renewed", numbers)
		}
		if f.finds != numbers {
			signed++
			g.redraw(files)
			renewed(files)
			g.sign(files)
			refused(f, files, "signed by the analyzer", f.finds)
		}
	}
	t.Logf("%d forgeries, %d of them also signed by the analyzer", len(all), signed)
}

// redraw draws the page of a release that was changed, as its analyzer would.
func (g good) redraw(files map[string][]byte) {
	if bytes.Equal(files[release.JSONFile], g.files[release.JSONFile]) {
		return
	}
	if page, err := g.evidence(nil, nil).Draw(g.signed, files[release.JSONFile], nil); err == nil {
		files[release.PageFile] = page
	}
}

// Who is not told whose plan it is, is told so first, and nobody was asked about a withdrawal.
func TestWhatAVerifierIsToldFirst(t *testing.T) {
	g := kept(t)
	look := func(change func(*verify.Evidence)) verify.Report {
		t.Helper()
		e := g.evidence(g.files, nil)
		change(&e)
		report, err := verify.Release(e)
		must(t, err)
		return report
	}
	bare := look(func(*verify.Evidence) {})
	if bare.Failed() != 0 || bare.Expected || !strings.Contains(bare.First[0], "hold for "+public(publisher)+"; nobody said") || !strings.Contains(bare.First[1], "Nobody was asked") {
		t.Errorf("%q", bare.First)
	}
	if named := look(func(e *verify.Evidence) { e.Plan = g.signed.Plan.Name() }); !named.Expected || named.Failed() != 0 {
		t.Errorf("by the plan's name: %q", named.First)
	}
	if other := look(func(e *verify.Evidence) { e.Plan = strings.Repeat("0", 64) }); other.Failed() != 1 || !strings.HasPrefix(other.First[1], "expected: ") {
		t.Errorf("by another plan's name: %q", other.First)
	}
	digest := relay.FileDigest(g.files[relay.ReceiptsFile])
	for what, c := range map[string]struct {
		asked verify.Asked
		says  string // first; "": it holds
	}{
		"an analyzer that knows of none": {verify.Asked{Who: "https://analyzer.example"}, ""},
		"an analyzer that knows of one":  {verify.Asked{Who: "https://analyzer.example", Withdrawal: g.withdrawal(publisher)}, "withdrawn: withdrawn by its publisher on 2 January 2027, 03:04 UTC: the question misled"},
		"a log with it alone":            {verify.Asked{Who: "log", Entries: []relay.LogEntry{{Kind: "plan"}, {Kind: "release", Digest: digest}}}, ""},
		"a log with another one":         {verify.Asked{Who: "log", Entries: []relay.LogEntry{{Kind: "plan"}, {Kind: "release", Digest: "00"}}}, "first: log has another release"},
		"a log with another one before":  {verify.Asked{Who: "log", Entries: []relay.LogEntry{{Kind: "release", Digest: "00"}, {Kind: "release", Digest: digest}}}, "first: log has another release"},
		"a log with a second one":        {verify.Asked{Who: "log", Entries: []relay.LogEntry{{Kind: "release", Digest: digest}, {Kind: "release", Digest: "00"}}}, "first: log has a second release"},
		"a log with none":                {verify.Asked{Who: "log", Entries: []relay.LogEntry{{Kind: "plan"}}}, "first: log has no release"},
	} {
		report := look(func(e *verify.Evidence) { e.Plan, e.Asked = g.signed.Plan.Name(), []verify.Asked{c.asked} })
		if c.says == "" && (report.Failed() != 0 || len(report.First) != 1) || c.says != "" && (report.Failed() != 1 || !strings.HasPrefix(report.First[1], c.says)) {
			t.Errorf("%s: %q", what, report.First)
		}
	}
}

// Words of others turn no text round, on a page as in a terminal.
func TestAReportShowsAllOfItsWords(t *testing.T) {
	g := kept(t)
	e := g.evidence(g.files, nil)
	e.Plan, e.Asked = g.signed.Plan.Name(), []verify.Asked{{Who: "gol\u202e", Entries: []relay.LogEntry{{Kind: "plan"}}}}
	report, err := verify.Release(e)
	must(t, err)
	all := strings.Join(report.First, "\n")
	for _, f := range report.Findings {
		all += f.What + f.Says
	}
	for _, u := range report.Unchecked {
		all += u.What + u.Why
	}
	if strings.ContainsRune(all, '\u202e') || strings.Count(all, `gol\u202e has no release`) == 0 {
		t.Errorf("%q", all)
	}
}

// Of other rounds only those matter that the release of all rounds so far is learned from.
func TestARoundOfAnotherStudyThatWasWithdrawn(t *testing.T) {
	g := kept(t)
	other, err := plan.Withdraw(plan.Withdrawal{Plan: [32]byte{7}, At: time.Date(2027, 1, 2, 3, 4, 5, 0, time.UTC), Reason: "the question misled"}, key(publisher))
	must(t, err)
	trusted := plan.Trust(public(publisher))
	for what, round := range map[string]release.Round{
		"of none":                  {},
		"of one that is named":     {Number: 1, Plan: "07" + strings.Repeat("00", 31)},
		"of one that was deleted":  {Number: 1, Plan: "07" + strings.Repeat("00", 31), Deleted: true},
		"of another than is named": {Number: 1, Plan: strings.Repeat("08", 32)},
	} {
		files := maps.Clone(g.files)
		if round.Number > 0 {
			inJSON(func(v map[string]any) {
				v["rounds"] = []release.Round{round, {Number: 2, Plan: g.signed.Plan.Name()}}
			})(files)
			files["study.json"], files[release.JSONFile] = files[release.JSONFile], g.files[release.JSONFile]
		}
		e := g.evidence(files, &trusted)
		e.Asked = []verify.Asked{{Who: "https://analyzer.example", Rounds: [][]byte{other.Marshal()}}}
		report, err := verify.Release(e)
		withdrawn := among(refusing(t, what, report, err), "withdrawn")
		if withdrawn != (what == "of one that is named") {
			t.Errorf("a withdrawal %s: withdrawn is %v: %q", what, withdrawn, report.First)
		}
		if withdrawn && !slices.ContainsFunc(report.First, func(s string) bool { return strings.HasPrefix(s, "withdrawn: round 070000000000 of its study") }) {
			t.Errorf("what is said first is %q", report.First)
		}
	}
}

// A plan of version 2 names nobody who signs: its release never holds.
func TestNobodyHasSignedTheNumbersOfVersion2(t *testing.T) {
	g := kept(t)
	report, err := g.look(g.old(t))
	must(t, err)
	if !slices.ContainsFunc(report.Findings, func(f verify.Finding) bool {
		return f.What == "numbers" && !f.Holds && strings.HasPrefix(f.Says, "nobody has signed these numbers")
	}) || !slices.ContainsFunc(report.First, func(s string) bool { return strings.HasPrefix(s, "numbers: nobody has signed these numbers") }) {
		t.Errorf("%+v", report)
	}
}

// old is the release under the same plan as version 2 had it.
func (g good) old(t *testing.T) map[string][]byte {
	files := maps.Clone(g.files)
	p := example.Version2(g.signed.Plan)
	files[verify.SignedFile] = plan.Sign(p, key(publisher)).Marshal()
	files[verify.PlanFile] = author.TOML(p)
	delete(files, relay.SignatureFile)
	inJSON(func(v map[string]any) { v["plan"] = p.Name() })(files)
	if _, err := release.Read(bytes.NewReader(files[release.JSONFile])); err != nil {
		t.Fatal(err)
	}
	return files
}
