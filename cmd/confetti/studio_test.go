package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	gocmp "github.com/google/go-cmp/cmp"
	"github.com/transparency-dev/formats/log"
	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/confetti-dp/confetti/cmd/internal/server/up"
	"github.com/confetti-dp/confetti/cmd/internal/trial"
	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/internal/plan/author"
	"github.com/confetti-dp/confetti/internal/release/sheets"
	"github.com/confetti-dp/confetti/internal/studio"
	"github.com/confetti-dp/confetti/internal/testkit/webtest"
	"github.com/confetti-dp/confetti/internal/wire/relay"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/release"
	"github.com/confetti-dp/confetti/release/verify"
)

// A question of two columns and two crowds is made in a browser, of an operator of services that run: its plan
// comes complete, with the keys that these have and those of tokens that the issuer was given for it. It is
// signed, registered with them, answered, and released; and of that release the browser says what the command says.
func TestAQuestionOfTheStudioIsCollected(t *testing.T) {
	browser := webtest.Browser(t)
	const south, north = 51, 53
	at := trial.Folder(filepath.Join(t.TempDir(), "trial"))
	ctx, stop := context.WithCancel(t.Context())
	var out said
	done := make(chan error, 1)
	go func() {
		done <- up.Command{Dir: string(at), Closes: new(time.Hour), Devices: new(south + north), Open: true}.RunUntil(ctx, terminal.Streams{Out: &out, Err: io.Discard})
		stop()
	}()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	login := out.find(t, ctx, `room's screen[^\n]*\n\s+(http\S+)`)
	base, _, _ := strings.Cut(login, "/login/")
	var rows strings.Builder
	rows.WriteString("drink,age,town\n")
	for i := range south + north {
		fmt.Fprintf(&rows, "%s,%d,%s\n", []string{"tea", "coffee", "tea", "water"}[i%4], 20+i%40, map[bool]string{true: "south", false: "north"}[i < south])
	}
	b := webtest.Open(t, browser, webtest.Screens[0])
	b.Do(chromedp.Navigate(login), chromedp.Click("main form button"), webtest.Until(`document.querySelector("#live")?.dataset.status === "open"`))
	for _, hop := range []string{"1", "2"} { // once the trial's own collection has its keys
		command(t, "keys", "new", at.Path("issuer/keys/next-hop-"+hop+".json"), "--for", "tokens")
	}
	const drawn = `document.getElementById("plan")?.href !== "" && document.getElementById("working").textContent === "" && !document.getElementById("result").hidden`
	set := func(field, text string) chromedp.Action[chromedp.Void] {
		return chromedp.Evaluate[chromedp.Void](fmt.Sprintf(`{ const e = document.querySelector(%q); e.value = %q; for (const what of ["input", "change"]) e.dispatchEvent(new Event(what, {bubbles: true})); }`, field, text))
	}
	b.Do(chromedp.Navigate(base+"/new"), chromedp.WaitVisible("#studio"), set("#values", rows.String()), webtest.Until(drawn))
	b.Do(chromedp.Click("#more"), set("#crowd", "2"), set("#title", "What do you drink?"), set("#people", "0"), set("#epsilon", "700"))
	b.Do(webtest.Until(drawn + ` && document.querySelectorAll("#chart ol.pair").length === 2 && document.getElementById("lacks").textContent.includes("the plan is complete.")`))
	text := webtest.Ask(b, chromedp.Evaluate[string](`document.getElementById("toml").textContent`))

	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	signed := filepath.Join(dir, "plan.signed.json")
	command(t, "plan", "sign", file("plan.toml", text), "--key", at.Path(trial.Publisher), "--out", signed)
	command(t, "plan", "check", signed)
	command(t, "plan", "register", signed, "--dir", string(at))
	values := file("values.csv", strings.Replace(rows.String(), "town", "crowd", 1))
	if said := command(t, "submit", values, "--dir", string(at), "--plan", signed, "--devices"); !strings.Contains(said, fmt.Sprintf("%d answers sent", south+north)) {
		t.Errorf("the devices say %s", said)
	}
	if said := command(t, "plan", "close", signed, "--dir", string(at)); !strings.HasPrefix(strings.TrimSpace(said[strings.LastIndex(said, "\nreleased")+1:]), "released") {
		t.Errorf("closing says %s", said)
	}
	fetched := filepath.Join(dir, "release")
	command(t, "release", "fetch", signed, "--dir", string(at), "--out", fetched)
	if said := command(t, "release", "verify", fetched, "--publishers", at.Path(trial.Publishers)); !strings.Contains(said, "2 batches, signed for by 4 receipts") {
		t.Errorf("the command says %s", said)
	}
	if counts, err := os.ReadFile(filepath.Join(fetched, sheets.CountsFile)); err != nil || !strings.Contains(string(counts), "\ndrink,south,tea,") || !strings.Contains(string(counts), "\nage,north,") {
		t.Errorf("%v\n%s", err, counts)
	}
	read, err := plan.ReadSigned(signed)
	if err != nil {
		t.Fatal(err)
	}
	b.Do(chromedp.Navigate(base+"/releases/"+read.Plan.Name()), webtest.Until(`document.querySelector("#verify")?.hidden === false`))
	sameFindings(t, b, fetched, read)
}

