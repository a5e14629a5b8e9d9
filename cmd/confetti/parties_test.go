package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/confetti-dp/confetti/internal/rng"
	"github.com/confetti-dp/confetti/internal/testkit/scripts"
	"github.com/confetti-dp/confetti/plan"
)

// seat is one role of one organisation: its folder, its process, its card. The certificate is in the card,
// unless acme says that an authority has signed it whom all systems know. Where carried, it is no service: it answers
// files that somebody carries.
type seat struct {
	of, role      string
	acme, carried bool
}

func (p seat) folder() string { return p.of + "/" + p.role }
func (p seat) card() string   { return "cards/" + p.of + "-" + p.role + ".card" }
func (p seat) port() string   { return strings.ToUpper(p.of + "_" + p.role) }

// url names another host where an authority vouches for it: that of a certificate in a card is known by this alone.
func (p seat) url() string {
	host := "127.0.0.1"
	if p.acme {
		host = "localhost"
	}
	return "https://" + host + ":$" + p.port()
}

// organisations are those of a collection, by their number and its route.
var organisations = map[string][]seat{
	"two mix":              {{of: "north", role: "shuffler"}, {of: "south", role: "analyzer"}, {of: "south", role: "publisher"}},
	"three mix":            {{of: "north", role: "shuffler"}, {of: "south", role: "shuffler"}, {of: "institute", role: "analyzer"}, {of: "institute", role: "publisher"}},
	"five mix":             {{of: "north", role: "shuffler"}, {of: "south", role: "shuffler"}, {of: "registry", role: "issuer"}, {of: "institute", role: "analyzer"}, {of: "office", role: "publisher"}},
	"two mix, one by ACME": {{of: "north", role: "shuffler", acme: true}, {of: "south", role: "analyzer"}, {of: "south", role: "publisher"}},
	"two sum, all by ACME": {{of: "south", role: "helper", acme: true}, {of: "north", role: "leader", acme: true}, {of: "south", role: "analyzer", acme: true}, {of: "south", role: "publisher"}},
	"two sum, by files":    {{of: "south", role: "helper", carried: true}, {of: "north", role: "leader"}, {of: "south", role: "analyzer"}, {of: "south", role: "publisher"}},
	"two sum":              {{of: "south", role: "helper"}, {of: "north", role: "leader"}, {of: "south", role: "analyzer"}, {of: "south", role: "publisher"}},
	"three sum":            {{of: "south", role: "helper"}, {of: "north", role: "leader"}, {of: "institute", role: "analyzer"}, {of: "institute", role: "publisher"}},
	"five sum":             {{of: "south", role: "helper"}, {of: "north", role: "leader"}, {of: "registry", role: "issuer"}, {of: "institute", role: "analyzer"}, {of: "office", role: "publisher"}},
}