// A plan of the studio is the one that confetti plan new makes with the same words, but for who takes part and seeds that
// nobody chose, and a trial takes it.
func TestTheStudioAndTheCommandMakeOnePlan(t *testing.T) {
	rows := "drink,age,owns,town\n" + strings.Repeat("tea,20,phone;radio,north\ncoffee,35,radio,south\nwater,41,,north\n", 20)
	sheet, err := studio.Read([]byte(rows), true)
	if err != nil {
		t.Fatal(err)
	}
	drink := studio.Asked{Column: 0, Kind: "categories", Named: 20}
	age := studio.Asked{Column: 1, Kind: "buckets", Low: 0, High: 100, Cells: 5}
	owns := studio.Asked{Column: 2, Kind: "set", Named: 20, Most: 2, Others: true}
	town, dir := 3, t.TempDir()
	drinks, things, like := filepath.Join(dir, "drinks.txt"), filepath.Join(dir, "things.txt"), filepath.Join(dir, "like.csv")
	for name, text := range map[string]string{drinks: "coffee\ntea\nwater\n", things: "phone\nradio\n", like: rows} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		choice studio.Choice
		flags  []string
	}{
		"a column":     {studio.Choice{Asked: []studio.Asked{drink}}, []string{"--attribute", "drink", "--domain", drinks}},
		"two, split":   {studio.Choice{Asked: []studio.Asked{drink, age}, Collect: "split"}, []string{"--attribute", "drink", "--attribute", "age", "--kind", "categories", "--kind", "buckets", "--domain", drinks, "--buckets", "0,100,5", "--split"}},
		"two, either":  {studio.Choice{Asked: []studio.Asked{age, drink}}, []string{"--attribute", "age", "--attribute", "drink", "--kind", "buckets", "--kind", "categories", "--domain", drinks, "--buckets", "0,100,5"}},
		"a set":        {studio.Choice{Asked: []studio.Asked{owns}}, []string{"--attribute", "owns", "--kind", "set", "--domain", things, "--most", "2", "--others"}},
		"crowds":       {studio.Choice{Asked: []studio.Asked{drink}, Crowd: &town}, []string{"--attribute", "drink", "--domain", drinks, "--crowds", "north,south"}},
		"a sum":        {studio.Choice{Asked: []studio.Asked{drink}, Route: "sum"}, []string{"--attribute", "drink", "--domain", drinks, "--route", "sum"}},
		"a shared sum": {studio.Choice{Asked: []studio.Asked{owns}, Route: "sum", Noise: "shared"}, []string{"--attribute", "owns", "--kind", "set", "--domain", things, "--most", "2", "--others", "--route", "sum", "--noise", "shared"}},
		"strings":      {studio.Choice{Kind: "strings", Fields: []byte(`{"column": 0, "alphabet": "a-z", "longest": 8}`)}, []string{"--alphabet", "a-z", "--longest", "8"}},
		"any strings":  {studio.Choice{Kind: "strings", Fields: []byte(`{"column": 0, "alphabet": "", "longest": 6}`), Route: "sum"}, []string{"--longest", "6", "--route", "sum"}},
		"experiment": {studio.Choice{Kind: "experiment", Route: "sum", Fields: []byte(`{"metric": 1, "before": -1, "per": -1, "others": [], "arm": -1, "arms": "old, new", "shares": "0.6, 0.4", "lift": 5, "power": 0.9, "looks": 3}`)},
			[]string{"--arms", "old,new", "--shares", "0.6,0.4", "--metric", "age", "--like", like, "--lift", "5%", "--power", ".9", "--looks", "3", "--route", "sum"}},
		"of devices": {studio.Choice{Asked: []studio.Asked{drink}, Route: "sum", Noise: "devices", Suite: "x-wing"}, []string{"--attribute", "drink", "--domain", drinks, "--route", "sum", "--noise", "devices", "--suite", "x-wing"}},
	} {
		c.choice.Epsilon, c.choice.People = 1, 500
		drawn, err := sheet.Draw(c.choice)
		if err != nil {
			t.Fatal(name, err)
		}
		made, err := author.Parse([]byte(drawn.Plan))
		if err != nil {
			t.Fatal(name, err)
		}
		file := filepath.Join(t.TempDir(), "plan.toml")
		command(t, append([]string{"plan", "new", cmp.Or(c.choice.Kind, "histogram"), file, "--epsilon", "1", "--delta", "1e-6", "--minimum", "500", "--keys", filepath.Join(t.TempDir(), "keys")}, c.flags...)...)
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		want, err := author.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "drawn.toml"), []byte(drawn.Plan), 0o600); err != nil {
			t.Fatal(err)
		}
		at := trial.Folder(filepath.Join(t.TempDir(), "trial"))
		if err := (up.Command{Dir: string(at), Plan: filepath.Join(dir, "drawn.toml"), Closes: new(time.Hour), Devices: new(1)}).Make(at); err != nil {
			t.Errorf("%s: a trial refuses it: %v", name, err)
		}
		for _, p := range []*plan.Plan{&made, &want} {
			p.Analyzer = plan.Party{}
			if s := p.Question.Strings; s != nil {
				s.Seed = ""
			}
			if s := p.Route.Sum; s != nil {
				s.Leader, s.Helper = plan.Party{}, plan.Party{}
			}
			for _, in := range p.Route.Instances() {
				clear(in.Hops)
			}
		}
		if diff := gocmp.Diff(want, made); diff != "" {
			t.Errorf("%s: the command's plan, and the studio's:\n%s", name, diff)
		}
	}
}