// typed is what the organisations type, from nothing to a verified release: each of its seats in a folder,
// processes and, where as says so, a user of its own. Nothing but cards and the signed plan passes from
// one's folder to another's, and to respondents what a device needs. To those that are hidden devices come
// by a relay.
func typed(route string, posts []seat, as func(user int) string, hidden ...seat) string {
	var b strings.Builder
	line := func(format string, a ...any) { fmt.Fprintf(&b, format+"\n", a...) }
	by := func(p seat) string { return as(slices.Index(posts, p) + 1) }
	own := func(folder string, user int) {
		if as(user) != "" {
			line("exec chown -R %d:%d %s", firstUser+user, firstUser+user, folder)
		}
	}
	if slices.ContainsFunc(posts, func(p seat) bool { return p.acme }) {
		line("env SSL_CERT_FILE=$WORK/known.crt SSL_CERT_DIR=$WORK/none")
	}
	of := func(role string) seat {
		return posts[max(0, slices.IndexFunc(posts, func(p seat) bool { return p.role == role }))]
	}
	line("mkdir cards")
	if len(hidden) > 0 {
		line("ports RELAY\nexec confetti party certificate relay.crt --key relay.key --host 127.0.0.1")
	}
	for i, p := range posts {
		extra := fmt.Sprintf(" --url %s --listen 127.0.0.1:$%s", p.url(), p.port())
		switch p.role {
		case "publisher":
			extra = ""
		case "analyzer":
			extra += " --epsilon 8"
		case "issuer":
			extra += " --tokens 2"
		case "leader":
			extra += " --helper " + of("helper").card()
		}
		if extra != "" {
			line("ports %s", p.port())
		}
		if p.acme {
			extra += " --public"
		}
		if slices.Contains(hidden, p) {
			extra = strings.Replace(extra, "--listen 127.0.0.1:$"+p.port(), "--listen 127.0.0.1:$"+p.port()+"_BEHIND", 1)
			extra += fmt.Sprintf(" --relay https://127.0.0.1:$RELAY/%s --relay-operator Hideaway", p.of)
			line("ports %s %s_BEHIND\nspy $%s $%s_BEHIND", p.port(), p.port(), p.port(), p.port())
		}
		line("mkdir %s", p.folder())
		own(p.folder(), i+1)
		line("exec %sconfetti party new %s --role %s --name %s --contact ops@%s.example%s", by(p), p.folder(), p.role, p.of, p.of, extra)
		line("cp %s/party.card %s", p.folder(), p.card())
		if p.acme { // as its client of ACME would put it there
			line("exec %sconfetti party certificate %s/server.crt --key %s/server.key --host localhost --authority known.crt --authority-key known.key", by(p), p.folder(), p.folder())
		}
	}
	named := ""
	for i, p := range posts {
		line("exec %sconfetti party trust %s %s", by(p), p.folder(), others(posts, p))
		if p.role != "publisher" {
			named += " --party " + p.card()
		}
		if other := posts[(i+1)%len(posts)]; by(p) != "" {
			line("! exec %sls %s/keys\nstderr 'Permission denied'", by(p), other.folder())
		}
	}
	office, reader, entry := of("publisher"), of("analyzer"), of("shuffler")
	if route == plan.RouteSum {
		entry = of("leader")
	}
	knows := entry
	if issuer := of("issuer"); issuer.role == "issuer" {
		knows = issuer
	}
	// Of a plan that is made of cards no private key comes into being.
	line("exec %sconfetti plan new histogram %s/plan.toml --attribute drink --domain drinks.txt --route %s --minimum 20 --epsilon 4 --dishonest-share 0%s", by(office), office.folder(), route, named)
	line("stderr 'and no private key: each party has its own$'")
	line("exec %sconfetti plan sign %s/plan.toml --key %s/keys/publisher.json --closes 2099-01-01T00:00:00Z --out %s/plan.signed.json", by(office), office.folder(), office.folder(), office.folder())
	line("cp %s/plan.signed.json plan.signed.json", office.folder())
	line("exec %sconfetti token add %s/respondents %s\nmkdir people\ncp stdout people/tokens", by(knows), knows.folder(), devices(24))
	line("cp %s/roots.pem people/roots.pem\ncp %s/publishers.txt people/publishers.txt", entry.folder(), entry.folder())
	if len(hidden) > 0 {
		gateways := ""
		for _, p := range hidden {
			line("prepend %s/%s.toml 'relays = [\"127.0.0.2/32\"]'", p.folder(), p.role)
			gateways += fmt.Sprintf(" /%s=https://127.0.0.1:$%s_BEHIND/.well-known/ohttp-gateway", p.of, p.port())
		}
		line("relay $RELAY relay.crt relay.key people/roots.pem%s", gateways)
		line("exec cat relay.crt people/roots.pem\ncp stdout people/roots.pem")
	}
	own("people", 0)
	serves := func(p seat) {
		line("exec %sconfetti serve %s --config %s/%s.toml &%s&", by(p), p.role, p.folder(), p.role, p.port())
	}
	ends := func(p seat) { line("kill -INT %s\nwait %s", p.port(), p.port()) }
	for _, p := range posts {
		if p.role != "publisher" {
			line("exec %sconfetti serve %s --config %s/%s.toml --check", by(p), p.role, p.folder(), p.role)
		}
		if p.role != "publisher" && !p.carried {
			serves(p)
		}
	}
	register := fmt.Sprintf("%sconfetti plan register plan.signed.json --roots %s/roots.pem --tokens %s/operator.tokens", by(reader), reader.folder(), reader.folder())
	if of("helper").carried {
		line("until sh -c '%s 2>&1 | grep -c has.the.plan.already | grep -qx 2'", register)
		line("! exec %s\nstderr 'a helper that answers files takes the plan from them$'", register)
	} else {
		line("until %s", register)
	}
	for _, p := range hidden {
		line("visitors $%s", p.port())
	}
	line("exec %sconfetti submit answers.csv --plan plan.signed.json --publishers people/publishers.txt --roots people/roots.pem --bearer people/tokens --folder people/devices --devices --delay 0s\nstdout '^24 answers sent'", as(0))
	for _, p := range hidden {
		line("! visitors $%s", p.port())
	}
	if len(hidden) > 0 {
		line("carried 24 people/tokens\nexec confetti plan check plan.signed.json\nstdout '^Network address +Hideaway sees the network address, cannot read what it carries, and hides the address from %s'", hidden[0].of)
	}
	closes := func(p seat) string {
		return fmt.Sprintf("%sconfetti plan close plan.signed.json --roots %s/roots.pem --tokens %s/operator.tokens", by(p), p.folder(), p.folder())
	}
	// Each closes what its token opens, and is told who does the rest.
	line("exits 3 %s\nstdout '^open still: %s[ ,].*which its operator closes$'\n! stdout 'takes no more'", closes(reader), entry.of)
	released := "exec"
	if helper := of("helper"); helper.carried {
		line("! exec %s --wait 1s\nstdout 'takes no more contributions$'\nstderr 'still on the way'", closes(entry))
		// Reports are verified, then both draw; the leader takes the last answers, and its folder is empty.
		ends(entry)
		line("mkdir post")
		counts := func(p seat) {
			own("post", slices.Index(posts, p)+1)
			line("exec %sconfetti serve %s --config %s/%s.toml --files post", by(p), p.role, p.folder(), p.role)
		}
		for range 2 {
			counts(entry)
			line("stderr 'requests wait for the helper'")
			counts(helper)
		}
		counts(entry)
		line("stderr 'nothing waits for the helper'\nexec ls post\n! stdout .")
		serves(entry)
		released = "until" // it serves again
	} else {
		line("exits 3 %s\nstdout 'takes no more contributions$'\nstdout '^open still: %s[ ,].*, last$'", closes(entry), reader.of)
	}
	line("%s %s\nstdout '^released; to get the release:$'", released, closes(reader))
	line("exec %s\nstdout '^released; to get the release:$'", closes(entry)) // whoever asks once more hears the same
	line("exec %sconfetti release fetch plan.signed.json --roots %s/roots.pem --out %s/release", by(office), office.folder(), office.folder())
	line("exec %sconfetti release verify %s/release --publishers %s/publishers.txt", by(office), office.folder(), office.folder())
	line("exec %sconfetti release show %s/release\nstdout 'Respondents counted +24$'", by(office), office.folder())
	for _, p := range posts {
		if p.role != "publisher" && !p.carried {
			ends(p)
		}
	}
	line("-- drinks.txt --\ncoffee\ntea\n-- answers.csv --\ndrink%s", strings.Repeat("\ncoffee\ncoffee\ntea", 8))
	return b.String()
}

// others are the cards of all posts but one.
func others(posts []seat, but seat) string {
	var cards []string
	for _, p := range posts {
		if p != but {
			cards = append(cards, p.card())
		}
	}
	return strings.Join(cards, " ")
}

func devices(n int) string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("device-%d", i+1)
	}
	return strings.Join(names, " ")
}

// known makes an authority that stands for those which all systems know, as known.crt and known.key.
func known(dir string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rng.Reader(rng.New()))
	if err != nil {
		return err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "known"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rng.Reader(rng.New()), template, template, key.Public(), key)
	if err != nil {
		return err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	return errors.Join(
		os.WriteFile(filepath.Join(dir, "known.crt"), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o644),
		os.WriteFile(filepath.Join(dir, "known.key"), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}), 0o644),
	)
}

// firstUser is respondents' user where the test may choose users, and seats have those behind it.
const firstUser = 61000

// asUser returns what stands before a command so that it runs as one of these users: nothing where the test
// may not choose, which it says.
func asUser(t *testing.T) func(user int) string {
	setpriv, err := exec.LookPath("setpriv")
	if os.Getuid() != 0 || err != nil {
		t.Log("every seat is the same user: only root may choose, by setpriv of util-linux")
		return func(int) string { return "" }
	}
	return func(user int) string {
		return fmt.Sprintf("%s --reuid=%d --regid=%d --clear-groups ", setpriv, firstUser+user, firstUser+user)
	}
}

// passable lets all users pass through a folder that a test has made, and those above it up to that for
// temporary files, which is everybody's.
func passable(dir string) error {
	for made := []string{}; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		info, err := os.Stat(dir)
		if err != nil {
			return err
		}
		if info.Mode()&os.ModeSticky != 0 {
			for _, one := range made {
				err = errors.Join(err, os.Chmod(one, 0o711))
			}
			return err
		}
		made = append(made, dir)
	}
	return errors.New("the folder of temporary files is not everybody's")
}

// furnished sets a script up in which commands run as other users.
func furnished(as func(user int) string) func(*testscript.Env) error {
	return func(e *testscript.Env) error {
		scripts.Sparing(e)
		err := known(e.WorkDir)
		if programs, _, _ := strings.Cut(e.Getenv("PATH"), string(os.PathListSeparator)); as(0) != "" {
			// As on any machine, each may make temporary files.
			err = errors.Join(err, passable(programs), passable(e.WorkDir), os.Chmod(e.Getenv("TMPDIR"), os.ModeSticky|0o777))
		}
		return err
	}
}

// Two, three and five organisations get from nothing to a verified release, on both routes.
func TestOrganisations(t *testing.T) {
	dir, as := t.TempDir(), asUser(t)
	for name, posts := range organisations {
		_, route, _ := strings.Cut(name, " ")
		route, _, _ = strings.Cut(route, ",")
		if err := os.WriteFile(filepath.Join(dir, strings.NewReplacer(" ", "_", ",", "").Replace(name)+".txt"), []byte(typed(route, posts, as)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	testscript.Run(t, testscript.Params{
		Dir: dir, RequireExplicitExec: true,
		Setup: furnished(as),
		Cmds:  map[string]func(*testscript.TestScript, bool, []string){"exits": scripts.Exits, "until": scripts.Until, "ports": scripts.Ports},
	})
}