// sameFindings says of releases, as they are and spoiled in each way, what the command and the browser find, and
// fails unless that is the same to the letter.
func sameFindings(t *testing.T, b *webtest.Tab, fetched string, signed plan.Signed) {
	t.Helper()
	good := map[string][]byte{}
	for _, name := range append(slices.Clone(verify.Published), verify.SignedFile, verify.PlanFile) {
		if text, err := os.ReadFile(filepath.Join(fetched, name)); err == nil {
			good[name] = text
		}
	}
	public, evidence := logOf(t)
	inLog := func(files map[string][]byte) {
		logged := signed
		logged.Evidence = evidence(signed.Entry())
		files[verify.SignedFile] = logged.Marshal()
		files[relay.EvidenceFile] = evidence(relay.ReleaseOf(signed.Plan.Hash(), files[relay.ReceiptsFile]).Marshal()).Marshal()
	}
	stolen, err := relay.GenerateSignKey() // of nobody who has signed the plan
	if err != nil {
		t.Fatal(err)
	}
	withdrawn, err := plan.Withdraw(plan.Withdrawal{Plan: signed.Plan.Hash(), At: time.Now(), Reason: "tried"}, stolen.Private())
	if err != nil {
		t.Fatal(err)
	}
	publishers := "confetti-publishers/v1\n" + signed.Publisher + "\n"
	logs := "confetti-publishers/v1\nlog " + public + "\n" + signed.Publisher + "\n"
	stranger := "ed25519:iojj3XQJ8ZX9UtstPLpdcspnCb8dlBIb83SIAbQPb1w"
	replaced := func(name, old, new string) func(map[string][]byte) {
		return func(files map[string][]byte) {
			if !bytes.Contains(files[name], []byte(old)) {
				t.Errorf("%s has no %q to be spoiled", name, old)
			}
			files[name] = bytes.Replace(files[name], []byte(old), []byte(new), 1)
		}
	}
	without := func(names ...string) func(map[string][]byte) {
		return func(files map[string][]byte) {
			for _, name := range names {
				delete(files, name)
			}
		}
	}
	for name, c := range map[string]struct {
		expected string
		spoil    func(map[string][]byte)
		bad      string // what does not hold; "": all holds; "error": nothing can be said
	}{
		"good":                       {"", nil, ""},
		"good, of the publisher":     {signed.Publisher, nil, ""},
		"good, by a file":            {publishers, nil, ""},
		"good, of a log":             {logs, inLog, ""},
		"without the log's evidence": {logs, nil, "signature log"},
		"evidence of another release": {logs, func(files map[string][]byte) {
			inLog(files)
			files[relay.EvidenceFile] = evidence(signed.Entry()).Marshal()
		}, "log"},
		"evidence that is none":      {logs, func(files map[string][]byte) { inLog(files); files[relay.EvidenceFile] = []byte("so") }, "log"},
		"of a stranger":              {stranger, nil, "signature"},
		"of two publishers":          {"confetti-publishers/v1\nsignatures 2\n" + signed.Publisher + "\n" + stranger + "\n", nil, "signature"},
		"of a revoked key":           {"confetti-publishers/v1\n" + signed.Publisher + " revoked 2020-01-01T00:00:00Z\n", nil, "signature"},
		"publishers of another form": {"confetti-publishers/v2\n" + signed.Publisher + "\n", nil, "error"},
		"a changed count":            {"", replaced(sheets.CountsFile, "tea", "ten"), sheets.CountsFile},
		"a byte order mark":          {"", replaced(sheets.CountsFile, "attribute", "\ufeffattribute"), sheets.CountsFile + " answers"},
		"bytes that are no text":     {"", replaced(sheets.CountsFile, "tea", "t\xffa"), sheets.CountsFile},
		"a changed page":             {"", replaced(release.PageFile, "<html", "<html "), release.PageFile},
		"a changed release":          {"", replaced(release.JSONFile, `"fresh randomness"`, `"seed 7"`), "kind " + release.JSONFile + " page " + release.PageFile},
		"a smaller epsilon": {"", func(files map[string][]byte) {
			var r map[string]any
			if err := json.Unmarshal(files[release.JSONFile], &r); err != nil {
				t.Fatal(err)
			}
			for _, one := range r["guarantees"].([]any) {
				g := one.(map[string]any)
				if e, finite := g["epsilon"].(float64); finite {
					g["epsilon"] = e / 10
				}
			}
			text, err := json.Marshal(r)
			if err != nil {
				t.Fatal(err)
			}
			files[release.JSONFile] = text
		}, "guarantees " + release.JSONFile + " page " + release.PageFile},
		"a release that is none": {"", func(files map[string][]byte) { files[release.JSONFile] = []byte("{") }, "error"},
		"no receipts":            {"", without(relay.ReceiptsFile), "receipts"},
		"changed receipts":       {"", replaced(relay.ReceiptsFile, "A", "B"), "numbers receipts"},
		"receipts that are none": {"", func(files map[string][]byte) { files[relay.ReceiptsFile] = []byte("{}") }, "receipts"},
		"the plan alone":         {"", without(verify.SignedFile), "signature"},
		"no signature":           {"", without(relay.SignatureFile), "numbers"},
		"a file is missing":      {"", without(sheets.CountsFile), "missing answers"},
		"a file too many":        {"", func(files map[string][]byte) { files["results.csv"] = []byte("tea,99\n") }, "surplus"},
		"a script":               {"", replaced(release.PageFile, "</body>", "<script>alert(1)</script></body>"), release.PageFile + " page " + release.PageFile},
		"withdrawn since":        {"", func(files map[string][]byte) { files[relay.WithdrawalFile] = withdrawn.Marshal() }, "withdrawn"},
		"no plan":                {"", without(verify.SignedFile, verify.PlanFile), "plan"},
		"a changed plan":         {"", replaced(verify.SignedFile, "What do you drink?", "What do you think?"), "plan"},
		"a changed signature": {"", func(files map[string][]byte) {
			spoiled := signed
			spoiled.Signature = slices.Clone(signed.Signature)
			spoiled.Signature[0] ^= 1
			files[verify.SignedFile] = spoiled.Marshal()
		}, "plan"},
		"an audit of something else": {"", func(files map[string][]byte) { files[release.AuditFile] = []byte("{}") }, "audit " + release.AuditFile},
	} {
		files := maps.Clone(good)
		if c.spoil != nil {
			c.spoil(files)
		}
		told, toldErr := commandVerifies(t, files, c.expected)
		found, foundErr := browserVerifies(t, b, files, c.expected)
		if !reflect.DeepEqual(told, found) || (toldErr == "") != (foundErr == "") || !strings.Contains(toldErr, foundErr) {
			t.Errorf("%s: the command says\n%+v %s\nand the browser\n%+v %s", name, told, toldErr, found, foundErr)
		}
		var bad []string
		for _, f := range told.Findings {
			if !f.Holds {
				bad = append(bad, f.What)
			}
		}
		if all := strings.Join(bad, " "); toldErr == "" && all != c.bad || (toldErr != "") != (c.bad == "error") {
			t.Errorf("%s: what does not hold is %q, want %q; %s", name, all, c.bad, toldErr)
		}
		unnamed := slices.ContainsFunc(told.Unchecked, func(u verify.Unchecked) bool { return u.What == "publisher" })
		if toldErr == "" && c.bad != "plan" && c.bad != "signature" && unnamed != (c.expected == "") {
			t.Errorf("%s: not checked are %+v", name, told.Unchecked)
		}
	}
}

// commandVerifies is what confetti release verify finds.
func commandVerifies(t *testing.T, files map[string][]byte, expected string) (found verify.Report, failed string) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	args := []string{"release", "verify", dir, "--json"}
	if strings.HasPrefix(expected, "confetti-publishers") {
		file := filepath.Join(t.TempDir(), "publishers.txt")
		if err := os.WriteFile(file, []byte(expected), 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, "--publishers", file)
	} else if expected != "" {
		args = append(args, "--publisher", expected)
	}
	var out, failure bytes.Buffer
	run(args, terminal.Streams{Out: &out, Err: &failure})
	if out.Len() == 0 {
		return found, failure.String()
	}
	if err := json.Unmarshal(out.Bytes(), &found); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	return found, ""
}

// browserVerifies is what the module finds, in the page of a release.
func browserVerifies(t *testing.T, b *webtest.Tab, files map[string][]byte, expected string) (found verify.Report, failed string) {
	t.Helper()
	given, err := json.Marshal(struct {
		Files    map[string][]byte
		Expected string
	}{files, expected})
	if err != nil {
		t.Fatal(err)
	}
	answer := webtest.Ask(b, chromedp.Evaluate[string](`(async ({ Files, Expected }) => {
		const { Studio } = await import("/studio/index.js");
		globalThis.asked ??= new Studio();
		const files = Object.fromEntries(Object.entries(Files).map(([name, text]) => [name, Uint8Array.from(atob(text), (c) => c.charCodeAt(0))]));
		try {
			return JSON.stringify(await globalThis.asked.ask("verify", files, null, Expected, false, ""));
		} catch (error) {
			return JSON.stringify({ error: error.message });
		}
	})(`+string(given)+`)`, chromedp.EvalAwaitPromise))
	var told struct {
		verify.Report
		Error string `json:"error"`
	}
	if err := json.Unmarshal([]byte(answer), &told); err != nil {
		t.Fatalf("%v\n%s", err, answer)
	}
	return told.Report, told.Error
}

// logOf is the public key of a log of one entry, and what shows an entry to stand there: its root is its leaf.
func logOf(t *testing.T) (public string, evidence func(entry []byte) *plan.Evidence) {
	t.Helper()
	key, err := relay.GenerateSignKey()
	if err != nil {
		t.Fatal(err)
	}
	private, err := key.Note("log.example/plans")
	if err != nil {
		t.Fatal(err)
	}
	if public, err = key.Public().Note("log.example/plans"); err != nil {
		t.Fatal(err)
	}
	signer, err := note.NewSigner(private)
	if err != nil {
		t.Fatal(err)
	}
	return public, func(entry []byte) *plan.Evidence {
		root := tlog.RecordHash(entry)
		text, err := note.Sign(&note.Note{Text: string(log.Checkpoint{Origin: "log.example/plans", Size: 1, Hash: root[:]}.Marshal())}, signer)
		if err != nil {
			t.Fatal(err)
		}
		return &plan.Evidence{Checkpoint: string(text)}
	}
}
